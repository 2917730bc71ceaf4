#include "backend/flow/flow_memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backend/memory/pack.h"

namespace lemma::backend {

namespace {

using Tensors = std::set<FlowTensorNumber>;

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
}

/// Places within the memory of a block.
struct BlockPlan {
  std::uint64_t bytes = 0;
  std::vector<std::pair<FlowTensorNumber, std::uint64_t>> tensors;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> segments;
};

/// What has a place in a block: a tensor, or what a step needs while it runs.
struct Piece {
  std::uint64_t bytes = 0;
  std::size_t begin = 0, end = 0;  // steps
  BlockPlan plan;                  // within it
};

class MemoryPlanner {
 public:
  MemoryPlanner(const FlowBlocks& blocks, const FlowRoles& roles, FlowProgram& program)
      : blocks_(blocks), roles_(roles), program_(program) {}

  void run() {
    const BlockPlan plan = planned(blocks_.root, {});
    for (const auto& [tensor, offset] : plan.tensors) program_.tensors[tensor].offset = offset;
    program_.segment_places.resize(program_.segments.size());
    for (const auto& [segment, offset] : plan.segments) program_.segment_places[segment] = offset;
    program_.arena_bytes = plan.bytes;
  }

 private:
  // ---- Which tensors a step mentions ------------------------------------------------------------

  void add(FlowTensorNumber tensor, Tensors& mentioned) const {
    if (tensor != no_tensor) mentioned.insert(roles_.name(tensor));
  }

  void add(const std::vector<FlowTensorNumber>& tensors, Tensors& mentioned) const {
    for (const FlowTensorNumber tensor : tensors) add(tensor, mentioned);
  }

  void add(const FlowBlock& block, Tensors& mentioned) const {
    for (const FlowStep& step : block.steps) add(step, mentioned);
    add(block.results, mentioned);
  }

  void add(const FlowStep& step, Tensors& mentioned) const {
    if (const auto* run = std::get_if<FlowRun>(&step.what)) {
      add(run->inputs, mentioned);
      add(run->outputs, mentioned);
    } else if (const auto* branch = std::get_if<FlowBranch>(&step.what)) {
      add(branch->condition, mentioned);
      add(branch->then_block, mentioned);
      add(branch->else_block, mentioned);
      add(branch->results, mentioned);
    } else if (const auto* loop = std::get_if<FlowLoop>(&step.what)) {
      for (const FlowTensorNumber tensor : {loop->count, loop->condition, loop->next_condition})
        add(tensor, mentioned);
      for (const FlowLoop::State& state : loop->states)
        add({state.initial, state.final}, mentioned);
      for (const FlowLoop::Rows& rows : loop->read) add(rows.whole, mentioned);
      for (const FlowLoop::Rows& rows : loop->made) add(rows.whole, mentioned);
      add(loop->body, mentioned);
    }
  }

  // ---- The pieces of a block --------------------------------------------------------------------

  /// `kept`: what is read at the end of the block beside its results.
  BlockPlan planned(const FlowBlock& block, const std::vector<FlowTensorNumber>& kept) {
    std::map<FlowTensorNumber, std::size_t> last;  // step that mentions it
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      Tensors mentioned;
      add(block.steps[i], mentioned);
      for (const FlowTensorNumber tensor : mentioned) last[tensor] = i;
    }
    for (const auto& results : {block.results, kept})
      for (const FlowTensorNumber tensor : results)
        if (tensor != no_tensor) last[roles_.name(tensor)] = block.steps.size();
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      const auto make = [&](FlowTensorNumber tensor) {
        if (roles_.name(tensor) == tensor && !roles_.is_second[tensor])
          add_tensor(tensor, i, std::max(i, last[tensor]), pieces);
      };
      const FlowStep& step = block.steps[i];
      if (const auto* run = std::get_if<FlowRun>(&step.what)) {
        std::for_each(run->outputs.begin(), run->outputs.end(), make);
        Piece& piece = pieces.emplace_back();
        piece = {aligned(program_.segments[run->segment].arena_bytes), i, i, {}};
        piece.plan.segments.emplace_back(run->segment, 0);
        program_.unshared_bytes += piece.bytes;
      } else if (const auto* branch = std::get_if<FlowBranch>(&step.what)) {
        std::for_each(branch->results.begin(), branch->results.end(), make);
        add_branch(*branch, i, pieces);
      } else if (const auto* loop = std::get_if<FlowLoop>(&step.what)) {
        for (const FlowLoop::State& state : loop->states) make(state.final);
        for (const FlowLoop::Rows& rows : loop->made) make(rows.whole);
        add_loop(*loop, i, pieces);
      }
    }
    return placed(std::move(pieces));
  }

  void add_tensor(FlowTensorNumber tensor, std::size_t begin, std::size_t end,
                  std::vector<Piece>& pieces) {
    const FlowTensor& value = program_.tensors[tensor];
    if (value.memory != Memory::arena) return;
    Piece& piece = pieces.emplace_back();
    piece = {aligned(value.bytes()), begin, end, {}};
    piece.plan.tensors.emplace_back(tensor, 0);
    program_.unshared_bytes += piece.bytes;
  }

  /// Both branches in one piece.
  void add_branch(const FlowBranch& branch, std::size_t step, std::vector<Piece>& pieces) {
    Piece piece{0, step, step, planned(branch.then_block, {})};
    BlockPlan other = planned(branch.else_block, {});
    piece.bytes = std::max(piece.plan.bytes, other.bytes);
    piece.plan.tensors.insert(piece.plan.tensors.end(), other.tensors.begin(), other.tensors.end());
    piece.plan.segments.insert(piece.plan.segments.end(), other.segments.begin(),
                               other.segments.end());
    pieces.push_back(std::move(piece));
  }

  void add_loop(const FlowLoop& loop, std::size_t step, std::vector<Piece>& pieces) {
    const auto add_own = [&](FlowTensorNumber tensor) {
      if (tensor != no_tensor) add_tensor(tensor, step, step, pieces);
    };
    add_own(loop.number);
    for (const FlowLoop::State& state : loop.states) {
      add_own(state.current);
      add_own(roles_.seconds[state.current]);
    }
    for (const FlowLoop::Rows& rows : loop.read) add_own(rows.row);
    Piece piece{0, step, step, planned(loop.body, {loop.next_condition})};
    piece.bytes = piece.plan.bytes;
    pieces.push_back(std::move(piece));
  }

  static BlockPlan placed(std::vector<Piece> pieces) {
    PackingProblem problem;
    for (const Piece& piece : pieces)
      problem.blocks.push_back(
          {piece.bytes, static_cast<double>(piece.begin), static_cast<double>(piece.end), {}});
    for (std::uint32_t i = 0; i < pieces.size(); ++i)
      for (std::uint32_t j = i + 1; j < pieces.size(); ++j) {
        if (pieces[i].end < pieces[j].begin || pieces[j].end < pieces[i].begin) continue;
        problem.blocks[i].conflicts.push_back(j);
        problem.blocks[j].conflicts.push_back(i);
      }
    const Packing packing = pack(problem);
    BlockPlan plan;
    plan.bytes = packing.bytes;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      for (const auto& [tensor, offset] : pieces[i].plan.tensors)
        plan.tensors.emplace_back(tensor, packing.offsets[i] + offset);
      for (const auto& [segment, offset] : pieces[i].plan.segments)
        plan.segments.emplace_back(segment, packing.offsets[i] + offset);
    }
    return plan;
  }

  const FlowBlocks& blocks_;
  const FlowRoles& roles_;
  FlowProgram& program_;
};

}  // namespace

void plan_flow_memory(const FlowBlocks& blocks, const FlowRoles& roles, FlowProgram& program) {
  MemoryPlanner(blocks, roles, program).run();
}

}  // namespace lemma::backend
