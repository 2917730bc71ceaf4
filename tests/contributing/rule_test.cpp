// The worked example of "Add a rule in one line": it is proved, and the wrong one next to it is refuted.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "verifier/prover/prove.h"

namespace lemma::verifier {
namespace {

std::vector<Substitution> read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream contents;
  contents << file.rdbuf();
  auto rules = parse_substitutions(contents.str(), path.string());
  EXPECT_TRUE(rules) << rules.error().message;
  return rules ? *rules : std::vector<Substitution>{};
}

AxiomSet all_axioms() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator("rules/axioms"))
    if (entry.path().extension() == ".axioms") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Substitution> axioms;
  for (const auto& file : files)
    for (Substitution& axiom : read(file)) axioms.push_back(std::move(axiom));
  return AxiomSet(std::move(axioms));
}

TEST(ContributingRule, is_proved) {
  const auto rules = read(LEMMA_EXAMPLES "/example.rules");
  ASSERT_EQ(rules.size(), 1U);
  const Verdict verdict = prove(rules.front(), all_axioms());
  EXPECT_TRUE(is_proved(verdict)) << text(verdict);
}

TEST(ContributingRule, the_wrong_one_is_refuted) {
  const auto rules = read(LEMMA_EXAMPLES "/wrong.rules");
  ASSERT_EQ(rules.size(), 1U);
  const Verdict verdict = prove(rules.front(), all_axioms());
  EXPECT_TRUE(is_refuted(verdict)) << text(verdict);
}

}  // namespace
}  // namespace lemma::verifier
