#pragma once
// Builds one block of a model with control flow: the nodes of a graph, cut into segments where control flow is.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/flow/flow_blocks.h"
#include "base/result.h"
#include "frontend_onnx/kept_node.h"
#include "frontend_onnx/model.h"
#include "ir/graph.h"
#include "programs/flow_model.h"

namespace lemma {

/// What the blocks of a model share.
struct FlowParts {
  FlowModel result;
  ModelEnvelope envelope;
  std::int64_t most_rows = 0;

  const backend::FlowTensor& tensor(backend::FlowTensorNumber number) const {
    return result.blocks.tensors[number];
  }
  /// The type has constant sizes.
  backend::FlowTensorNumber add_tensor(std::string name, const TensorType& type);
};

/// A value of a block's graph: a constant, a tensor that is handed on, a value within a segment, or nothing.
struct FlowValue {
  static constexpr std::uint32_t no_level = 0xffffffffU;

  std::optional<Constant> constant;
  backend::FlowTensorNumber tensor = backend::no_tensor;
  ValueId value = ValueId::none();  // of the segment of the level
  std::uint32_t level = no_level;   // of what makes it, in this block
  TensorType type;                  // undefined: there is nothing
  std::string name;                 // for people

  bool is_absent() const { return type.data_type == DataType::undefined; }
  static FlowValue of(Constant constant, std::string name = {});
  static FlowValue of(const FlowParts& parts, backend::FlowTensorNumber tensor,
                      std::uint32_t level = no_level);
};

class FlowBlockBuilder {
 public:
  /// `depth`: of blocks around it. The parts outlive the builder.
  FlowBlockBuilder(FlowParts& parts, int depth) : parts_(parts), depth_(depth) {}

  /// Adds the nodes of a graph whose inputs, by name, are these; what its outputs are.
  Result<std::vector<FlowValue>> add_graph(const Graph& graph,
                                           const std::map<std::string, FlowValue>& inputs);
  /// The tensor that a value becomes at the end of the segment that makes it. `may_have_free_rows`: where it is an output.
  Result<backend::FlowTensorNumber> tensor_of(const FlowValue& value,
                                              bool may_have_free_rows = false);
  /// The steps, when all that leaves a segment is known.
  std::vector<backend::FlowStep> take_steps();

 private:
  friend class FlowNodeBuilder;

  /// What is computed between two levels of control flow.
  struct Segment {
    Graph graph;
    std::map<backend::FlowTensorNumber, ValueId> inputs;
    std::map<std::pair<const void*, std::string>, ValueId> constants;
    std::map<ValueId, backend::FlowTensorNumber> leaving;
  };

  Result<std::vector<FlowValue>> add_node(const Graph& graph, const Node& node,
                                          const std::vector<FlowValue>& operands);
  Result<std::vector<FlowValue>> add_operation(const Graph& graph, const Node& node,
                                               const std::vector<FlowValue>& operands);
  Result<std::vector<FlowValue>> add_opaque(const Graph& graph, const Node& node,
                                            const std::vector<FlowValue>& operands);
  Result<ValueId> value_in(std::uint32_t level, const FlowValue& value);
  ValueId constant_in(std::uint32_t level, const Constant& constant);
  backend::FlowTensorNumber leave(std::uint32_t level, ValueId value, const std::string& name);
  void add_step(std::uint32_t level, backend::FlowStep step) {
    steps_[level].push_back(std::move(step));
  }

  FlowParts& parts_;
  int depth_;
  std::map<std::uint32_t, Segment> segments_;                      // by level; even ones
  std::map<std::uint32_t, std::vector<backend::FlowStep>> steps_;  // by level; odd ones
};

/// "Loop 'y'"
std::string node_text(const Graph& graph, const Node& node);
/// The operand with what is known of it.
KnownInput known_input(const FlowValue& value);

}  // namespace lemma
