#pragma once
// Values that depend on constants alone, computed while a model is read: what an operator takes as a parameter may be
// computed by other nodes.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace lemma::frontend {

/// The outputs of an operation on these contents; null stands for an absent operand.
using EvaluateOperation = std::function<Result<std::vector<Constant>>(
    const Node& node, std::span<const Constant* const> operands)>;

class ComputedConstants {
 public:
  /// The constants of a graph; without a function nothing is computed.
  ComputedConstants(const Graph& graph, EvaluateOperation evaluate)
      : graph_(graph), evaluate_(std::move(evaluate)) {}

  /// Null if the value depends on something else, cannot be computed, or is large. Each is computed once.
  const Constant* find(ValueId value);

 private:
  bool is_small(ValueId value) const;
  const Constant* known(ValueId value) const;
  void compute(const Node& node);

  const Graph& graph_;
  EvaluateOperation evaluate_;
  std::map<ValueId, std::optional<Constant>> computed_;  // nothing: it cannot be computed
};

}  // namespace lemma::frontend
