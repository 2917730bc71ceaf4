#pragma once
// Definitions that several tests use, built by hand.

#include <vector>

#include "ir/definition.h"

namespace lemma::interpreter {

/// c[b, i, j] = sum(l: a[b, i, l] * b[l, j])
inline Definition product_definition(DataType type, std::int64_t batch, std::int64_t rows,
                                     std::int64_t columns, std::int64_t depth) {
  DefinitionBuilder d;
  const auto b = d.variable(batch), i = d.variable(rows), j = d.variable(columns);
  const auto l = d.variable(depth);
  d.output({b, i, j}, d.sum({l}, d.read(0, type, {b, i, l}) * d.read(1, type, {l, j})));
  return std::move(d).finish();
}

struct ConvolutionSizes {
  std::int64_t batch = 1, channels = 8, outputs = 8, height = 9, width = 11;
  std::int64_t kernel = 3, stride = 1, dilation = 1, pad = 1, groups = 1;
  bool bias = false;
  std::int64_t out(std::int64_t size) const {
    return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1;
  }
};

inline Definition convolution_definition(DataType type, const ConvolutionSizes& s) {
  DefinitionBuilder d;
  const auto axes = d.variables({s.batch, s.outputs, s.out(s.height), s.out(s.width)});
  const auto k = d.variables({s.channels / s.groups, s.kernel, s.kernel});
  const auto y = axes[2] * s.stride + k[1] * s.dilation - s.pad;
  const auto x = axes[3] * s.stride + k[2] * s.dilation - s.pad;
  const auto group = d.floor_div(axes[1], s.outputs / s.groups);
  const auto channel = group * (s.channels / s.groups) + k[0];
  const auto guard = d.in_range(y, s.height) && d.in_range(x, s.width);
  const auto term =
      d.read(0, type, {axes[0], channel, y, x}) * d.read(1, type, {axes[1], k[0], k[1], k[2]});
  auto value = d.sum(k, d.select(guard, term, d.constant(0, type)));
  if (s.bias) value = value + d.read(2, type, {axes[1]});
  d.output(axes, value);
  return std::move(d).finish();
}

inline std::vector<std::int64_t> data_sizes(const ConvolutionSizes& s) {
  return {s.batch, s.channels, s.height, s.width};
}
inline std::vector<std::int64_t> weight_sizes(const ConvolutionSizes& s) {
  return {s.outputs, s.channels / s.groups, s.kernel, s.kernel};
}

}  // namespace lemma::interpreter
