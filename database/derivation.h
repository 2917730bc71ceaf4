#pragma once
// Whether a rule follows from others: both sides of each of its cases are added to an e-graph,
// which is saturated with the others until the sides are in one class or a limit is reached. There
// are no time limits, so that the answer is the same on every machine.

#include <string>
#include <vector>

#include "egraph/pattern.h"
#include "rule_language/substitution.h"

namespace lemma::database {

/// Rules prepared for derivations: each direction that can be matched.
class DerivationRules {
 public:
  DerivationRules() = default;
  explicit DerivationRules(const std::vector<Substitution>& rules) {
    for (const Substitution& rule : rules) add(rule);
  }
  /// A rule without a side that can be matched (`x => ...`) is left out.
  void add(const Substitution& rule);
  std::size_t size() const { return names_.size(); }
  const std::vector<CompiledRule>& compiled() const { return compiled_; }
  /// Those rules whose names are in the list.
  DerivationRules only(const std::vector<std::string>& names) const;
  DerivationRules without(const std::string& name) const;
  /// The rules in the directions alone in which the search uses them (egraph/rule_use.h), wherever
  /// it does.
  DerivationRules as_searched() const;
  /// The rules for claims with `=>`, which a chain of refinements shows: each direction that is there also where
  /// it is no equation, with all values defined. What is found with these says that a rule is within reach, not
  /// that it is true.
  DerivationRules as_refinements() const;

 private:
  std::vector<CompiledRule> compiled_;
  std::vector<bool> is_searched_;  // of each
  std::vector<std::string> names_;
};

/// The sides that the rules may start from.
enum class Start {
  both_sides,  // logic: the sides are equal, given the rules
  left_side,   // search: who has the left side finds the right one
};

struct DerivationLimits {
  std::size_t nodes = 3000, iterations = 6;
  std::size_t matches = 2000;  // of one rule in one iteration; more make it rest
  /// The most cases of a rule that are tried, spread over all.
  std::size_t cases = 24;
};

struct Derivation {
  bool derivable = false;
  std::vector<std::string> used;     // rules that were applied, sorted
  std::size_t cases = 0, tried = 0;  // how many the rule has; how many were decided
  std::string stopped;               // if not derivable: the case, and what ended the search
};

Derivation derive(const Substitution& rule, const DerivationRules& rules, Start start,
                  const DerivationLimits& limits = {});

/// The names of rules that are needed: taking any of them away, the derivation is not found.
std::vector<std::string> needed_rules(const Substitution& rule, const DerivationRules& rules,
                                      const Derivation& derivation, Start start,
                                      const DerivationLimits& limits = {});

}  // namespace lemma::database
