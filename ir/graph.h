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

/// Number of a node of a graph, in the order of addition.
struct NodeId {
  std::uint32_t v = 0;                                // position in Graph::nodes()
  friend auto operator<=>(NodeId, NodeId) = default;  // by number: in topological order
};

/// Number of a value of a graph: of one output of a node.
struct ValueId {
  std::uint32_t v = 0;  // those of one node follow each other
  /// Stands for an absent optional input.
  static constexpr ValueId none() { return {0xffffffffU}; }
  bool is_none() const { return v == 0xffffffffU; }     // stands for no value
  friend auto operator<=>(ValueId, ValueId) = default;  // by number; none() comes last
  /// For the hash tables of Abseil.
  template <typename H>
  friend H AbslHashValue(H state, ValueId id) {
    return H::combine(std::move(state), id.v);
  }
};

/// An operator without a record. Only the front end that made it can read `payload` (the
/// serialized node of the source format, with attributes and subgraphs verbatim).
struct OpaqueOperator {
  std::string domain;   // of ONNX; empty for its own operators
  std::string name;     // of the operator, such as "Loop"
  std::string payload;  // bytes, not text
  std::string reason;   // why it is opaque, for people
  /// What it computes: equal where payloads differ only in names of what it takes and gives and in where its
  /// data is. The payload, if empty.
  std::string meaning = {};
  /// Tells it from others of one graph, also in graphs made of it. The payload, if empty.
  std::string label = {};
};

/// What a node is; only an operation has a record, and only it and an opaque node have inputs.
enum class NodeKind : std::uint8_t { input, constant, operation, opaque };

/// One node. The fields that a comment gives to one kind of node mean nothing for the others.
struct Node {
  NodeKind kind = NodeKind::operation;  // set by the graph, as all fields are
  OperatorId op;                        // operation
  std::uint32_t payload = 0;            // constant, opaque, input: position in the graph's table
  std::uint32_t first_output = 0;       // number of the first output; the others follow
  std::uint32_t output_count = 1;       // 1 for inputs and constants
  std::vector<ValueId> inputs;          // operation, opaque; ValueId::none() for absent ones
  Attributes attributes;                // operation: complete

  ValueId output(std::uint32_t index = 0) const { return {first_output + index}; }  // from 0
};

/// A value that the graph gives to its caller.
struct GraphOutput {
  std::string name;  // unique among outputs
  ValueId value;     // may be an input or a constant, and several outputs may name it
};

/// Owns nodes, types, constants and names. Ids are of one graph; another gives no meaning to them.
class Graph {
 public:
  // Construction. Names of inputs and outputs must be unique among themselves.

  /// An error: the name is taken, or the shape has what is no size. The name is suggested for the value, too.
  Result<ValueId> add_input(std::string name, TensorType type);
  ValueId add_constant(Constant constant);  // the existing one if contents and type are equal
  /// Completes attributes, infers types, and returns the existing node if there is an equal one.
  /// Inputs must be of this graph (none() for absent ones), and of known types. `output_count` matters for operators
  /// with a variable number of outputs only.
  Result<NodeId> add_operation(OperatorId op, std::vector<ValueId> inputs, Attributes attributes,
                               std::size_t output_count = 1);
  /// Adds an operator with one output, by its name; the common case in our own code.
  Result<ValueId> add(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {});
  /// Always a new node. Nothing is inferred: it has the types given, one for each output.
  NodeId add_opaque(OpaqueOperator op, std::vector<ValueId> inputs,
                    std::vector<TensorType> output_types);
  void label_opaque(NodeId id, std::string label);  // sets OpaqueOperator::label of an opaque node
  Result<void> add_output(std::string name, ValueId value);  // an error: the name is taken
  /// A name to keep for a value where possible (export, pictures); the first one wins.
  void suggest_name(ValueId value, std::string name);
  void set_name(std::string name) { name_ = std::move(name); }  // of the graph

  // Reading.

  const std::string& name() const { return name_; }           // "graph" if none was set
  std::size_t node_count() const { return nodes_.size(); }    // dead ones included
  std::size_t value_count() const { return values_.size(); }  // ids of values are below it
  const Node& node(NodeId id) const { return nodes_[id.v]; }  // valid until a node is added
  const std::vector<Node>& nodes() const { return nodes_; }   // by id
  const TensorType& type(ValueId id) const { return values_[id.v].type; }  // not of none()
  NodeId producer(ValueId id) const { return values_[id.v].producer; }     // every value has one
  /// Position among the outputs of its producer.
  std::uint32_t output_index(ValueId id) const { return id.v - node(producer(id)).first_output; }
  /// The suggested name; empty if there is none.
  const std::string& suggested_name(ValueId id) const;
  const OperatorRecord& op(const Node& node) const { return record(node.op); }  // of an operation
  /// Of a constant.
  const Constant& constant(const Node& node) const { return constants_[node.payload]; }
  /// The contents of a value that is a constant; null otherwise.
  const Constant* constant_of(ValueId id) const;
  /// Of an opaque node.
  const OpaqueOperator& opaque(const Node& node) const { return opaques_[node.payload]; }
  /// Of an input.
  const std::string& input_name(const Node& node) const { return input_names_[node.payload]; }
  /// Types of a node's inputs (undefined for absent ones), as Instance wants them.
  std::vector<TensorType> input_types(const Node& node) const;
  std::vector<TensorType> output_types(const Node& node) const;  // by output
  /// Input nodes in order of declaration.
  const std::vector<NodeId>& inputs() const { return inputs_; }
  /// In the order of add_output().
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
