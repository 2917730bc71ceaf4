#include "backend/lower/without_unread.h"

#include <algorithm>

namespace lemma::backend {

ComputationGraph without_unread(ComputationGraph graph) {
  std::vector<bool> is_kept;
  for (const Buffer& buffer : graph.buffers)
    is_kept.push_back(buffer.memory == Memory::input || buffer.memory == Memory::output);
  std::vector<Computation> kept;
  for (std::size_t i = graph.computations.size(); i-- > 0;) {
    Computation& computation = graph.computations[i];
    if (!is_kept[computation.result]) continue;
    for (const BufferNumber operand : computation.operands)
      if (operand != no_buffer) is_kept[operand] = true;
    kept.push_back(std::move(computation));
  }
  std::reverse(kept.begin(), kept.end());
  ComputationGraph result;
  std::vector<BufferNumber> numbers(is_kept.size(), no_buffer);
  for (BufferNumber i = 0; i < numbers.size(); ++i) {
    // An empty result has no computation.
    if (!is_kept[i] && graph.buffers[i].elements != 0) continue;
    numbers[i] = static_cast<BufferNumber>(result.buffers.size());
    result.buffers.push_back(std::move(graph.buffers[i]));
  }
  for (Computation& computation : kept) {
    for (BufferNumber& operand : computation.operands)
      if (operand != no_buffer) operand = numbers[operand];
    computation.result = numbers[computation.result];
    result.computations.push_back(std::move(computation));
  }
  for (const BufferNumber buffer : graph.inputs) result.inputs.push_back(numbers[buffer]);
  for (const BufferNumber buffer : graph.outputs) result.outputs.push_back(numbers[buffer]);
  return result;
}

void drop_unread_operands(Computation& computation) {
  std::vector<bool> is_read(computation.operands.size(), false);
  for (const ExpressionNode& node : computation.definition.nodes())
    if (node.kind == ExpressionKind::read) is_read[node.input] = true;
  for (std::size_t i = 0; i < is_read.size(); ++i) {
    if (is_read[i]) continue;
    computation.operands[i] = no_buffer;
    computation.views[i] = {};
  }
}

}  // namespace lemma::backend
