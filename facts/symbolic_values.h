#pragma once
// Known contents of small integer tensors, as dimensions. Models compute target shapes with
// operators (Shape -> Gather -> Concat -> Reshape); this analysis evaluates such chains from the
// operators' own definitions, over symbolic dimensions, so that the result can become an attribute.

#include <map>

#include "ir/graph.h"

namespace lemma {

class SymbolicValues {
 public:
  /// Elements of the value in row-major order; null if they are not all known.
  const Shape* find(ValueId value) const;
  /// States the contents of a value whose producer is not computed (an input that is bound).
  void set(ValueId value, Shape elements) { known_[value] = std::move(elements); }
  /// Looks at one node, whose inputs have been looked at; call in order of ids.
  void update(const Graph& graph, NodeId id);

 private:
  std::map<ValueId, Shape> known_;
};

/// Elements of all outputs of one application, or nothing where something is not known. `inputs`
/// has the known elements of each input, null if unknown.
std::optional<std::vector<Shape>> evaluate_symbolically(const Definition& definition,
                                                        const Instance& instance,
                                                        std::span<const TensorType> outputs,
                                                        std::span<const Shape* const> inputs);

}  // namespace lemma
