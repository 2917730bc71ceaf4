// Spellings of gradients and transposition identities are proved for all sizes from the definitions; wrong ones are not.
// LEMMA_SPELLINGS=all proves every spelling; otherwise a part of them is proved anew, and the records of all are compared
// (rule_language/rule_database.h).

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "rule_language/rule_database.h"
#include "verifier/index/prove_axiom.h"

namespace lemma {
namespace {

const std::filesystem::path data_folder = LEMMA_GRADIENT_DATA;

std::filesystem::path gradients_folder() {
  const char* given = std::getenv("LEMMA_RULES");
  return std::filesystem::path(given == nullptr ? "rules" : given) / "gradients";
}

std::vector<Substitution> rules_of(const std::filesystem::path& file) {
  const auto text = read_text_file(file);
  if (!text) {
    ADD_FAILURE() << text.error().message;
    return {};
  }
  auto rules = parse_substitutions(*text, file.string());
  if (rules) return *rules;
  ADD_FAILURE() << rules.error().message;
  return {};
}

bool proves_all() {
  const char* given = std::getenv("LEMMA_SPELLINGS");
  return given != nullptr && std::string_view(given) == "all";
}

/// LEMMA_SPELLINGS_LIKE: only rules with that in their names.
bool is_asked_for(const Substitution& rule) {
  const char* part = std::getenv("LEMMA_SPELLINGS_LIKE");
  return part == nullptr || rule.name.find(part) != std::string::npos;
}

void expect_proved(const std::vector<Substitution>& rules, std::size_t step) {
  for (std::size_t i = 0; i < rules.size(); i += step) {
    if (!is_asked_for(rules[i])) continue;
    const verifier::IndexProof proof = verifier::prove_by_index(rules[i]);
    EXPECT_TRUE(proof.proved) << rules[i].name << ": " << proof.reason;
  }
}

TEST(Spellings, AreProved) {
  for (const char* folder : {"substitutions", "one_proof"})
    expect_proved(rules_of(gradients_folder() / folder / "spellings.rules"), proves_all() ? 1 : 9);
}

TEST(Spellings, HaveBothProofsOnRecord) {
  const auto database = load_rules(gradients_folder());
  ASSERT_TRUE(database) << database.error().message;
  EXPECT_GE(database->substitutions().size(), 60U);
}

TEST(Spellings, ThatAreWrongAreNotProved) {
  const auto rules = rules_of(data_folder / "wrong_spellings.rules");
  EXPECT_GE(rules.size(), 200U);
  for (const Substitution& rule : rules) {
    if (!is_asked_for(rule)) continue;
    EXPECT_FALSE(verifier::prove_by_index(rule).proved) << rule.name;
  }
}

TEST(Transpositions, OfLinearOperatorsAreProved) {
  const auto rules = rules_of(data_folder / "transpositions.rules");
  EXPECT_GE(rules.size(), 60U);
  expect_proved(rules, 1);
}

}  // namespace
}  // namespace lemma
