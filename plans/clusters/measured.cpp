#include "plans/clusters/measured.h"

#include <algorithm>
#include <limits>

#include "plans/clusters/collectives.h"

namespace lemma::clusters {

std::vector<std::string_view> measured_names() {
  std::vector<std::string_view> names;
  for (int number = 0; number < collective_count; ++number)
    names.push_back(name(static_cast<Collective>(number)));
  names.push_back(message_name);
  names.push_back(own_part_name);
  return names;
}

void MeasuredTimes::add(std::string what, std::size_t ranks, std::vector<MeasuredTime> times) {
  times_.insert_or_assign({std::move(what), ranks}, std::move(times));
}

std::optional<double> MeasuredTimes::seconds(std::string_view what, double bytes,
                                             std::size_t ranks) const {
  const auto known = times_.find({std::string(what), ranks});
  if (known == times_.end()) return std::nullopt;
  const std::vector<MeasuredTime>& times = known->second;
  if (bytes <= times.front().bytes) return times.front().seconds;
  if (bytes >= times.back().bytes) return times.back().seconds * (bytes / times.back().bytes);
  const auto above =
      std::upper_bound(times.begin(), times.end(), bytes,
                       [](double value, const MeasuredTime& time) { return value < time.bytes; });
  const auto below = above - 1;
  const double share = (bytes - below->bytes) / (above->bytes - below->bytes);
  return below->seconds + share * (above->seconds - below->seconds);
}

LinkFit fitted_link(const std::vector<MeasuredTime>& times) {
  // Weighted least squares with the weights 1/t^2: sums of 1, x, x^2, t and x t over t^2.
  double w = 0, wx = 0, wxx = 0, wt = 0, wxt = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const MeasuredTime& time : times) {
    const double weight = 1 / (time.seconds * time.seconds);
    w += weight, wx += weight * time.bytes, wxx += weight * time.bytes * time.bytes;
    wt += weight * time.seconds, wxt += weight * time.bytes * time.seconds;
    least = std::min(least, time.seconds);
  }
  const double least_latency = least / 1000;
  const double determinant = w * wxx - wx * wx;
  double latency = determinant > 0 ? (wxx * wt - wx * wxt) / determinant : least_latency;
  latency = std::clamp(latency, least_latency, least);
  // The best slope for this latency. It is above 0: no latency is above any of the times.
  const double slope = std::max((wxt - latency * wx) / wxx, std::numeric_limits<double>::min());
  return {latency, 1 / slope};
}

}  // namespace lemma::clusters
