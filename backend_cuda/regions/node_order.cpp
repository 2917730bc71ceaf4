#include "backend_cuda/regions/node_order.h"

#include <algorithm>

namespace lemma::backend {

std::vector<std::vector<bool>> nodes_before(const std::vector<RegionNode>& nodes) {
  std::vector<std::vector<bool>> before(nodes.size(), std::vector<bool>(nodes.size(), false));
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (const std::uint32_t earlier : nodes[i].after) {
      before[i][earlier] = true;
      for (std::size_t j = 0; j < earlier; ++j)
        if (before[earlier][j]) before[i][j] = true;
    }
  return before;
}

void reduce_order(std::vector<RegionNode>& nodes) {
  const auto before = nodes_before(nodes);
  for (RegionNode& node : nodes) {
    const std::vector<std::uint32_t> all = node.after;
    std::erase_if(node.after, [&](std::uint32_t earlier) {
      return std::any_of(all.begin(), all.end(), [&](std::uint32_t other) {
        return other != earlier && before[other][earlier];
      });
    });
  }
}

std::vector<BufferNumber> reads_of(const RegionProgram& program, const RegionNode& node) {
  switch (node.kind) {
    case RegionNode::Kind::input: return {};
    case RegionNode::Kind::region: return program.regions[node.number].inputs;
    case RegionNode::Kind::call: return program.calls[node.number].operands;
    case RegionNode::Kind::output: break;
  }
  return {program.outputs[node.number]};
}

std::vector<BufferNumber> writes_of(const RegionProgram& program, const RegionNode& node) {
  switch (node.kind) {
    case RegionNode::Kind::input: return {program.inputs[node.number]};
    case RegionNode::Kind::region: return program.regions[node.number].outputs;
    case RegionNode::Kind::call: return {program.calls[node.number].result};
    case RegionNode::Kind::output: break;
  }
  return {};
}

}  // namespace lemma::backend
