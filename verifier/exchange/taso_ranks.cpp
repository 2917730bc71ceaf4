#include "verifier/exchange/taso_ranks.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::exchange {
namespace {

/// Tensors of equal rank, and what is known of it. Every operator keeps the rank of its operands
/// (but for the factor of a scale, which is a number), so that a node stands for all its tensors.
class RankClasses {
 public:
  explicit RankClasses(std::size_t count) : parent_(count), rank_(count), matrix_(count, false) {
    for (std::size_t i = 0; i < count; ++i) parent_[i] = i;
  }

  std::size_t find(std::size_t node) const {
    while (parent_[node] != node) node = parent_[node];
    return node;
  }

  Result<void> join(std::size_t a, std::size_t b) {
    a = find(a), b = find(b);
    if (a == b) return {};
    if (rank_[a]) LEMMA_RETURN_IF_ERROR(fix(b, *rank_[a]));
    if (a > b) std::swap(a, b);
    if (rank_[b]) LEMMA_RETURN_IF_ERROR(fix(a, *rank_[b]));
    matrix_[a] = matrix_[a] || matrix_[b];
    parent_[b] = a;
    return {};
  }

  Result<void> fix(std::size_t node, std::size_t rank) {
    auto& known = rank_[find(node)];
    if (known && *known != rank)
      return bad_input(fmt::format("a tensor has both {} and {} axes", *known, rank));
    known = rank;
    return {};
  }

  void make_matrix(std::size_t node) { matrix_[find(node)] = true; }
  std::optional<std::size_t> rank(std::size_t node) const { return rank_[find(node)]; }
  bool is_matrix(std::size_t node) const { return matrix_[find(node)]; }

 private:
  std::vector<std::size_t> parent_;
  std::vector<std::optional<std::size_t>> rank_;
  std::vector<bool> matrix_;  // a factor of a matmul is among them
};

class RankInference {
 public:
  explicit RankInference(const TasoRule& rule) : rule_(rule), classes_(count_inputs()) {}

  Result<Ranks> run() {
    LEMMA_RETURN_IF_ERROR(add_side(rule_.source, order_.size()));
    const RankClasses left = classes_;
    LEMMA_RETURN_IF_ERROR(add_side(rule_.target, order_.size() + rule_.source.size()));
    for (const TasoOutput& output : rule_.outputs)
      LEMMA_RETURN_IF_ERROR(classes_.join(
          order_.size() + static_cast<std::size_t>(output.source.op),
          order_.size() + rule_.source.size() + static_cast<std::size_t>(output.target.op)));
    return written(left);
  }

 private:
  std::size_t count_inputs() {
    for (const auto* side : {&rule_.source, &rule_.target})
      for (const TasoOperator& op : *side)
        for (const TasoTensor& input : op.inputs)
          if (input.op < 0 && place_.emplace(input.op, order_.size()).second)
            order_.push_back(input.op);
    return order_.size() + rule_.source.size() + rule_.target.size();
  }

  Result<void> add_side(const std::vector<TasoOperator>& side, std::size_t first) {
    for (std::size_t i = 0; i < side.size(); ++i) {
      auto added = add_operator(side[i], first, first + i);
      if (!added) return with_context(fmt::format("operator {}", i), std::move(added.error()));
    }
    return {};
  }

  Result<void> add_operator(const TasoOperator& op, std::size_t first, std::size_t self) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const TasoTensor& input = op.inputs[i];
      const std::size_t node =
          input.op < 0 ? place_.at(input.op) : first + static_cast<std::size_t>(input.op);
      if (op.type == static_cast<std::int64_t>(TasoType::scale) && i == 1)
        LEMMA_RETURN_IF_ERROR(classes_.fix(node, 0));
      else
        LEMMA_RETURN_IF_ERROR(classes_.join(self, node));
    }
    switch (static_cast<TasoType>(op.type)) {
      case TasoType::conv2d:
      case TasoType::max_pool:
      case TasoType::average_pool:
      case TasoType::enlarge: return classes_.fix(self, 4);
      case TasoType::matmul: classes_.make_matrix(self); return {};
      case TasoType::concat:
      case TasoType::transpose: {
        const auto rank = parameter(op, TasoKey::rank);
        if (!rank || *rank < 1 || *rank > 8)
          return bad_input("the number of axes is missing or none of 1 to 8");
        return classes_.fix(self, static_cast<std::size_t>(*rank));
      }
      default: return {};
    }
  }

  Ranks written(const RankClasses& left) const {
    Ranks result;
    result.inputs = order_;
    std::map<std::size_t, std::string> names;  // of groups, by class of the left side
    for (std::size_t i = 0; i < order_.size(); ++i) {
      Ranks::Input input;
      const auto known = classes_.rank(i);
      input.axes = known ? *known : classes_.is_matrix(i) ? 2 : 0;
      if (!left.rank(i)) {
        const auto name = names.try_emplace(left.find(i), fmt::format("A{}", names.size() + 1));
        input.group = name.first->second;
        input.is_empty = known.has_value();
      }
      result.of.emplace(order_[i], std::move(input));
    }
    return result;
  }

  const TasoRule& rule_;
  std::vector<std::int64_t> order_;
  std::map<std::int64_t, std::size_t> place_;
  RankClasses classes_;
};

}  // namespace

std::optional<std::int64_t> parameter(const TasoOperator& op, TasoKey key) {
  for (const TasoParameter& given : op.parameters)
    if (given.key == static_cast<std::int64_t>(key)) return given.value;
  return std::nullopt;
}

Result<Ranks> infer_ranks(const TasoRule& rule) { return RankInference(rule).run(); }

}  // namespace lemma::exchange
