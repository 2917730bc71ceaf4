// sum_products of tiled_products.cuh against plain loops: tiles of several shapes, orders, widths, slices and stages, for
// numbers of rows, columns and terms that are no multiples of them. Elements are small whole numbers, so that sums are the
// same in every order, also where elements have two bytes. Exit code 0 if all agree, 1 if not, with a line for each that
// does not. Compiled with -include cuda_runtime.h of host_cuda/.

#include <cstdio>
#include <string>
#include <vector>

#include "host_cuda.h"
#include "tiled_products.cuh"

namespace {

constexpr unsigned threads = 64;

int left_value(int row, int term) { return (3 * row + 5 * term) % 7 - 3; }
int right_value(int column, int term) { return (2 * column + 3 * term) % 9 - 4; }

/// A factor as it is in memory, from some place on: by lines or by terms, both with space behind each row.
template <typename T, Order order>
struct Stored {
  Stored(int lines, int terms, int gap, int (*value)(int, int))
      : stride((order == Order::lines ? lines : terms) + gap),
        memory(static_cast<std::size_t>(stride) * (order == Order::lines ? terms : lines) + 16,
               T(-77.0F)) {
    begin = memory.data();
    while (reinterpret_cast<std::uintptr_t>(begin) % 16 != 0) ++begin;
    for (int line = 0; line < lines; ++line)
      for (int term = 0; term < terms; ++term)
        begin[line * line_step() + term * term_step()] = T(static_cast<float>(value(line, term)));
  }
  int line_step() const { return order == Order::lines ? 1 : stride; }
  int term_step() const { return order == Order::lines ? stride : 1; }
  int stride;
  std::vector<T> memory;
  T* begin;
};

bool all_agree = true;

void compare(const std::string& name, const std::vector<float>& found, int rows, int columns,
             int terms) {
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      int sum = 0;
      for (int term = 0; term < terms; ++term)
        sum += left_value(row, term) * right_value(column, term);
      const float one = found[static_cast<std::size_t>(row * columns + column)];
      if (one == static_cast<float>(sum)) continue;
      std::printf("%s, %d by %d by %d: row %d, column %d: %g, not %d\n", name.c_str(), rows,
                  columns, terms, row, column, one, sum);
      all_agree = false;
      return;
    }
}

/// The tensors of a call: their elements lie `width` at a time, or are computed.
template <typename Results, int stages, int left_width, int right_width, bool is_computed = false>
void check_size(const std::string& name, int rows, int columns, int terms, int gap) {
  using Left = typename Results::Left;
  using Right = typename Results::Right;
  const Stored<typename Left::Element, Left::order> left(rows, terms, gap, left_value);
  const Stored<typename Right::Element, Right::order> right(columns, terms, gap, right_value);
  std::vector<float> results(static_cast<std::size_t>(rows * columns), -1.0F);
  float* const y = results.data();
  host_cuda::launch(1, threads, product_bytes<Results, stages>(), [&] {
    const auto line_place = [](const auto& stored) {
      return [&](int line) { return line * stored.line_step(); };
    };
    const auto term_place = [](const auto& stored) {
      return [&](int term) { return term * stored.term_step(); };
    };
    const auto store = [&](int row, int column, float sum) { y[row * columns + column] = sum; };
    const auto multiply = [&](const auto& one, const auto& other) {
      sum_products<Results, stages, threads>({threadIdx.x, threads}, ptx::shared_memory(), one,
                                             other, rows, columns, terms, store);
    };
    const auto from_memory =
        tensor_factor<Right::order, right_width>(right.begin, line_place(right), term_place(right));
    if constexpr (is_computed)
      multiply(computed_factor(
                   [](int row, int term) { return static_cast<float>(left_value(row, term)); }),
               from_memory);
    else
      multiply(
          tensor_factor<Left::order, left_width>(left.begin, line_place(left), term_place(left)),
          from_memory);
  });
  compare(name, results, rows, columns, terms);
}

/// Sizes that are multiples of the widths, in memory that is aligned for them and in memory that is not.
template <typename Results, int stages, int left_width = 1, int right_width = 1>
void check(const std::string& name) {
  constexpr int most_width = left_width > right_width ? left_width : right_width;
  for (const int gap : {0, most_width})
    for (const int rows : {5, 64})
      for (const int columns : {4, 50})
        for (const int terms : {1, 70}) {
          const auto whole = [](int size) {
            return (size + most_width - 1) / most_width * most_width;
          };
          check_size<Results, stages, left_width, right_width>(name, whole(rows), whole(columns),
                                                               whole(terms), gap);
        }
}

template <Order left, Order right, int rows, int columns, int terms, typename T>
struct Of {
  using Left = FactorTile<T, left, rows, terms>;
  using Right = FactorTile<T, right, columns, terms>;
};
constexpr Order lines = Order::lines, by_terms = Order::terms;

template <Order left, Order right, int part_rows, int part_columns, int slices>
using Plain = ThreadTiles<typename Of<left, right, 16, 32, 16, float>::Left,
                          typename Of<left, right, 16, 32, 16, float>::Right, part_rows,
                          part_columns, slices>;
template <typename T, Order left, Order right, int part_rows, int part_columns, int slices>
using Matrix =
    MatrixTiles<typename Of<left, right, 32, 16, 32, T>::Left,
                typename Of<left, right, 32, 16, 32, T>::Right, part_rows, part_columns, slices>;

void check_threads() {
  check<Plain<by_terms, lines, 4, 8, 4>, 2>("threads 4x8, 4 slices");
  check<Plain<lines, by_terms, 4, 2, 1>, 2, 4, 2>("threads 4x2");
  check<Plain<lines, lines, 1, 8, 1>, 3, 2, 4>("threads 1x8, 3 stages");
  check<Plain<by_terms, by_terms, 8, 4, 2>, 2, 4, 4>("threads 8x4, 2 slices");
  check_size<Plain<lines, lines, 4, 8, 4>, 2, 1, 1, true>("computed", 21, 35, 19, 0);
}

template <typename T>
void check_matrices(const std::string& type) {
  constexpr int wide = 16 / sizeof(T);
  check<Matrix<T, by_terms, lines, 2, 2, 1>, 3, wide, wide>(type + " 2x2");
  check<Matrix<T, lines, by_terms, 1, 2, 1>, 2, wide, wide>(type + " 1x2, turned");
  check<Matrix<T, by_terms, by_terms, 2, 2, 2>, 3, 2, 1>(type + " 2x2, 2 slices");
  check<Matrix<T, lines, lines, 1, 2, 1>, 3>(type + " 1x2, one by one");
}

}  // namespace

int main() {
  check_threads();
  check_matrices<F16>("f16");
  check_matrices<BF16>("bf16");
  check_matrices<float>("tf32");
  return all_agree ? 0 : 1;
}
