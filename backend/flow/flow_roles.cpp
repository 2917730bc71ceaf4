#include "backend/flow/flow_roles.h"

#include <numeric>
#include <set>

namespace lemma::backend {

namespace {

/// The tensors that steps of a block make at places of their own.
std::set<FlowTensorNumber> made_by(const FlowBlock& block) {
  std::set<FlowTensorNumber> made;
  for (const FlowStep& step : block.steps) {
    if (const auto* run = std::get_if<FlowRun>(&step.what))
      made.insert(run->outputs.begin(), run->outputs.end());
    if (const auto* branch = std::get_if<FlowBranch>(&step.what))
      made.insert(branch->results.begin(), branch->results.end());
    const auto* loop = std::get_if<FlowLoop>(&step.what);
    if (loop == nullptr) continue;
    for (const FlowLoop::State& state : loop->states) made.insert(state.final);
    for (const FlowLoop::Rows& rows : loop->made) made.insert(rows.whole);
  }
  return made;
}

class RoleFinder {
 public:
  explicit RoleFinder(FlowBlocks& blocks) : blocks_(blocks) { grow(); }

  FlowRoles find() {
    visit(blocks_.root, blocks_.outputs);
    grow();
    return std::move(roles_);
  }

 private:
  /// Tensors that were added stand for themselves.
  void grow() {
    const std::size_t before = roles_.names.size(), now = blocks_.tensors.size();
    roles_.names.resize(now);
    std::iota(roles_.names.begin() + static_cast<std::ptrdiff_t>(before), roles_.names.end(),
              static_cast<FlowTensorNumber>(before));
    roles_.is_second.resize(now, false);
    roles_.seconds.resize(now, no_tensor);
  }

  bool have_equal_types(FlowTensorNumber a, FlowTensorNumber b) const {
    const FlowTensor &first = blocks_.tensors[a], &second = blocks_.tensors[b];
    return first.type == second.type && first.sizes == second.sizes &&
           first.has_free_rows == second.has_free_rows;
  }

  /// `wanted`: what the results of the block become, if anything.
  void visit(const FlowBlock& block, const std::vector<FlowTensorNumber>& wanted) {
    std::set<FlowTensorNumber> made = made_by(block);
    for (std::size_t k = 0; k < wanted.size(); ++k)
      if (have_equal_types(block.results[k], wanted[k]) && made.erase(block.results[k]) == 1)
        roles_.names[block.results[k]] = roles_.names[wanted[k]];
    for (const FlowStep& step : block.steps) {
      if (const auto* branch = std::get_if<FlowBranch>(&step.what)) {
        visit(branch->then_block, branch->results);
        visit(branch->else_block, branch->results);
      }
      if (const auto* loop = std::get_if<FlowLoop>(&step.what)) visit(*loop);
    }
  }

  void visit(const FlowLoop& loop) {
    std::set<FlowTensorNumber> made = made_by(loop.body);
    for (std::size_t k = 0; k < loop.states.size(); ++k) {
      const FlowTensorNumber current = loop.states[k].current, next = loop.body.results[k];
      if (next == current) continue;
      FlowTensorNumber second = next;
      if (made.erase(next) == 0) {
        second = static_cast<FlowTensorNumber>(blocks_.tensors.size());
        FlowTensor added = blocks_.tensors[current];
        added.name += " (next)";
        blocks_.tensors.push_back(std::move(added));
        grow();
      }
      roles_.is_second[second] = true;
      roles_.seconds[current] = second;
    }
    visit(loop.body, {});
  }

  FlowBlocks& blocks_;
  FlowRoles roles_;
};

}  // namespace

FlowRoles find_roles(FlowBlocks& blocks) { return RoleFinder(blocks).find(); }

}  // namespace lemma::backend
