#pragma once
// Matrix products, elementwise operators and sums with the shardings that Alpa's solver gives them on a mesh of two axes
// (alpa-projects/alpa, playground/auto_sharding_solver), to compare with its published costs.

#include <optional>

#include "plans/choice/shardings.h"

namespace lemma::choice {

struct AlpaOptions {
  MeshSizes mesh;
  CollectivePrice price;
  ReshardingPrice resharding;
  /// Results of products that have a dimension of the batch shard it along this axis. It is dimension 0 of the first node.
  std::optional<std::size_t> batch_axis;
};

class AlpaProblem {
 public:
  explicit AlpaProblem(AlpaOptions options)
      : options_(std::move(options)), tensors_(options_.mesh, options_.resharding) {}

  /// A weight or an input: one of its dimensions is sharded along one axis, or none.
  NodeNumber parameter(const Tensor& tensor);
  /// A product of matrices, which is summed over these dimensions of its operands. The axes shard two of: rows, columns, and
  /// what is summed over; then its result is completed at once.
  NodeNumber product(NodeNumber left, NodeNumber right, std::uint32_t left_summed,
                     std::uint32_t right_summed);
  /// All operands are where the one is that is the farthest from inputs.
  NodeNumber elementwise(const std::vector<NodeNumber>& operands);
  /// A vector as the last dimension of a matrix with so many rows; it stays where it is.
  NodeNumber broadcast_rows(NodeNumber vector, std::int64_t rows);
  /// The sum over the rows of a matrix, completed at once; the matrix stays where it is.
  NodeNumber sum_of_rows(NodeNumber matrix);
  /// A new weight goes to where the old one is.
  void bring(NodeNumber from, NodeNumber to) { tensors_.bring(from, to); }

  TensorProblem& tensors() { return tensors_; }

 private:
  NodeNumber added(const Tensor& tensor, const std::vector<NodeNumber>& operands,
                   std::vector<Sharding> shardings, std::optional<std::size_t> follows);

  AlpaOptions options_;
  TensorProblem tensors_;
  std::vector<std::size_t> depths_;
  std::vector<std::optional<std::uint32_t>> batch_dimensions_;
};

}  // namespace lemma::choice
