#pragma once
// Replays the explanation why an optimized graph refines its original (docs/semantics.md). Nothing
// in it is trusted: each step is an instance of a proved rule, and its types and conditions are
// checked. Whether it is an equation there has to follow from its terms and the steps before it,
// and that the outputs refine those of the original, from the steps by congruence.

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "rule_language/substitution.h"
#include "verifier/checker/explanation_premises.h"

namespace lemma::checker {

/// Rules that may be used, by name: those whose certificates hold.
using RuleTable = std::map<std::string, const Substitution*, std::less<>>;

/// The names of rules that keep every bit, infinities and NaN included (RoundingClass::bitwise).
using RuleNames = std::set<std::string, std::less<>>;

/// What an explanation that holds consists of, and rests on.
struct ExplanationSize {
  /// Numbers of them; `constants`: whose bytes it has.
  std::size_t outputs = 0, steps = 0, rules = 0, constants = 0;
  std::vector<std::string> promised;   // what it uses of the premises
  std::vector<std::string> unchecked;  // what it takes for granted beyond them
  std::vector<std::string>
      outside;  // what no explanation covers (rule_language/explanation_scope.h)
};

/// Errors name the line or the step.
Result<ExplanationSize> check_explanation(std::string_view text, const RuleTable& rules,
                                          const RuleNames& bitwise = {},
                                          const ExplanationPremises& premises = {});

/// The explanations of a file: that of the model, and behind it those of bodies, each after a line
/// `body "PLACE"`.
struct CheckedExplanation {
  std::string text;          // what holds, for people
  bool is_complete = false;  // nothing is unchecked
};
/// Errors name the body, if it is in one, and the line or the step.
Result<CheckedExplanation> check_explanation_file(const std::filesystem::path& file,
                                                  const RuleTable& rules, const RuleNames& bitwise,
                                                  const ExplanationPremises& premises);

/// Just this rule, not only one of its name.
bool is_proved(const Substitution& rule, const RuleTable& proved);

}  // namespace lemma::checker
