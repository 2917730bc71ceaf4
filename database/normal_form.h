#pragma once
// One spelling for rules that differ in names only, and an order of their size.

#include <compare>
#include <optional>
#include <string>

#include "rule_language/substitution.h"

namespace lemma::database {

/// Inputs, groups, parameters and sizes are named and listed in the order in which the left side
/// needs them; of the two directions of a rule with `=` the simpler side stands right. The name of
/// the rule says which operators it is about, and ends with a digest of the rest of its text; what is written
/// gets another one (naming.h).
/// Nothing if the rule says nothing: its sides are the same, or a variable is not bound.
std::optional<Substitution> normal_form(const Substitution& rule);

/// "matmul": one word.
std::string lower_name(OperatorId op);

/// The text of the claim, without the name of the rule: equal for rules that say the same in other
/// names.
std::string claim_text(const Substitution& rule);

/// Smaller rules are considered first; of those equally large the ones with more inputs, which say
/// more.
struct RuleSize {
  std::size_t operations = 0;     // of both sides; shared ones count once
  std::size_t constants = 0;      // fixed numbers in shapes and attributes
  std::size_t shared_inputs = 0;  // uses of inputs beyond the first
  friend auto operator<=>(const RuleSize&, const RuleSize&) = default;
};
RuleSize size_of(const Substitution& rule);

/// Parsed again from its own text, which finds what is wrong with it.
std::optional<Substitution> checked(const Substitution& rule);

}  // namespace lemma::database
