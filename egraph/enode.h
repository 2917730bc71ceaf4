#pragma once
// Names of what an e-graph holds.

#include <compare>
#include <cstdint>
#include <utility>

#include "ir/operator.h"

namespace lemma {

/// A class of equal values. Every e-node founds a class of the same number; merged classes go by
/// the smallest number among them (EGraph::find). So a number that is not canonical any more still
/// names a term: that of the e-node with this number (EGraph::founding_children).
struct ClassId {
  std::uint32_t v = 0xffffffffU;
  /// Stands for an absent optional child.
  static constexpr ClassId none() { return {}; }
  bool is_none() const { return v == 0xffffffffU; }
  friend auto operator<=>(ClassId, ClassId) = default;
  template <typename H>
  friend H AbslHashValue(H state, ClassId id) {
    return H::combine(std::move(state), id.v);
  }
};

struct ENodeId {
  std::uint32_t v = 0xffffffffU;
  static constexpr ENodeId none() { return {}; }
  bool is_none() const { return v == 0xffffffffU; }
  /// The class that the node founded.
  ClassId founded() const { return {v}; }
  friend auto operator<=>(ENodeId, ENodeId) = default;
};

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
/// but its children. Nodes are equal if their forms and children are.
struct FormId {
  std::uint32_t v = 0xffffffffU;
  friend auto operator<=>(FormId, FormId) = default;
};

enum class ENodeKind : std::uint8_t {
  input,  // a graph input
  constant,
  opaque,  // unique: never equal to another node
  operation,
  projection,  // output `payload` of its child, which is a node with several outputs
};

/// A node with one output stands for its value. One with several (operation or opaque) stands for
/// the tuple of them, and a projection for each.
struct ENode {
  ENodeKind kind = ENodeKind::operation;
  bool duplicate = false;  // has become equal to an older node, and counts no more
  OperatorId op;
  std::uint32_t payload = 0;  // attributes; position of input, constant, opaque; output
  std::uint32_t output_count = 1;
  std::uint32_t child_count = 0;
  /// The children, if there are no more of them than fit; else the first's place among those that
  /// the e-graph keeps, as the number of near[0].
  static constexpr std::uint32_t most_near = 2;
  ClassId near[most_near];
};
static_assert(sizeof(ENode) == 24);

}  // namespace lemma
