#pragma once
// Which elements a value consists of, where operators only move elements: Slice, Concat, Transpose, Reshape and the
// like. Read off the operators' definitions: an element is a copy if its definition is a read of an operand, at a
// position that follows from its index alone. Equal copies are equal values, with the same undefined elements.

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"

namespace lemma {

class CopiedElements {
 public:
  /// An element of a value that is no copy, or whose sizes are not known; by its position in row-major order.
  struct Element {
    ValueId value;
    std::int64_t position = 0;
    friend bool operator==(const Element&, const Element&) = default;
  };

  /// All answers together take about `limit` steps; where they would take more, there is none.
  CopiedElements(const Graph& graph, std::size_t limit);

  /// The operator gives elements of its operands and nothing else.
  bool is_copy(ValueId value) { return !direct(value).empty(); }
  /// What the elements are copies of, in row-major order; their own places if the value is no copy. Nothing if sizes
  /// are not known, or it takes too long.
  std::optional<std::vector<Element>> of(ValueId value);

 private:
  /// Elements of operands; empty if the value is no copy, or has no elements.
  const std::vector<Element>& direct(ValueId value);
  std::vector<Element> read_off(ValueId value);

  const Graph& graph_;
  std::size_t steps_left_;
  std::vector<char> is_known_;                // by value
  std::vector<std::vector<Element>> direct_;  // by value
};

}  // namespace lemma
