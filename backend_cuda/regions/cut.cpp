#include "backend_cuda/regions/cut.h"

#include <algorithm>
#include <map>
#include <set>

#include "backend/memory/plan_memory.h"
#include "backend/simulate/simulate.h"
#include "backend_cuda/regions/node_order.h"
#include "backend_cuda/regions/place_regions.h"
#include "costmodel/roofline.h"

namespace lemma::backend {

namespace {

/// A copy from memory to memory.
double seconds_of_copy(const Buffer& buffer, const Device& device) {
  OperationCount work;
  work.bytes_read = work.bytes_written = static_cast<double>(buffer.bytes());
  return roofline_seconds(work, buffer.type, device);
}

class CutMaker {
 public:
  CutMaker(const ComputationGraph& graph, std::vector<CallCandidate> calls,
           const CompileOptions& options, const Device& device)
      : graph_(graph),
        calls_(std::move(calls)),
        options_(options),
        device_(device),
        layers_(graph.buffers.size()) {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      for (const std::size_t computation : calls_[i].computed)
        computed_by_[computation] = std::nullopt;
      computed_by_[calls_[i].computed.back()] = i;
    }
  }

  Result<RegionProgram> run() {
    result_.buffers = graph_.buffers;
    result_.inputs = graph_.inputs;
    result_.outputs = graph_.outputs;
    for (Buffer& buffer : result_.buffers)
      if (buffer.memory != Memory::weights) buffer.memory = Memory::arena;
    find_layers();
    add_copies(RegionNode::Kind::input, result_.inputs);
    for (const Layer& layer : of_layer_) {
      LEMMA_RETURN_IF_ERROR(add_region(layer.computations));
      for (const std::size_t call : layer.calls) add_call(calls_[call]);
    }
    add_copies(RegionNode::Kind::output, result_.outputs);
    reduce_order(result_.nodes);
    result_.launch_seconds = options_.device.seconds_per_launch;
    result_.seconds += result_.launch_seconds;
    LEMMA_RETURN_IF_ERROR(place_regions(result_));
    return std::move(result_);
  }

 private:
  struct Layer {
    std::vector<std::size_t> computations, calls;
  };
  /// Where a tensor is made: by the region or the calls of a layer.
  struct Made {
    std::size_t layer = 0;
    bool by_call = false;
  };

  std::size_t layer_for(const std::vector<BufferNumber>& operands, bool is_call) const {
    std::size_t layer = 0;
    for (const BufferNumber operand : operands)
      if (operand != no_buffer && layers_[operand])
        layer = std::max(layer,
                         layers_[operand]->layer + (layers_[operand]->by_call && !is_call ? 1 : 0));
    return layer;
  }

  void find_layers() {
    for (std::size_t i = 0; i < graph_.computations.size(); ++i) {
      const auto computed = computed_by_.find(i);
      const bool is_call = computed != computed_by_.end();
      if (is_call && !computed->second) continue;  // part of a call
      const std::size_t layer = layer_for(
          is_call ? calls_[*computed->second].operands : graph_.computations[i].operands, is_call);
      if (of_layer_.size() <= layer) of_layer_.resize(layer + 1);
      if (is_call)
        of_layer_[layer].calls.push_back(*computed->second);
      else
        of_layer_[layer].computations.push_back(i);
      layers_[graph_.computations[i].result] = Made{layer, is_call};
    }
  }

  /// A node behind those that make what it reads.
  void add_node(RegionNode::Kind kind, std::size_t number,
                std::optional<std::uint32_t> behind = std::nullopt) {
    RegionNode node;
    node.kind = kind;
    node.number = static_cast<std::uint32_t>(number);
    std::set<std::uint32_t> after;
    if (behind) after.insert(*behind);
    for (const BufferNumber buffer : reads_of(result_, node))
      if (const auto maker = makers_.find(buffer); maker != makers_.end())
        after.insert(maker->second);
    node.after.assign(after.begin(), after.end());
    const auto position = static_cast<std::uint32_t>(result_.nodes.size());
    for (const BufferNumber buffer : writes_of(result_, node)) makers_[buffer] = position;
    result_.nodes.push_back(std::move(node));
  }

  /// Tensors without elements, and inputs that nothing reads, are not copied.
  void add_copies(RegionNode::Kind kind, const std::vector<BufferNumber>& buffers) {
    std::vector<bool> is_read(graph_.buffers.size(), kind == RegionNode::Kind::output);
    for (const Computation& computation : graph_.computations)
      for (const BufferNumber operand : computation.operands)
        if (operand != no_buffer) is_read[operand] = true;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Buffer& buffer = graph_.buffers[buffers[i]];
      if (buffer.elements == 0 || !is_read[buffers[i]]) continue;
      add_node(kind, i);
      result_.seconds += seconds_of_copy(buffer, device_);
    }
  }

  Result<void> add_region(const std::vector<std::size_t>& computations) {
    if (computations.empty()) return {};
    GraphPart part = part_of(graph_, computations);
    RegionStep region;
    region.inputs = std::move(part.inputs);
    region.outputs = std::move(part.outputs);
    LEMMA_ASSIGN_OR_RETURN(region.program, compile(std::move(part.graph), options_));
    region.seconds = simulate(region.program).seconds - options_.device.seconds_per_launch +
                     device_.launch_overhead;
    result_.seconds += region.seconds;
    result_.regions.push_back(std::move(region));
    const auto position = static_cast<std::uint32_t>(result_.nodes.size());
    // Each takes all multiprocessors, and they share scratch memory.
    add_node(RegionNode::Kind::region, result_.regions.size() - 1, last_region_);
    last_region_ = position;
    return {};
  }

  void add_call(const CallCandidate& candidate) {
    LibraryStep step;
    step.call = candidate.call;
    step.name = graph_.buffers[candidate.result].name;
    for (const std::size_t computation : candidate.computed)
      step.description +=
          (step.description.empty() ? "" : " + ") + graph_.computations[computation].description;
    step.operands = candidate.operands;
    step.result = candidate.result;
    step.seconds = candidate.seconds;
    result_.seconds += step.seconds;
    result_.calls.push_back(std::move(step));
    add_node(RegionNode::Kind::call, result_.calls.size() - 1);
  }

  const ComputationGraph& graph_;
  const std::vector<CallCandidate> calls_;
  const CompileOptions& options_;
  const Device& device_;
  /// The call that computes a computation: it stands at the last one of them.
  std::map<std::size_t, std::optional<std::size_t>> computed_by_;
  std::vector<std::optional<Made>> layers_;  // by buffer
  std::vector<Layer> of_layer_;
  std::map<BufferNumber, std::uint32_t> makers_;  // nodes
  std::optional<std::uint32_t> last_region_;
  RegionProgram result_;
};

}  // namespace

Result<RegionProgram> cut(const ComputationGraph& graph, std::vector<CallCandidate> calls,
                          const CompileOptions& options, const Device& device) {
  return CutMaker(graph, std::move(calls), options, device).run();
}

}  // namespace lemma::backend
