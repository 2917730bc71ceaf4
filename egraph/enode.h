#pragma once
// What an e-graph of tensor values holds.

#include <compare>
#include <cstdint>

#include "engine/egraph.h"
#include "ir/operator.h"

namespace lemma {

/// A class of equal values (engine/ids.h). None: an absent optional child.
using engine::ClassId;
using engine::ENodeId;

/// Attribute lists and types are kept once; equal ones have equal numbers.
struct AttributesId {
  std::uint32_t v = 0;  // 0: no attributes
  friend auto operator<=>(AttributesId, AttributesId) = default;
};
struct TypeId {
  std::uint32_t v = 0;
  friend auto operator<=>(TypeId, TypeId) = default;
};
/// Facts of a value, or of the outputs of a tuple, kept once.
struct FactsId {
  std::uint32_t v = 0;
  friend auto operator<=>(FactsId, FactsId) = default;
};

/// Operator, attributes, number of outputs and types of the operands, or what a leaf is: all of a node
/// but its children.
using engine::FormId;

enum class ENodeKind : std::uint8_t {
  input,  // a graph input
  constant,
  opaque,  // unique: never equal to another node
  operation,
  projection,  // output `payload` of its child, which is a node with several outputs
};

/// A node with one output stands for its value. One with several (operation or opaque) stands for
/// the tuple of them, and a projection for each.
struct ENodeLabel {
  std::uint32_t payload = 0;  // attributes; position of input, constant, opaque; output
  std::uint32_t output_count = 1;
  OperatorId op;
  ENodeKind kind = ENodeKind::operation;
};

using ENode = engine::Node<ENodeLabel>;
static_assert(sizeof(ENode) == 24);

}  // namespace lemma
