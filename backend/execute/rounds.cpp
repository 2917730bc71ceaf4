#include "backend/execute/rounds.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "system/clock.h"

namespace lemma::backend {

namespace {

double seconds_now(bool one_thread) {
  if (one_thread) return thread_processor_seconds();
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Result<double> seconds_of_block(const std::function<Result<void>()>& run, int count,
                                bool one_thread) {
  const double begin = seconds_now(one_thread);
  for (int i = 0; i < count; ++i) LEMMA_RETURN_IF_ERROR(run());
  return (seconds_now(one_thread) - begin) / count;
}

/// The number of runs that fill a block.
Result<int> runs_in_block(const std::function<Result<void>()>& run, const RoundOptions& options) {
  constexpr double most = 1e5;
  int count = 1;
  while (true) {
    LEMMA_ASSIGN_OR_RETURN(const double once, seconds_of_block(run, count, options.one_thread));
    const double wanted = options.block_seconds / std::max(once, 1e-9);
    // A few runs alone are mostly the time that the first of them takes.
    if (wanted <= 2.0 * count || count > most)
      return static_cast<int>(std::clamp(std::ceil(wanted), 1.0, most));
    count *= 8;
  }
}

}  // namespace

Result<std::vector<std::vector<double>>> time_in_rounds(
    const std::vector<std::function<Result<void>()>>& runs, const RoundOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<int> counts;
  for (const auto& run : runs) {
    LEMMA_ASSIGN_OR_RETURN(const int count, runs_in_block(run, options));
    counts.push_back(count);
  }
  std::vector<std::vector<double>> result(runs.size());
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);  // NOLINT: the same orders each time
  for (int round = 0; round < options.rounds; ++round) {
    const double taken =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (options.hard_limit_seconds > 0 && taken > options.hard_limit_seconds) break;
    if (taken > options.seconds && round >= options.least_rounds) break;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
      LEMMA_ASSIGN_OR_RETURN(const double seconds,
                             seconds_of_block(runs[i], counts[i], options.one_thread));
      result[i].push_back(seconds);
    }
  }
  return result;
}

}  // namespace lemma::backend
