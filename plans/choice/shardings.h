#pragma once
// How operators are computed on a mesh, and problems that are made of operators: a node for each tensor, a strategy for each
// sharding of the operator that makes it, and edges with what the operands' changes of placement take.

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "plans/choice/placement.h"

namespace lemma::choice {

/// One way to compute an operator: where its operands have to be, where its result is then, and what that takes beside the
/// changes of placement.
struct Sharding {
  std::vector<Placement> operands;
  Placement result;
  double seconds = 0;
};

/// An operator whose result has sums of products of elements of its operands: which index each dimension of an operand and of
/// the result runs with. Indices that the result does not have are summed over. A matrix product is {{0, 2}, {2, 1}}, {0, 1}.
/// Elementwise operators, sums over dimensions and broadcasts are such operators as well.
struct IndexedOperator {
  std::vector<std::vector<std::uint32_t>> operands;
  std::vector<std::uint32_t> result;
};

/// The placements of all tensors where each axis of the mesh cuts an index, or none. The result is partial along axes that
/// cut an index of a sum.
Sharding sharding_by_indices(const IndexedOperator& op,
                             const std::vector<std::optional<std::uint32_t>>& index_of_axis);
/// All of them.
std::vector<Sharding> shardings_of(const IndexedOperator& op, const MeshSizes& mesh);

/// Adds to the seconds what makes the result complete where it is, by all-reduces along the axes where it is partial.
void complete_result(Sharding& sharding, const Tensor& result, const MeshSizes& mesh,
                     const CollectivePrice& price);

/// What a change of placement takes.
using ReshardingPrice =
    std::function<double(const Tensor&, const Placement& from, const Placement& to)>;
/// By the cheapest sequence of collectives.
ReshardingPrice cheapest_resharding(const MeshSizes& mesh, const CollectivePrice& price);

class TensorProblem {
 public:
  TensorProblem(MeshSizes mesh, ReshardingPrice resharding)
      : mesh_(std::move(mesh)), resharding_(std::move(resharding)) {}

  /// A tensor, the nodes of the operands of what computes it, and its shardings. Those are left out that are impossible for a
  /// tensor, or that were given before. With `follows`, that operand must be where it is needed already.
  NodeNumber add(const Tensor& tensor, const std::vector<NodeNumber>& operands,
                 std::vector<Sharding> shardings,
                 std::optional<std::size_t> follows = std::nullopt);

  /// The tensor of `from` has to be brought to where that of `to` is: new weights to the place of the old ones.
  void bring(NodeNumber from, NodeNumber to);

  /// Memory is there from when a tensor is computed, in the order in which they were added, until its last use. Otherwise all
  /// tensors count at once.
  void use_moments();

  Problem& problem() { return problem_; }
  const Tensor& tensor(NodeNumber node) const { return tensors_[node]; }
  const std::vector<Sharding>& shardings(NodeNumber node) const { return shardings_[node]; }

 private:
  MeshSizes mesh_;
  ReshardingPrice resharding_;
  Problem problem_;
  std::vector<Tensor> tensors_;
  std::vector<std::vector<Sharding>> shardings_;
};

}  // namespace lemma::choice
