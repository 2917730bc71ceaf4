#include "plans/choice/alpa.h"

#include <algorithm>

namespace lemma::choice {

NodeNumber AlpaProblem::added(const Tensor& tensor, const std::vector<NodeNumber>& operands,
                              std::vector<Sharding> shardings, std::optional<std::size_t> follows) {
  std::size_t depth = 0;
  for (const NodeNumber operand : operands) depth = std::max(depth, depths_[operand] + 1);
  depths_.push_back(depth);
  if (batch_dimensions_.size() < depths_.size()) batch_dimensions_.emplace_back();
  return tensors_.add(tensor, operands, std::move(shardings), follows);
}

NodeNumber AlpaProblem::parameter(const Tensor& tensor) {
  const std::size_t axes = options_.mesh.size();
  std::vector<Sharding> shardings;
  for (std::uint32_t dimension = 0; dimension < tensor.sizes.size(); ++dimension)
    for (std::size_t axis = 0; axis < axes; ++axis) {
      Placement placement(axes, replicated);
      placement[axis] = sharded(dimension);
      shardings.push_back({{}, std::move(placement), 0});
    }
  shardings.push_back({{}, Placement(axes, replicated), 0});
  if (depths_.empty()) batch_dimensions_.emplace_back(0);
  return added(tensor, {}, std::move(shardings), std::nullopt);
}

NodeNumber AlpaProblem::product(NodeNumber left, NodeNumber right, std::uint32_t left_summed,
                                std::uint32_t right_summed) {
  constexpr std::uint32_t row = 0, column = 1, summed = 2;
  IndexedOperator op{{{row, row}, {column, column}}, {row, column}};
  op.operands[0][left_summed] = summed;
  op.operands[1][right_summed] = summed;
  const Tensor tensor{{tensors_.tensor(left).sizes[1 - left_summed],
                       tensors_.tensor(right).sizes[1 - right_summed]},
                      tensors_.tensor(left).element_bytes};
  batch_dimensions_.emplace_back();
  if (batch_dimensions_[left] == 1 - left_summed) batch_dimensions_.back() = 0;
  if (batch_dimensions_[right] == 1 - right_summed) batch_dimensions_.back() = 1;
  std::vector<Sharding> shardings;
  for (std::uint32_t first = 0; first < 3; ++first)
    for (std::uint32_t second = 0; second < 3; ++second) {
      if (first == second) continue;
      // An axis of one device cuts nothing, also not what is summed over.
      std::vector<std::optional<std::uint32_t>> index_of_axis = {first, second};
      for (std::size_t axis = 0; axis < 2; ++axis)
        if (options_.mesh[axis] == 1) index_of_axis[axis].reset();
      Sharding sharding = sharding_by_indices(op, index_of_axis);
      complete_result(sharding, tensor, options_.mesh, options_.price);
      const auto batch = batch_dimensions_.back();
      if (options_.batch_axis && batch && sharding.result[*options_.batch_axis] != sharded(*batch))
        continue;
      shardings.push_back(std::move(sharding));
    }
  return added(tensor, {left, right}, std::move(shardings), std::nullopt);
}

NodeNumber AlpaProblem::elementwise(const std::vector<NodeNumber>& operands) {
  std::size_t follows = 0;
  batch_dimensions_.emplace_back();
  for (std::size_t at = 0; at < operands.size(); ++at) {
    if (depths_[operands[at]] > depths_[operands[follows]]) follows = at;
    if (batch_dimensions_[operands[at]]) batch_dimensions_.back() = batch_dimensions_[operands[at]];
  }
  std::vector<Sharding> shardings;
  for (const Sharding& followed : tensors_.shardings(operands[follows]))
    shardings.push_back(
        {std::vector<Placement>(operands.size(), followed.result), followed.result, 0});
  return added(tensors_.tensor(operands[follows]), operands, std::move(shardings), follows);
}

NodeNumber AlpaProblem::broadcast_rows(NodeNumber vector, std::int64_t rows) {
  std::vector<Sharding> shardings;
  for (const Sharding& followed : tensors_.shardings(vector)) {
    Sharding sharding{{followed.result}, followed.result, 0};
    for (Share& place : sharding.result)
      if (place.sharing == Sharing::parted) place = sharded(1);
    shardings.push_back(std::move(sharding));
  }
  const Tensor& tensor = tensors_.tensor(vector);
  return added({{rows, tensor.sizes[0]}, tensor.element_bytes}, {vector}, std::move(shardings), 0);
}

NodeNumber AlpaProblem::sum_of_rows(NodeNumber matrix) {
  const Tensor sum{{tensors_.tensor(matrix).sizes[1]}, tensors_.tensor(matrix).element_bytes};
  std::vector<Sharding> shardings;
  for (const Sharding& followed : tensors_.shardings(matrix)) {
    Sharding sharding{{followed.result}, followed.result, 0};
    for (Share& place : sharding.result)
      if (place.sharing == Sharing::parted) place = place.axis == 0 ? partial : sharded(0);
    complete_result(sharding, sum, options_.mesh, options_.price);
    shardings.push_back(std::move(sharding));
  }
  return added(sum, {matrix}, std::move(shardings), 0);
}

}  // namespace lemma::choice
