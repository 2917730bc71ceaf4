#include "operators/reshaping.h"

namespace lemma::operators {
namespace {

/// Axes from.begin .. from.end - 1 hold the same elements as axes to.begin .. to.end - 1.
struct Run {
  std::size_t from_begin = 0, from_end = 0, to_begin = 0, to_end = 0;
};

/// The products of the first 0, 1, 2, ... sizes from `begin` on.
std::vector<Dimension> prefix_products(const Shape& shape, std::size_t begin) {
  std::vector<Dimension> products = {Dimension(1)};
  for (std::size_t i = begin; i < shape.size(); ++i) products.push_back(products.back() * shape[i]);
  return products;
}

/// The shortest run from the given axes on; all the rest where none is seen.
Run next_run(const Shape& from, const Shape& to, std::size_t i, std::size_t j) {
  const auto left = prefix_products(from, i), right = prefix_products(to, j);
  for (std::size_t length = 1; length < left.size() + right.size() - 1; ++length)
    for (std::size_t a = 0; a <= length && a < left.size(); ++a) {
      const std::size_t b = length - a;
      if (b < right.size() && left[a] == right[b]) return {i, i + a, j, j + b};
    }
  return {i, from.size(), j, to.size()};
}

void append_run(DefinitionBuilder& d, const Shape& from, const Shape& to, const Run& run,
                const std::vector<Expression>& axes, std::vector<Expression>& indices) {
  Expression position = d.integer(0);
  for (std::size_t i = run.to_begin; i < run.to_end; ++i)
    if (!to[i].is(1)) position = position * to[i] + axes[i];
  for (std::size_t i = run.from_begin; i < run.from_end; ++i) {
    Dimension stride = 1;
    for (std::size_t k = i + 1; k < run.from_end; ++k) stride = stride * from[k];
    const Expression quotient = d.floor_div(position, stride);
    // The outermost quotient is below its size as it is.
    indices.push_back(i == run.from_begin ? quotient : d.floor_mod(quotient, from[i]));
  }
}

}  // namespace

std::vector<Expression> reshaped_indices(DefinitionBuilder& builder, const Shape& from,
                                         const Shape& to, const std::vector<Expression>& axes) {
  std::vector<Expression> indices;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const Run run = next_run(from, to, i, j);
    append_run(builder, from, to, run, axes, indices);
    i = run.from_end;
    j = run.to_end;
  }
  return indices;
}

}  // namespace lemma::operators
