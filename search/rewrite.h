#pragma once
// One use of a rule at one place of a graph.

#include <memory>
#include <span>
#include <vector>

#include "egraph/pattern.h"
#include "ir/graph.h"

namespace lemma {

struct Rewrite {
  std::uint32_t rule = 0;  // in a list of compiled rules
  std::shared_ptr<const RuleBindings> bindings;
  std::vector<ValueId> inputs;  // by input of the rule
  std::vector<ValueId> left;    // by output of the rule: what is replaced
};

/// The graph with the outputs of the rule's left side replaced by those of its right side, without
/// nodes that nothing needs. The order of the nodes is kept as far as operands allow. An error if
/// the right side would need what it replaces. `values`, if wanted: by value of the graph, that of the result that
/// stands for it; none() for those that are gone.
Result<Graph> rewritten(const Graph& graph, const CompiledRule& rule, const Rewrite& rewrite,
                        std::vector<ValueId>* values = nullptr);

}  // namespace lemma
