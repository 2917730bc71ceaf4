#pragma once
// Random definitions that use every kind of expression the evaluators treat specially: linear,
// divided and gathered indices, guards, nested reductions, shared subexpressions.

#include <string>
#include <vector>

#include "interpreter/random.h"
#include "interpreter/tensor.h"
#include "ir/definition.h"

namespace lemma::interpreter {

class RandomDefinition {
 public:
  explicit RandomDefinition(std::uint64_t seed) : seed_(seed) {
    for (int i = 0; i < 2; ++i) add_input(DataType::f32);
    add_input(DataType::i64);
    add_input(DataType::i32);
  }

  const std::vector<Tensor>& inputs() const { return inputs_; }

  Definition make() {
    DefinitionBuilder d;
    Shape sizes;
    const std::int64_t rank = below(4);
    for (std::int64_t axis = 0; axis < rank; ++axis)
      sizes.emplace_back(below(8) == 0 ? 100 + below(300) : 1 + below(9));
    const std::vector<Expression> axes = d.variables(sizes);
    scope_ = axes;
    axes_ = element_count(sizes).offset();
    budget_ = 40;
    const Expression value = below(4) == 0 ? integer(d, 4) : real(d, 4);
    d.output(axes, value);
    return std::move(d).finish();
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_word(seed_, 0, counter_++) %
                                     static_cast<std::uint64_t>(bound));
  }

  void add_input(DataType type) {
    Sizes sizes;
    const std::int64_t rank = 1 + below(3);
    for (std::int64_t axis = 0; axis < rank; ++axis) sizes.push_back(1 + below(7));
    RandomRange range;
    range.low = -4;
    range.high = 4;
    range.integer_low = -3;
    range.integer_high = 9;
    inputs_.push_back(random_tensor(type, sizes, seed_, 100 + inputs_.size(), range));
  }

  /// An index for an axis of the given size: mostly inside.
  Expression index(DefinitionBuilder& d, std::int64_t size, int depth) {
    Expression i = integer(d, depth);
    switch (below(4)) {
      case 0: return d.floor_mod(i, size);
      case 1: return minimum(maximum(i, d.integer(0)), d.integer(size - 1));
      case 2: {  // some variable that fits, if there is one
        for (const Expression& v : scope_)
          if (below(2) == 0) return d.floor_mod(v + below(3), size);
        return d.integer(below(size));
      }
      default: return i - below(3);
    }
  }

  Expression read(DefinitionBuilder& d, std::uint32_t input, int depth) {
    const Tensor& tensor = inputs_[input];
    std::vector<Expression> indices;
    Expression guard = d.integer(1, DataType::boolean);
    for (const std::int64_t size : tensor.sizes()) {
      indices.push_back(index(d, size, depth - 1));
      guard = guard && d.in_range(indices.back(), size);
    }
    const Expression element = d.read(input, tensor.data_type(), indices);
    if (below(12) == 0) return element;  // perhaps undefined
    return d.select(guard, element, d.constant(below(3) - 1.0, tensor.data_type()));
  }

  Expression condition(DefinitionBuilder& d, int depth) {
    switch (below(5)) {
      case 0: return integer(d, depth - 1) < integer(d, depth - 1);
      case 1: return integer(d, depth - 1) <= integer(d, depth - 1);
      case 2: return integer(d, depth - 1) == integer(d, depth - 1);
      case 3: return condition_or_real(d, depth) && condition_or_real(d, depth);
      default: return !(real(d, depth - 1) < real(d, depth - 1));
    }
  }
  Expression condition_or_real(DefinitionBuilder& d, int depth) {
    if (depth <= 1) return integer(d, 0) < integer(d, 0);
    return condition(d, depth - 1);
  }

  template <typename Make>
  Expression reduction(DefinitionBuilder& d, Make make) {
    static constexpr ExpressionKind kinds[] = {ExpressionKind::sum, ExpressionKind::product,
                                               ExpressionKind::minimum_over,
                                               ExpressionKind::maximum_over};
    std::vector<Expression> bound;
    for (std::int64_t i = 0; i < 1 + below(2); ++i)
      bound.push_back(d.variable(axes_ <= 20 && below(12) == 0 ? 40 + below(600) : below(5)));
    scope_.insert(scope_.end(), bound.begin(), bound.end());
    const Expression body = make();
    scope_.resize(scope_.size() - bound.size());
    const ExpressionKind kind = kinds[below(4)];
    return d.reduce(kind, bound, body);
  }

  Expression integer(DefinitionBuilder& d, int depth) {
    --budget_;
    if (depth <= 0 || budget_ < 0)
      return scope_.empty() || below(3) == 0 ? d.integer(below(9) - 3)
                                             : scope_[static_cast<std::size_t>(below(
                                                   static_cast<std::int64_t>(scope_.size())))];
    switch (below(10)) {
      case 0:
      case 1: return integer(d, depth - 1) + integer(d, depth - 1);
      case 2: return integer(d, depth - 1) - integer(d, depth - 1);
      case 3: return integer(d, depth - 1) * d.integer(below(7) - 3);
      case 4: return d.floor_div(integer(d, depth - 1), 1 + below(6));
      case 5: return d.floor_mod(integer(d, depth - 1), 1 + below(6));
      case 6: return read(d, 2, depth - 1);
      case 7: return d.cast(read(d, 3, depth - 1), DataType::i64);
      case 8:
        return d.select(condition(d, depth - 1), integer(d, depth - 1), integer(d, depth - 1));
      default:
        if (depth < 3) return minimum(integer(d, depth - 1), integer(d, depth - 1));
        return reduction(d, [&] { return integer(d, depth - 2); });
    }
  }

  Expression real(DefinitionBuilder& d, int depth) {
    --budget_;
    if (depth <= 0 || budget_ < 0)
      return d.real(0.5 * static_cast<double>(below(9)) - 2, DataType::f32);
    switch (below(9)) {
      case 0: return real(d, depth - 1) + real(d, depth - 1);
      case 1: return real(d, depth - 1) * real(d, depth - 1);
      case 2: return maximum(real(d, depth - 1), real(d, depth - 1));
      case 3: return d.select(condition(d, depth - 1), real(d, depth - 1), real(d, depth - 1));
      case 4: return d.cast(integer(d, depth - 1), DataType::f32);
      case 5: return reduction(d, [&] { return real(d, depth - 1); });
      case 6: return d.apply(ScalarFunction::absolute, real(d, depth - 1));
      default: return read(d, static_cast<std::uint32_t>(below(2)), depth - 1);
    }
  }

  std::uint64_t seed_;
  std::uint64_t counter_ = 0;
  std::vector<Tensor> inputs_;
  std::vector<Expression> scope_;
  int budget_ = 0;
  std::int64_t axes_ = 1;  // elements of the output
};

}  // namespace lemma::interpreter
