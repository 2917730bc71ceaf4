#include "plans/networks/matching.h"

#include <algorithm>
#include <limits>

namespace lemma::networks {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Costs with the diagonal out of reach of all that is better.
std::vector<double> costs_of(const std::vector<double>& weights, std::size_t size) {
  double most = 0, least = 0;
  for (const double weight : weights) {
    most = std::max(most, weight);
    least = std::min(least, weight);
  }
  std::vector<double> costs(size * size);
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = most - weights[i];
  const double forbidden = (most - least + 1) * static_cast<double>(size + 1);
  for (std::size_t i = 0; i < size; ++i) costs[i * size + i] = forbidden;
  return costs;
}

}  // namespace

std::vector<std::uint32_t> heaviest_assignment(const std::vector<double>& weights,
                                               std::size_t size) {
  const std::vector<double> costs = costs_of(weights, size);
  // Rows and columns count from 1; column 0 stands for the row that is being placed.
  std::vector<double> of_row(size + 1, 0), of_column(size + 1, 0);
  std::vector<std::size_t> row_of(size + 1, 0), before(size + 1, 0);
  for (std::size_t row = 1; row <= size; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<double> least(size + 1, infinity);
    std::vector<bool> is_done(size + 1, false);
    do {
      is_done[column] = true;
      double step = infinity;
      std::size_t next = 0;
      for (std::size_t j = 1; j <= size; ++j) {
        if (is_done[j]) continue;
        const std::size_t i = row_of[column];
        const double reduced = costs[(i - 1) * size + j - 1] - of_row[i] - of_column[j];
        if (reduced < least[j]) least[j] = reduced, before[j] = column;
        if (least[j] < step) step = least[j], next = j;
      }
      for (std::size_t j = 0; j <= size; ++j) {
        if (is_done[j])
          of_row[row_of[j]] += step, of_column[j] -= step;
        else
          least[j] -= step;
      }
      column = next;
    } while (row_of[column] != 0);
    for (; column != 0; column = before[column]) row_of[column] = row_of[before[column]];
  }
  std::vector<std::uint32_t> assigned(size, 0);
  for (std::size_t j = 1; j <= size; ++j)
    assigned[row_of[j] - 1] = static_cast<std::uint32_t>(j - 1);
  return assigned;
}

}  // namespace lemma::networks
