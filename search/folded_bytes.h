#pragma once
// How many bytes folding constants adds to a model file.

#include <cstdint>
#include <vector>

#include "ir/graph.h"

namespace lemma {

/// Bytes of a value's elements; -1: its size is not known.
double byte_count(const TensorType& type);

/// Values that depend on constants alone are folded one after the other. Each adds its elements, and takes away the
/// constants and operations that nothing needs then. Names and fields of a file are estimated.
class FoldedBytes {
 public:
  explicit FoldedBytes(const Graph& graph);

  /// What folding this value would add; negative if the file becomes smaller.
  double added_by(ValueId value) const;
  void fold(ValueId value);

 private:
  /// Nodes that nothing needs once the value is folded, and the uses of values that end with them.
  struct Release {
    std::vector<NodeId> nodes;
    std::vector<ValueId> ended_uses;
  };
  Release released_by(ValueId value) const;
  double bytes_of(const Node& node) const;

  const Graph& graph_;
  std::vector<std::uint32_t> uses_;  // by value, of nodes that are needed
  std::vector<bool> folded_;         // by value
};

}  // namespace lemma
