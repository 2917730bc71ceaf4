#include "backend_cuda/regions/place_regions.h"

#include <algorithm>
#include <iterator>

#include "backend/compile/compile.h"
#include "backend/memory/pack.h"
#include "backend/memory/plan_memory.h"
#include "backend/prove/check_program.h"
#include "backend_cuda/regions/node_order.h"

namespace lemma::backend {

namespace {

std::uint64_t rounded_up(std::uint64_t bytes) {
  return (bytes + region_alignment - 1) / region_alignment * region_alignment;
}

/// Something in the arena: made by the first node, used by the others.
struct ArenaBlock {
  std::uint64_t bytes = 0;
  std::vector<std::uint32_t> nodes;  // ascending
  std::uint64_t first = 0;
};

class ArenaPlacement {
 public:
  explicit ArenaPlacement(RegionProgram& program)
      : program_(program),
        before_(nodes_before(program.nodes)),
        of_buffer_(program.buffers.size()),
        of_region_(program.regions.size()) {
    for (std::size_t i = 0; i < program.buffers.size(); ++i)
      of_buffer_[i].bytes = rounded_up(program.buffers[i].bytes());
    for (std::uint32_t node = 0; node < program.nodes.size(); ++node) add_uses(node);
  }

  void run() {
    std::vector<ArenaBlock*> blocks;
    for (std::vector<ArenaBlock>* list : {&of_buffer_, &of_region_})
      for (ArenaBlock& block : *list)
        if (block.bytes > 0 && !block.nodes.empty()) blocks.push_back(&block);
    PackingProblem problem;
    for (const ArenaBlock* block : blocks)
      problem.blocks.push_back({block->bytes,
                                static_cast<double>(block->nodes.front()),
                                static_cast<double>(block->nodes.back()) + 1,
                                {}});
    for (std::uint32_t i = 0; i < blocks.size(); ++i)
      for (std::uint32_t j = i + 1; j < blocks.size(); ++j) {
        if (is_before(*blocks[i], *blocks[j]) || is_before(*blocks[j], *blocks[i])) continue;
        problem.blocks[i].conflicts.push_back(j);
        problem.blocks[j].conflicts.push_back(i);
      }
    const Packing packing = pack(problem);
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i]->first = packing.offsets[i];
    program_.arena_bytes = packing.bytes;
    for (std::size_t i = 0; i < of_buffer_.size(); ++i)
      if (program_.buffers[i].memory == Memory::arena)
        program_.buffers[i].offset = of_buffer_[i].first;
    for (std::size_t i = 0; i < of_region_.size(); ++i) {
      program_.regions[i].first = of_region_[i].first;
      program_.regions[i].bytes = of_region_[i].bytes;
    }
  }

 private:
  void add_uses(std::uint32_t node) {
    const RegionNode& region_node = program_.nodes[node];
    for (const auto& buffers : {writes_of(program_, region_node), reads_of(program_, region_node)})
      for (const BufferNumber buffer : buffers) {
        std::vector<std::uint32_t>& nodes = of_buffer_[buffer].nodes;
        const bool is_known = !nodes.empty() && nodes.back() == node;
        if (program_.buffers[buffer].memory == Memory::arena && !is_known) nodes.push_back(node);
      }
    if (region_node.kind != RegionNode::Kind::region) return;
    of_region_[region_node.number].bytes =
        rounded_up(program_.regions[region_node.number].program.arena_bytes);
    of_region_[region_node.number].nodes = {node};
  }

  bool is_before(const ArenaBlock& first, const ArenaBlock& second) const {
    return std::all_of(first.nodes.begin(), first.nodes.end(),
                       [&](std::uint32_t node) { return before_[second.nodes.front()][node]; });
  }

  RegionProgram& program_;
  const std::vector<std::vector<bool>> before_;
  std::vector<ArenaBlock> of_buffer_, of_region_;
};

/// One block for the weights of all task programs and of calls. Places within task programs are proved again.
Result<void> place_weights(RegionProgram& program) {
  std::vector<TaskProgram> programs;
  for (RegionStep& region : program.regions) programs.push_back(std::move(region.program));
  // Weights of calls alone, in the order of their numbers.
  TaskProgram& of_calls = programs.emplace_back();
  std::vector<bool> is_used(program.buffers.size(), false);
  for (const LibraryStep& step : program.calls)
    for (const BufferNumber operand : step.operands) is_used[operand] = true;
  std::vector<BufferNumber> numbers;
  for (BufferNumber i = 0; i < program.buffers.size(); ++i)
    if (is_used[i] && program.buffers[i].memory == Memory::weights) numbers.push_back(i);
  for (const BufferNumber number : numbers)
    of_calls.graph.buffers.push_back(program.buffers[number]);
  share_weights(programs);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    program.buffers[numbers[i]].offset = programs.back().graph.buffers[i].offset;
  program.weight_bytes = programs.back().weight_bytes;
  std::uint64_t addresses = 0;
  for (const TaskProgram& task_program : programs)
    addresses = std::max(addresses, address_bytes(task_program.graph));
  for (TaskProgram& task_program : programs) make_room_for_addresses(task_program, addresses);
  for (std::size_t i = 0; i < program.regions.size(); ++i) {
    program.regions[i].program = std::move(programs[i]);
    LEMMA_RETURN_IF_ERROR(check_program(program.regions[i].program));
  }
  return {};
}

/// Moves a region to the places of the whole arena.
void move_region(RegionProgram& program, RegionStep& region) {
  OperatorGraph& graph = region.program.graph;
  for (Buffer& buffer : graph.buffers)
    if (buffer.memory == Memory::arena) buffer.offset += region.first;
  const auto move = [&](const std::vector<BufferNumber>& of_region,
                        const std::vector<BufferNumber>& of_whole) {
    for (std::size_t i = 0; i < of_region.size(); ++i) {
      graph.buffers[of_region[i]].memory = Memory::arena;
      graph.buffers[of_region[i]].offset = program.buffers[of_whole[i]].offset;
    }
  };
  move(graph.inputs, region.inputs);
  move(graph.outputs, region.outputs);
  region.program.arena_bytes = program.arena_bytes;
}

/// A call takes the workspace of one that has ended when it begins, if there is any.
void give_workspaces(RegionProgram& program) {
  const auto before = nodes_before(program.nodes);
  std::vector<std::size_t> last;  // node, by workspace
  for (std::size_t node = 0; node < program.nodes.size(); ++node) {
    if (program.nodes[node].kind != RegionNode::Kind::call) continue;
    std::uint32_t workspace = 0;
    while (workspace < last.size() && !before[node][last[workspace]]) ++workspace;
    if (workspace == last.size()) last.push_back(node);
    last[workspace] = node;
    program.calls[program.nodes[node].number].workspace = workspace;
  }
  program.workspaces = static_cast<std::uint32_t>(last.size());
}

}  // namespace

Result<void> place_regions(RegionProgram& program) {
  ArenaPlacement(program).run();
  LEMMA_RETURN_IF_ERROR(place_weights(program));
  for (RegionStep& region : program.regions) move_region(program, region);
  give_workspaces(program);
  return {};
}

}  // namespace lemma::backend
