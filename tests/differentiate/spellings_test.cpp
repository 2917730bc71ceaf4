// Spellings of gradients: what stands in a file is proved for all sizes from the definitions, and wrong ones are not.
// LEMMA_SPELLINGS names another file of rules to prove, LEMMA_SPELLINGS_LIKE a part of the names of its rules.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "rule_language/rule_database.h"
#include "verifier/index/prove_axiom.h"

namespace lemma {
namespace {

std::vector<Substitution> rules_of(const std::string& file) {
  const auto text = read_text_file(file);
  if (!text) {
    ADD_FAILURE() << text.error().message;
    return {};
  }
  auto rules = parse_substitutions(*text, file);
  if (!rules) {
    ADD_FAILURE() << rules.error().message;
    return {};
  }
  return *rules;
}

TEST(Spellings, OfTheFileAreProved) {
  const char* file = std::getenv("LEMMA_SPELLINGS");
  const char* part = std::getenv("LEMMA_SPELLINGS_LIKE");
  if (file == nullptr) GTEST_SKIP() << "LEMMA_SPELLINGS is not set";
  std::size_t proved = 0, all = 0;
  for (const Substitution& rule : rules_of(file)) {
    if (part != nullptr && rule.name.find(part) == std::string::npos) continue;
    const auto start = std::chrono::steady_clock::now();
    const verifier::IndexProof proof = verifier::prove_by_index(rule);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++all;
    proved += proof.proved ? 1 : 0;
    fmt::print("{} {} ({} cases, {:.1f} s)\n{}", proof.proved ? "proved" : "NOT PROVED", rule.name,
               proof.cases + proof.by_axes, seconds, proof.proved ? "" : proof.reason + "\n");
    std::fflush(stdout);
    EXPECT_TRUE(proof.proved) << rule.name;
  }
  fmt::print("{} of {} are proved\n", proved, all);
}

}  // namespace
}  // namespace lemma
