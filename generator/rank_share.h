#pragma once
// Which of numbered pieces of work are those of a rank.

#include <cstddef>

namespace lemma::generator {

/// Pieces are dealt out in turn, so that neighbors, which take about as long as each other, are of different ranks.
struct RankShare {
  std::size_t rank = 0, size = 1;

  bool has(std::size_t number) const { return number % size == rank; }
  /// How many of so many pieces it has at most.
  std::size_t most_of(std::size_t count) const { return (count + size - 1) / size; }
  /// The number of a piece among those of its rank.
  std::size_t own_number(std::size_t number) const { return number / size; }
};

}  // namespace lemma::generator
