#pragma once
// An If, Loop or Scan as a step of a block.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "programs/flow_block_builder.h"

namespace lemma {

class FlowNodeBuilder {
 public:
  /// `name`: of the node, for people. All outlive the builder.
  FlowNodeBuilder(FlowParts& parts, FlowBlockBuilder& around, int depth, const KeptNode& node,
                  std::string name)
      : parts_(parts), around_(around), depth_(depth), node_(node), name_(std::move(name)) {}

  /// Adds the step to the block around the node; what the node gives.
  Result<std::vector<FlowValue>> add(const std::vector<FlowValue>& operands);

 private:
  /// A body with its inputs: first its own, then those that it captures.
  struct Body {
    Graph graph;
    std::map<std::string, FlowValue> inputs;
  };
  /// A body as a block.
  struct BuiltBody {
    FlowBlockBuilder builder;
    std::vector<FlowValue> outputs;
  };

  Result<std::vector<FlowValue>> add_if();
  Result<std::vector<FlowValue>> add_loop();
  Result<std::vector<FlowValue>> add_scan();

  Result<Body> body(std::string_view attribute, const std::vector<FlowValue>& own);
  /// Values of the block around become tensors that the body sees; the body's own inputs are there already.
  Result<BuiltBody> built(Body body, std::size_t own);
  /// The level of the step rises to that of what makes the value.
  void need(const FlowValue& value);
  Result<backend::FlowTensorNumber> needed_tensor(const FlowValue& value);
  /// The states of a loop, from what is before it; adds their inputs to those of the body.
  Result<void> add_states(std::span<const FlowValue> initial, backend::FlowLoop& loop,
                          std::vector<FlowValue>& own);
  /// What a step gives for the states, and their results behind the loop.
  Result<void> end_states(BuiltBody& body, std::size_t first, backend::FlowLoop& loop,
                          std::vector<FlowValue>& results);
  Result<void> end_loop_condition(const FlowValue& initial, BuiltBody& body,
                                  backend::FlowLoop& loop);
  Result<void> make_rows(BuiltBody& body, std::size_t output, std::int64_t count, bool is_free,
                         std::int64_t axis, bool is_reversed, backend::FlowLoop& loop);

  FlowParts& parts_;
  FlowBlockBuilder& around_;
  int depth_;
  const KeptNode& node_;
  std::string name_;
  std::vector<FlowValue> own_, captured_;
  std::uint32_t level_ = 1;
};

}  // namespace lemma
