#pragma once
// What exchanges took that were measured on ranks (lemma plan calibrate), in place of what closed forms say of them.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lemma::clusters {

/// The names of what is measured besides the collectives (collectives.h, `name`): a message of two ranks, and the part that each
/// rank cuts out of what all have, for which nothing is sent.
inline constexpr std::string_view message_name = "message";
inline constexpr std::string_view own_part_name = "own-part";
/// The collectives, and these two.
std::vector<std::string_view> measured_names();

/// Bytes, as collectives.h counts them, and seconds.
struct MeasuredTime {
  double bytes = 0, seconds = 0;
};

class MeasuredTimes {
 public:
  /// `times`: at least one, with ascending bytes; all numbers above 0.
  void add(std::string what, std::size_t ranks, std::vector<MeasuredTime> times);
  bool empty() const { return times_.empty(); }
  const std::map<std::pair<std::string, std::size_t>, std::vector<MeasuredTime>>& all() const {
    return times_;
  }

  /// Between two sizes along the line through both; below the least size what that takes; above the largest in proportion to the
  /// bytes. Nothing: it was not measured on so many ranks.
  std::optional<double> seconds(std::string_view what, double bytes, std::size_t ranks) const;

 private:
  std::map<std::pair<std::string, std::size_t>, std::vector<MeasuredTime>> times_;
};

/// A latency and a bandwidth.
struct LinkFit {
  double latency_seconds = 0;
  double bytes_per_second = 0;
};

/// The line that is nearest to the times, in the squares of what it is off relative to each of them. Both results are above 0:
/// where the best line begins below 0, the best one of those through the least time divided by 1000.
LinkFit fitted_link(const std::vector<MeasuredTime>& times);

}  // namespace lemma::clusters
