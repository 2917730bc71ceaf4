#pragma once
// Rules made ready for matching (egraph/match.h).
//
// A left side is a conjunction over e-nodes: one for each operation of the pattern, joined by the
// classes they share. A match is found by starting at some node and walking to the others: down
// into a class that is known, up through the parents of one, or, if nothing is shared, over all
// nodes of an operator. So several outputs are joined through what they share instead of pairing
// all matches of one with all of the other.
//
// Only what is new is looked for: a match is new if one of its nodes has changed since the rule's
// last run. For each pattern node there is a plan that starts at the changed nodes; nodes before it
// in the pattern must then be unchanged, so that no match is found twice.

#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "egraph/enode.h"
#include "rule_language/substitution.h"

namespace lemma {

struct PatternNode {
  ENodeKind kind = ENodeKind::operation;  // or projection
  OperatorId op;
  std::uint32_t output = 0;  // projection
  std::uint32_t output_count = 1;
  TermId term;                          // whose attributes are meant (operation)
  std::uint32_t result = 0;             // variable of the class that the node is in
  std::vector<std::uint32_t> operands;  // variables; absent_operand for none
  static constexpr std::uint32_t absent_operand = 0xffffffffU;
};

/// Finding a node for one pattern node, once those of earlier steps are there.
struct MatchStep {
  std::uint32_t node = 0;  // in CompiledRule::nodes
  /// Classes known by then in which it must be: among the nodes of one, or the parents of one. The
  /// shortest list is walked; all nodes of the operator if there is none.
  struct Source {
    bool down = false;
    std::uint32_t variable = 0;
  };
  std::vector<Source> sources;
  /// What its class and its children say about variables, in this order.
  struct Place {
    static constexpr std::uint32_t result = 0xffffffffU;
    std::uint32_t operand = result;
    std::uint32_t variable = 0;
    bool known = false;  // compare; else bind
  };
  std::vector<Place> places;
  // What can be asked once these are known.
  std::vector<std::uint32_t> weights;  // must be weight-only
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      distinct;          // outputs not to be merged with themselves
  bool ordered = false;  // symmetric outputs
};

struct CompiledRule {
  Substitution rule;
  std::vector<PatternNode> nodes;
  std::uint32_t variable_count = 0;
  std::vector<std::uint32_t> input_variables;   // by input of the rule
  std::vector<std::uint32_t> left_variables;    // by output of the left side
  std::vector<std::uint32_t> variable_of_term;  // of terms of the left side
  std::vector<std::vector<MatchStep>> plans;    // by pattern node to start from
  bool backward = false;                        // read from right to left
  /// The rule is of the rounding class `bitwise`: it keeps every bit, infinities and NaN included.
  bool bitwise = false;
  /// adds_more_quotients(), of this direction.
  bool adds_quotients = false;
  /// The left side leaves free parameters open: one place may have several right sides (rule_language/free_parameters.h).
  bool takes_free_values = false;
  std::vector<std::int64_t> target_values;  // of `free k : target`
  /// Two outputs that can be exchanged without changing the claim: only one order is matched.
  bool symmetric = false;
};

/// Errors: a left side that is a bare input would match everything.
Result<CompiledRule> compile_rule(const Substitution& rule);
/// The terms that the roots are computed from, by number.
std::vector<char> needed_terms(const Substitution& rule, std::span<const TermId> roots);
/// Both directions of rules with `=` that are not searched forward only, in order; one that cannot be matched (`x = Neg(Neg(x))` from left
/// to right) is left out if the other one can. Errors name the rule.
Result<std::vector<CompiledRule>> compile_rules(std::span<const Substitution> rules);

}  // namespace lemma
