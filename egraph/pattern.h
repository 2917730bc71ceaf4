#pragma once
// Rules made ready for matching, and finding where they apply.
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

#include <functional>
#include <memory>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include "egraph/egraph.h"
#include "ir/substitution.h"

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

struct MatchStep {
  enum class Way { scan, down, up };
  Way way = Way::scan;
  std::uint32_t node = 0;     // in CompiledRule::nodes
  std::uint32_t operand = 0;  // up: the position at which the known class stands
};

struct CompiledRule {
  Substitution rule;
  std::vector<PatternNode> nodes;
  std::uint32_t variable_count = 0;
  std::vector<std::uint32_t> input_variables;  // by input of the rule
  std::vector<std::uint32_t> left_variables;   // by output of the left side
  std::vector<std::vector<MatchStep>> plans;   // by pattern node to start from
  /// Two outputs that can be exchanged without changing the claim: only one order is matched.
  bool symmetric = false;
};

/// Errors: a left side that is a bare input would match everything.
Result<CompiledRule> compile_rule(const Substitution& rule);
/// Both directions of rules with `=`, in order; errors name the rule.
Result<std::vector<CompiledRule>> compile_rules(std::span<const Substitution> rules);

/// Values of the variables of a rule at one place.
struct Match {
  absl::InlinedVector<ClassId, 6> classes;  // by variable
  std::uint32_t bindings = 0;               // in RuleMatcher::bound()
};

/// What follows from one way of binding a rule's variables.
struct BoundRule {
  RuleBindings bindings;
  std::vector<AttributesId> attributes;  // as written, by term
};

/// Finds matches of one rule; keeps what it has learnt about types and attributes.
class RuleMatcher {
 public:
  explicit RuleMatcher(const CompiledRule& rule) : rule_(&rule) {}

  /// Appends matches with a node that has changed after time `since`. Stops when there are `limit`
  /// of them, or when `interrupted` says so (asked now and then); false in these cases.
  bool search(EGraph& egraph, std::uint32_t since, std::size_t limit,
              const std::function<bool()>& interrupted, std::vector<Match>& matches);

  /// The right side at a match: its outputs' classes. Errors: it is not well typed there.
  Result<std::vector<ClassId>> instantiate(EGraph& egraph, const Match& match) const;

  const CompiledRule& rule() const { return *rule_; }
  const BoundRule& bound(std::uint32_t i) const { return *bound_[i]; }
  /// Places where the structure fitted, but types, attributes or conditions did not.
  std::size_t rejected() const { return rejected_; }

 private:
  struct Search;
  static constexpr std::uint32_t unbound = 0xffffffffU;
  std::uint32_t bind(EGraph& egraph, std::span<const ClassId> classes,
                     std::span<const ENodeId> nodes);
  std::unique_ptr<BoundRule> try_bind(EGraph& egraph, std::span<const ClassId> classes,
                                      std::span<const ENodeId> nodes) const;

  const CompiledRule* rule_;
  std::vector<std::unique_ptr<BoundRule>> bound_;
  absl::flat_hash_map<absl::InlinedVector<std::uint32_t, 8>, std::uint32_t> bound_by_types_;
  std::size_t rejected_ = 0;
};

}  // namespace lemma
