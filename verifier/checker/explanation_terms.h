#pragma once
// What an explanation has shown so far of its terms: which are equal, what is known of their
// elements, and which refine which (docs/semantics.md, "Relations").

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "facts/value_facts.h"
#include "ir/graph.h"

namespace lemma::checker {

/// Values of a graph under equations: alike operations on equal values are equal. Facts of a class
/// are those that any of its terms shows, from facts that were there before.
class TermClasses {
 public:
  /// `inputs`: what is taken for granted of inputs; a model's input otherwise. `original`: by node,
  /// those of the original graph, whose reads stay within their tensors.
  TermClasses(const Graph& graph, const std::map<ValueId, ValueFacts>& inputs,
              std::vector<char> original);

  void equate(ValueId a, ValueId b) { parent_[find(a)] = find(b); }
  /// Equalities by congruence and of operations that change nothing, and the facts that follow.
  void close();

  std::uint32_t find(ValueId value) const;
  bool equal(ValueId a, ValueId b) const { return find(a) == find(b); }
  const ValueFacts& facts(ValueId value) const { return facts_[find(value)]; }

  /// A use of a rule with `=>` whose left side need not be defined.
  void refine(ValueId left, ValueId right) { refinements_.emplace_back(left, right); }
  /// Whether b refines a: both are equal, or the two sides of such a use, or alike operations on
  /// operands that refine each other.
  bool refines(ValueId a, ValueId b);

  /// What an operation does, and the classes it does it to: equal for operations that read the same.
  std::vector<std::uint32_t> form(NodeId node) const;

  /// Classes that IsNaN, IsInf or an opaque operator looks at, and what they are computed from, down
  /// to what is defined and finite. By find(). `roots` are looked at from outside.
  std::set<std::uint32_t> observed(const std::vector<ValueId>& roots) const;

 private:
  std::uint32_t label_of(const Node& node);
  bool unite_alike();
  bool unite_kept();
  bool learn_from_terms();

  const Graph& graph_;
  std::vector<char> original_;
  mutable std::vector<std::uint32_t> parent_;
  std::vector<std::uint32_t> labels_;  // by node: operator, attributes and number of outputs
  std::vector<ValueFacts> facts_;      // by find()
  std::vector<std::unique_ptr<OperatorFacts>> operators_;  // by node
  /// The numbers that the operands of each node were known to be when unite_kept() asked.
  std::vector<std::vector<std::optional<double>>> numbers_seen_;
  std::vector<std::pair<ValueId, ValueId>> refinements_;
  std::map<std::pair<ValueId, ValueId>, bool> known_;  // refines()
};

}  // namespace lemma::checker
