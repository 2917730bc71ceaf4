#pragma once
// A tensor program: an immutable-by-construction, hash-consed, acyclic graph.
//
// Meaning. A node computes its outputs from its inputs by its operator's record; there is no other
// state. Values have types; broadcasting follows ONNX (dimensions aligned at the end, size 1
// stretches). Empty tensors (a size of 0) are ordinary. Two nodes with the same operator,
// attributes and inputs are the same node. Opaque nodes are operators without a record: they are
// carried verbatim, never merged and never assumed to be pure.
//
// Nodes are only ever appended, and inputs come before users: ascending ids are a topological
// order, and cycles cannot be built.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <absl/container/inlined_vector.h>

#include "base/result.h"
#include "ir/attributes.h"
#include "ir/constant.h"
#include "ir/operator.h"
#include "ir/tensor_type.h"

namespace lemma {

struct NodeId {
  std::uint32_t v = 0;
  friend auto operator<=>(NodeId, NodeId) = default;
};

struct ValueId {
  std::uint32_t v = 0;
  /// Stands for an absent optional input.
  static constexpr ValueId none() { return {0xffffffffU}; }
  bool is_none() const { return v == 0xffffffffU; }
  friend auto operator<=>(ValueId, ValueId) = default;
  template <typename H>
  friend H AbslHashValue(H state, ValueId id) {
    return H::combine(std::move(state), id.v);
  }
};

/// An operator without a record. Only the front end that made it can read `payload` (the
/// serialized node of the source format, with attributes and subgraphs verbatim).
struct OpaqueOperator {
  std::string domain;
  std::string name;
  std::string payload;
  std::string reason;  // why it is opaque, for people
  /// What it computes: equal where payloads differ only in names of what it takes and gives and in where its
  /// data is. The payload, if empty.
  std::string meaning = {};
  /// Tells it from others of one graph, also in graphs made of it. The payload, if empty.
  std::string label = {};
};

enum class NodeKind : std::uint8_t { input, constant, operation, opaque };

struct Node {
  NodeKind kind = NodeKind::operation;
  OperatorId op;              // operation
  std::uint32_t payload = 0;  // constant, opaque, input: position in the graph's table
  std::uint32_t first_output = 0;
  std::uint32_t output_count = 1;
  std::vector<ValueId> inputs;
  Attributes attributes;

  ValueId output(std::uint32_t index = 0) const { return {first_output + index}; }
};

struct GraphOutput {
  std::string name;
  ValueId value;
};

class Graph {
 public:
  // Construction. Names of inputs and outputs must be unique among themselves.

  Result<ValueId> add_input(std::string name, TensorType type);
  ValueId add_constant(Constant constant);
  /// Completes attributes, infers types, and returns the existing node if there is an equal one.
  /// Inputs must be of this graph (none() for absent ones), and of known types. `output_count` matters for operators
  /// with a variable number of outputs only.
  Result<NodeId> add_operation(OperatorId op, std::vector<ValueId> inputs, Attributes attributes,
                               std::size_t output_count = 1);
  /// Adds an operator with one output, by its name; the common case in our own code.
  Result<ValueId> add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {});
  NodeId add_opaque(OpaqueOperator op, std::vector<ValueId> inputs,
                    std::vector<TensorType> output_types);
  void label_opaque(NodeId id, std::string label);
  Result<void> add_output(std::string name, ValueId value);
  /// A name to keep for a value where possible (export, pictures); the first one wins.
  void suggest_name(ValueId value, std::string name);
  void set_name(std::string name) { name_ = std::move(name); }

  // Reading.

  const std::string& name() const { return name_; }
  std::size_t node_count() const { return nodes_.size(); }
  std::size_t value_count() const { return values_.size(); }
  const Node& node(NodeId id) const { return nodes_[id.v]; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const TensorType& type(ValueId id) const { return values_[id.v].type; }
  NodeId producer(ValueId id) const { return values_[id.v].producer; }
  /// Position among the outputs of its producer.
  std::uint32_t output_index(ValueId id) const { return id.v - node(producer(id)).first_output; }
  /// The suggested name; empty if there is none.
  const std::string& suggested_name(ValueId id) const;
  const OperatorRecord& op(const Node& node) const { return record(node.op); }
  const Constant& constant(const Node& node) const { return constants_[node.payload]; }
  /// The contents of a value that is a constant; null otherwise.
  const Constant* constant_of(ValueId id) const;
  const OpaqueOperator& opaque(const Node& node) const { return opaques_[node.payload]; }
  const std::string& input_name(const Node& node) const { return input_names_[node.payload]; }
  /// Types of a node's inputs (undefined for absent ones), as Instance wants them.
  std::vector<TensorType> input_types(const Node& node) const;
  std::vector<TensorType> output_types(const Node& node) const;
  /// Input nodes in order of declaration.
  const std::vector<NodeId>& inputs() const { return inputs_; }
  const std::vector<GraphOutput>& outputs() const { return outputs_; }

  /// Nodes from which an output is reachable, ascending; inputs are always included.
  std::vector<NodeId> live_nodes() const;

 private:
  struct Value {
    NodeId producer;
    TensorType type;
  };
  NodeId append(Node node, std::vector<TensorType> types);
  std::size_t hash_of(const Node& node) const;
  std::optional<NodeId> find_operation(const Node& node, std::size_t hash) const;

  std::string name_ = "graph";
  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<Constant> constants_;
  std::vector<OpaqueOperator> opaques_;
  std::vector<std::string> input_names_;
  absl::flat_hash_set<std::string> taken_input_names_, taken_output_names_;
  std::vector<NodeId> inputs_;
  std::vector<GraphOutput> outputs_;
  absl::flat_hash_map<std::uint32_t, std::string> names_;
  absl::flat_hash_map<std::size_t, absl::InlinedVector<NodeId, 2>>
      interned_;  // by hash; compared exactly
};

}  // namespace lemma
