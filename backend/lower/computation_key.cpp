#include "backend/lower/computation_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/sha256.h"

namespace lemma::backend {

std::string computation_key(const Computation& computation, const std::vector<Buffer>& buffers) {
  constexpr std::size_t digest_length = 20;
  std::string all = fmt::format("{}\n{}", text(computation.definition), computation.output);
  for (std::size_t i = 0; i < computation.views.size(); ++i) {
    const lowering::InputView& view = computation.views[i];
    const BufferNumber buffer = computation.operands[i];
    const bool is_weight = buffer != no_buffer && buffers[buffer].memory == Memory::weights;
    all += fmt::format("|{} {}{}", static_cast<int>(view.type), fmt::join(view.sizes, " "),
                       buffer == no_buffer ? " absent"
                       : is_weight         ? " weights"
                                           : "");
  }
  return sha256(all).substr(0, digest_length);
}

ComputationGraph take_schedules(ComputationGraph graph, const LoopSchedules& schedules) {
  for (Computation& computation : graph.computations) {
    const auto found = schedules.find(computation_key(computation, graph.buffers));
    if (found == schedules.end()) continue;
    computation.schedule = found->second;
    if (found->second.stored == true) computation.is_stored = true;
  }
  return graph;
}

}  // namespace lemma::backend
