#include "plans/calibration/rank_timer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

namespace lemma::plans {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double seconds_of_all = 0.08;  // that the repeats of one measurement take, about
constexpr double seconds_in_a_row =
    4e-4;  // so much is done without a pause, so that waking up counts little
constexpr double fewest_repeats = 7, most_repeats = 41, most_in_a_row = 32;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

RankTimer::RankTimer(Communicator& base, double limit_seconds)
    : base_(base),
      all_(base.size()),
      end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(limit_seconds))) {
  std::iota(all_.begin(), all_.end(), 0U);
}

Result<double> RankTimer::largest(double own) {
  std::vector<double> values(all_.size());
  LEMMA_RETURN_IF_ERROR(base_.all_gather(all_, std::as_bytes(std::span(&own, 1)),
                                         std::as_writable_bytes(std::span(values))));
  return *std::max_element(values.begin(), values.end());
}

Result<bool> RankTimer::is_over() {
  const bool is_first = base_.rank() == 0;
  LEMMA_ASSIGN_OR_RETURN(const double over, largest(is_first && Clock::now() >= end_ ? 1 : 0));
  return over > 0;
}

Result<double> RankTimer::seconds(const std::function<Result<void>()>& act) {
  const Result<void> first = act();  // code, memory and connections are there from now on
  LEMMA_ASSIGN_OR_RETURN(const double failed, largest(first ? 0 : 1));
  if (failed > 0)
    return first ? unsupported("it fails on another rank") : tl::unexpected<Error>(first.error());
  const auto begin = Clock::now();
  LEMMA_RETURN_IF_ERROR(act());
  LEMMA_ASSIGN_OR_RETURN(const double estimate, largest(seconds_since(begin)));
  const double in_a_row = std::clamp(std::ceil(seconds_in_a_row / estimate), 1.0, most_in_a_row);
  const double repeats =
      std::clamp(seconds_of_all / (estimate * in_a_row), fewest_repeats, most_repeats);
  std::vector<double> times(static_cast<std::size_t>(repeats));
  for (double& time : times) {
    LEMMA_RETURN_IF_ERROR(meet(base_));
    const auto start = Clock::now();
    for (double done = 0; done < in_a_row; ++done) LEMMA_RETURN_IF_ERROR(act());
    time = seconds_since(start) / in_a_row;
  }
  std::vector<double> all(times.size() * all_.size());
  LEMMA_RETURN_IF_ERROR(base_.all_gather(all_, std::as_bytes(std::span(times)),
                                         std::as_writable_bytes(std::span(all))));
  for (std::size_t at = 0; at < all.size(); ++at)
    times[at % times.size()] = std::max(times[at % times.size()], all[at]);
  const auto middle = times.begin() + static_cast<long>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return std::max(*middle, 1e-9);
}

}  // namespace lemma::plans
