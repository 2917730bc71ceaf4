#pragma once
// What collectives take, in closed form: steps, bytes and seconds of known algorithms, and the best of them.
//
// `bytes` is always what the whole tensor has: the operand of each device for all_reduce, reduce_scatter and broadcast, the
// result for all_gather, and the sum of all devices' equal parts for all_to_all and permute.

#include <cstdint>
#include <optional>
#include <string_view>

#include "plans/clusters/measured.h"

namespace lemma::clusters {

struct Axis;

enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  permute,  // each device sends its part to one other
};
inline constexpr int collective_count = 6;
std::string_view name(Collective collective);
/// The collective with this name: nothing if there is none.
std::optional<Collective> collective_with_name(std::string_view text);

enum class Algorithm : std::uint8_t {
  naive,             // a message for each pair that has to talk
  parameter_server,  // one device gets everything and sends the results; its link carries all messages
  ring,              // messages to the neighbour only
  tree,              // a binomial tree up, and down
  recursive_doubling,  // partners at distances 1, 2, 4, ...: the butterfly, and Bruck's algorithms
  halving_doubling,    // halves of what is left are exchanged, and gathered by doubling
};
inline constexpr int algorithm_count = 6;
std::string_view name(Algorithm algorithm);

/// What a message takes: latency + bytes * seconds_per_byte; and what adding two numbers takes, for each byte.
struct Wire {
  double latency_seconds = 0;
  double seconds_per_byte = 0;
  double reduce_seconds_per_byte = 0;
  /// What was measured, which comes before all of this; null: nothing.
  const MeasuredTimes* measured = nullptr;
};
Wire wire_of(const Axis& axis);

/// What a collective takes in some way: latency + bytes / bytes_per_second.
struct CollectiveTime {
  double latency_seconds = 0;
  double bytes_per_second = 0;
  double seconds(double bytes) const { return latency_seconds + bytes / bytes_per_second; }
  bool operator==(const CollectiveTime&) const = default;
};

/// Of one algorithm. What follows one another: in each step, what the busiest device sends or receives.
struct CollectiveCost {
  int steps = 0;            // messages after one another, each with a latency
  double path_bytes = 0;    // that follow one another
  double path_reduced = 0;  // bytes that are added after one another
  double total_bytes = 0;   // sent by all devices
  double seconds(const Wire& wire) const;
};

/// Nothing where the algorithm does not do this collective. One device has nothing to do.
std::optional<CollectiveCost> cost_of(Collective collective, Algorithm algorithm, double bytes,
                                      std::size_t participants);

struct BestAlgorithm {
  Algorithm algorithm = Algorithm::naive;
  CollectiveCost cost;
  double seconds = 0;
};
/// The one that takes the least time; of equal ones the first. Where the collective was measured on so many devices, `seconds` are
/// those.
BestAlgorithm best_algorithm(Collective collective, double bytes, std::size_t participants,
                             const Wire& wire);

/// The formulas of Alpa's solver, which have no unit: whole numbers, with an amount for each collective that makes all
/// else being equal the lesser collective cheaper. Alpa has none for broadcast and permute; they cost as reduce_scatter.
double alpa_cost(Collective collective, double bytes, std::size_t participants, double alpha,
                 double beta);

}  // namespace lemma::clusters
