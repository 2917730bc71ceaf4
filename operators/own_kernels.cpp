// Kernels that stand in task programs in place of derived loops (ir/kernel_override.h): operators whose definition says each
// element for itself, where several elements together take less.

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include <fmt/format.h>

#include "ir/kernel_override.h"

namespace lemma {

namespace {

// ---- MaxPool for rtask-cpu ------------------------------------------------------------------------
//
// The maximum over a window is that over its rows of maxima over its columns: with windows of h * w positions, h steps and
// log2(w) for each element in place of h * w. A row of maxima over columns doubles the width of its windows in each step.

/// Windows of two axes that advance by 1, of a plane with padding.
struct PlaneWindows {
  std::int64_t planes, height, width, window_height, window_width;
  std::int64_t top, left, bottom, right;  // the padding

  std::int64_t padded_width() const { return left + width + right; }
  std::int64_t result_height() const { return top + height + bottom - window_height + 1; }
  std::int64_t result_width() const { return padded_width() - window_width + 1; }
  int doublings() const { return std::bit_width(static_cast<std::uint64_t>(window_width - 1)); }
};

std::int64_t size(const Instance& in, std::size_t axis) { return in.shape(0)[axis].offset(); }

PlaneWindows windows_of(const Instance& in) {
  const auto of = [&in](const char* name, std::size_t i) {
    return in.attributes.dimensions(name)[i].offset();
  };
  return {size(in, 0) * size(in, 1),
          size(in, 2),
          size(in, 3),
          of("kernel_shape", 0),
          of("kernel_shape", 1),
          of("pads", 0),
          of("pads", 1),
          of("pads", 2),
          of("pads", 3)};
}

bool are_all(const Shape& sizes, std::int64_t value) {
  return std::ranges::all_of(sizes, [value](const Dimension& size) { return size.is(value); });
}

bool are_at_least(const Shape& sizes, std::int64_t least) {
  return std::ranges::all_of(sizes, [least](const Dimension& size) {
    return size.is_constant() && size.offset() >= least;
  });
}

/// Windows of at least 25 positions, of which derived loops take each. With 3 x 3 those were measured as faster
/// (bench/results/own-kernels.json).
bool is_large(const Shape& window) {
  return are_at_least(window, 3) && window[0].offset() * window[1].offset() >= 25;
}

bool max_pool_applies(const Instance& in) {
  return (in.type(0) == DataType::f32 || in.type(0) == DataType::f64) && in.rank(0) == 4 &&
         in.attributes.integer("ceil_mode") == 0 &&
         are_all(in.attributes.dimensions("strides"), 1) &&
         are_all(in.attributes.dimensions("dilations"), 1) &&
         is_large(in.attributes.dimensions("kernel_shape")) &&
         are_at_least(in.attributes.dimensions("pads"), 0);
}

std::string max_pool_source(const Instance& in) {
  const PlaneWindows w = windows_of(in);
  std::string text = fmt::format(
      "using T = {};\n"
      "constexpr std::int64_t height = {}, width = {}, padded_width = {};\n"
      "constexpr std::int64_t result_height = {}, result_width = {};\n"
      "constexpr std::int64_t window_height = {}, window_width = {}, top = {}, left = {};\n",
      in.type(0) == DataType::f64 ? "double" : "float", w.height, w.width, w.padded_width(),
      w.result_height(), w.result_width(), w.window_height, w.window_width, w.top, w.left);
  return text + R"(T* const row = reinterpret_cast<T*>(scratch);
for (std::int64_t plane = first_row; plane < end_row; ++plane) {
  const T* const elements = x0 + plane * height * width;
  T* result = y + plane * result_height * result_width;
  for (std::int64_t i = 0; i < result_height; ++i, result += result_width) {
    for (std::int64_t j = 0; j < padded_width; ++j) row[j] = -std::numeric_limits<T>::infinity();
    for (std::int64_t k = 0; k < window_height; ++k) {
      const std::int64_t position = i + k - top;
      if (position < 0 || position >= height) continue;
      const T* const line = elements + position * width;
      for (std::int64_t j = 0; j < width; ++j) row[left + j] = Maximum::apply(row[left + j], line[j]);
    }
    std::int64_t covered = 1;
    for (; 2 * covered <= window_width; covered *= 2)
      for (std::int64_t j = 0; j < padded_width - covered; ++j)
        row[j] = Maximum::apply(row[j], row[j + covered]);
    for (std::int64_t j = 0; j < result_width; ++j)
      result[j] = Maximum::apply(row[j], row[j + window_width - covered]);
  }
}
)";
}

double max_pool_operations(const Instance& in) {
  const PlaneWindows w = windows_of(in);
  return static_cast<double>(w.planes * w.result_height() * w.padded_width()) *
         static_cast<double>(w.window_height + w.doublings());
}

std::int64_t max_pool_rows(const Instance& in) { return windows_of(in).planes; }

std::size_t max_pool_scratch(const Instance& in) {
  return static_cast<std::size_t>(windows_of(in).padded_width()) * byte_size(in.type(0));
}

constexpr std::array max_pool_examples = {
    OperatorExample{.operands = "f32[N, 3, 13, M]",
                    .attributes = "kernel_shape=[5, 5]; pads=[2, 2, 2, 2]"},
    OperatorExample{.operands = "f32[2, N, M, 19]",
                    .attributes = "kernel_shape=[3, 9]; pads=[1, 0, 2, 3]"},
    OperatorExample{.operands = "f64[N, 1, 9, 20]",
                    .attributes = "kernel_shape=[9, 8]; pads=[0, 5, 4, 0]"},
    OperatorExample{.operands = "f32[1, N, 26, 26]",
                    .attributes = "kernel_shape=[13, 13]; pads=[6, 6, 6, 6]"},
};

constexpr std::array kernels = {
    KernelOverride{.op = "MaxPool",
                   .target = "rtask-cpu",
                   .applies = max_pool_applies,
                   .source = max_pool_source,
                   .operations = max_pool_operations,
                   .rows = max_pool_rows,
                   .scratch_bytes = max_pool_scratch,
                   .examples = max_pool_examples},
};

}  // namespace

std::span<const KernelOverride> own_overrides() { return kernels; }

}  // namespace lemma
