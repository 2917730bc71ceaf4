#include "plans/choice/shardings.h"

#include <algorithm>
#include <limits>

namespace lemma::choice {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Placement placement_by_indices(const std::vector<std::uint32_t>& indices,
                               const std::vector<std::optional<std::uint32_t>>& index_of_axis) {
  Placement placement;
  for (const std::optional<std::uint32_t>& index : index_of_axis) {
    const auto at = index ? std::find(indices.begin(), indices.end(), *index) : indices.end();
    placement.push_back(at == indices.end()
                            ? replicated
                            : sharded(static_cast<std::uint32_t>(at - indices.begin())));
  }
  return placement;
}

bool is_same(const Sharding& a, const Sharding& b) {
  return a.operands == b.operands && a.result == b.result && a.seconds == b.seconds;
}

}  // namespace

Sharding sharding_by_indices(const IndexedOperator& op,
                             const std::vector<std::optional<std::uint32_t>>& index_of_axis) {
  Sharding sharding;
  for (const std::vector<std::uint32_t>& operand : op.operands)
    sharding.operands.push_back(placement_by_indices(operand, index_of_axis));
  sharding.result = placement_by_indices(op.result, index_of_axis);
  for (std::size_t axis = 0; axis < index_of_axis.size(); ++axis) {
    const bool is_used = std::any_of(
        sharding.operands.begin(), sharding.operands.end(),
        [&](const Placement& operand) { return operand[axis].sharing == Sharing::parted; });
    if (is_used && sharding.result[axis] == replicated) sharding.result[axis] = partial;
  }
  return sharding;
}

std::vector<Sharding> shardings_of(const IndexedOperator& op, const MeshSizes& mesh) {
  std::uint32_t indices = 0;
  for (const std::vector<std::uint32_t>& operand : op.operands)
    for (const std::uint32_t index : operand) indices = std::max(indices, index + 1);
  for (const std::uint32_t index : op.result) indices = std::max(indices, index + 1);
  std::vector<std::optional<std::uint32_t>> index_of_axis(mesh.size());
  std::vector<Sharding> shardings;
  while (true) {
    shardings.push_back(sharding_by_indices(op, index_of_axis));
    std::size_t axis = mesh.size();
    while (axis > 0) {
      std::optional<std::uint32_t>& index = index_of_axis[axis - 1];
      const std::uint32_t next = index ? *index + 1 : 0;
      if (next < indices && mesh[axis - 1] > 1) {
        index = next;
        break;
      }
      index.reset();
      --axis;
    }
    if (axis == 0) return shardings;
  }
}

void complete_result(Sharding& sharding, const Tensor& result, const MeshSizes& mesh,
                     const CollectivePrice& price) {
  const double bytes =
      bytes_of(result) / static_cast<double>(parts_of(normalized(sharding.result, mesh), mesh));
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (sharding.result[axis].sharing != Sharing::partial) continue;
    if (mesh[axis] > 1) sharding.seconds += price(clusters::Collective::all_reduce, bytes, axis);
    sharding.result[axis] = replicated;
  }
}

ReshardingPrice cheapest_resharding(const MeshSizes& mesh, const CollectivePrice& price) {
  const auto known = std::make_shared<std::map<Tensor, Reshardings>>();
  return [known, mesh, price](const Tensor& tensor, const Placement& from, const Placement& to) {
    const auto at = known->try_emplace(tensor, tensor, mesh, price).first;
    return at->second.seconds(from, to);
  };
}

NodeNumber TensorProblem::add(const Tensor& tensor, const std::vector<NodeNumber>& operands,
                              std::vector<Sharding> shardings, std::optional<std::size_t> follows) {
  std::vector<Sharding> kept;
  for (Sharding& sharding : shardings) {
    sharding.result = normalized(sharding.result, mesh_);
    for (Placement& operand : sharding.operands) operand = normalized(operand, mesh_);
    bool is_kept = is_possible(tensor, sharding.result, mesh_);
    for (std::size_t at = 0; at < operands.size(); ++at)
      is_kept = is_kept && is_possible(tensors_[operands[at]], sharding.operands[at], mesh_);
    for (const Sharding& other : kept) is_kept = is_kept && !is_same(other, sharding);
    if (is_kept) kept.push_back(std::move(sharding));
  }
  const auto number = static_cast<NodeNumber>(problem_.nodes.size());
  Node node;
  for (const Sharding& sharding : kept)
    node.strategies.push_back({sharding.seconds, memory_on_device(tensor, sharding.result, mesh_)});
  problem_.nodes.push_back(std::move(node));
  for (std::size_t at = 0; at < operands.size(); ++at) {
    Edge edge{operands[at], number, {}};
    for (const Sharding& made : shardings_[operands[at]])
      for (const Sharding& needed : kept) {
        const bool is_there = made.result == needed.operands[at];
        edge.seconds.push_back(is_there        ? 0
                               : follows == at ? infinite
                                               : resharding_(tensors_[operands[at]], made.result,
                                                             needed.operands[at]));
      }
    problem_.edges.push_back(std::move(edge));
  }
  tensors_.push_back(tensor);
  shardings_.push_back(std::move(kept));
  return number;
}

void TensorProblem::bring(NodeNumber from, NodeNumber to) {
  Edge edge{from, to, {}};
  for (const Sharding& made : shardings_[from])
    for (const Sharding& needed : shardings_[to])
      edge.seconds.push_back(made.result == needed.result
                                 ? 0
                                 : resharding_(tensors_[from], made.result, needed.result));
  problem_.edges.push_back(std::move(edge));
}

void TensorProblem::use_moments() {
  for (NodeNumber node = 0; node < problem_.nodes.size(); ++node)
    problem_.nodes[node].begin = node, problem_.nodes[node].end = node + 1;
  for (const Edge& edge : problem_.edges) {
    // `bring` leads back to a tensor that was there before.
    const NodeNumber first = std::min(edge.from, edge.to), last = std::max(edge.from, edge.to);
    problem_.nodes[first].end = std::max(problem_.nodes[first].end, last + 1);
  }
}

}  // namespace lemma::choice
