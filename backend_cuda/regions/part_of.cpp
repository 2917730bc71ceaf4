#include <algorithm>
#include <map>

#include "backend_cuda/regions/items.h"

namespace lemma::backend {

namespace {

class PartMaker {
 public:
  PartMaker(const ComputationGraph& graph, const std::vector<std::size_t>& members)
      : graph_(graph), is_made_(graph.buffers.size(), false), leaves_(graph.buffers.size(), false) {
    std::vector<bool> is_member(graph.computations.size(), false);
    for (const std::size_t member : members) {
      is_member[member] = true;
      is_made_[graph.computations[member].result] = true;
    }
    for (std::size_t i = 0; i < graph.computations.size(); ++i)
      for (const BufferNumber operand : graph.computations[i].operands)
        if (operand != no_buffer && !is_member[i]) leaves_[operand] = true;
    for (const BufferNumber output : graph.outputs) leaves_[output] = true;
    for (const std::size_t member : members) add(graph.computations[member]);
  }

  GraphPart finish() { return std::move(part_); }

 private:
  void add(Computation computation) {
    for (BufferNumber& operand : computation.operands)
      if (operand != no_buffer) operand = numbered(operand);
    computation.result = numbered(computation.result);
    part_.graph.computations.push_back(std::move(computation));
  }

  BufferNumber numbered(BufferNumber number) {
    const auto [known, is_new] =
        numbers_.emplace(number, static_cast<BufferNumber>(part_.graph.buffers.size()));
    if (!is_new) return known->second;
    Buffer buffer = graph_.buffers[number];
    const auto list = [&](std::vector<BufferNumber>& of_part, std::vector<BufferNumber>& of_whole,
                          Memory memory) {
      buffer.memory = memory;
      buffer.position = static_cast<std::uint32_t>(of_part.size());
      of_part.push_back(known->second);
      of_whole.push_back(number);
    };
    if (is_made_[number]) {
      buffer.memory = Memory::arena;
      if (leaves_[number]) list(part_.graph.outputs, part_.outputs, Memory::output);
    } else if (buffer.memory != Memory::weights) {
      list(part_.graph.inputs, part_.inputs, Memory::input);
    }
    part_.graph.buffers.push_back(std::move(buffer));
    return known->second;
  }

  const ComputationGraph& graph_;
  std::vector<bool> is_made_, leaves_;  // by buffer of the whole graph
  std::map<BufferNumber, BufferNumber> numbers_;
  GraphPart part_;
};

}  // namespace

GraphPart part_of(const ComputationGraph& graph, const std::vector<std::size_t>& members) {
  return PartMaker(graph, members).finish();
}

}  // namespace lemma::backend
