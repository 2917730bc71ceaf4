#include "plans/clusters/collectives.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "plans/clusters/cluster.h"

namespace lemma::clusters {

namespace {

/// Of p devices: the largest power of two, how many are left, and logarithms.
struct Powers {
  explicit Powers(std::size_t p)
      : floor_log(static_cast<int>(std::bit_width(p)) - 1),
        ceil_log(static_cast<int>(std::bit_width(p - 1))),
        power(std::size_t{1} << floor_log),
        rest(p - power) {}
  int floor_log, ceil_log;
  std::size_t power, rest;
};

/// Parts that a binomial tree of p devices moves when each has one: the parts below a device go through it.
double tree_parts(std::size_t p) {
  double parts = 0;
  for (std::size_t device = 1; device < p; ++device)
    parts += static_cast<double>(std::min(device & (~device + 1), p - device));
  return parts;
}

/// Parts that Bruck's exchange sends: in step k those whose number has bit k.
double bruck_parts(std::size_t p) {
  double parts = 0;
  for (std::size_t number = 1; number < p; ++number) parts += std::popcount(number);
  return parts;
}

std::optional<CollectiveCost> all_reduce(Algorithm algorithm, double n, std::size_t devices) {
  const auto p = static_cast<double>(devices);
  const Powers powers(devices);
  const auto q = static_cast<double>(powers.power), rest = static_cast<double>(powers.rest);
  // Devices beyond a power of two give what they have to a partner before, and get the result after.
  const double around = powers.rest > 0 ? 1 : 0;
  const int around_steps = powers.rest > 0 ? 2 : 0;
  switch (algorithm) {
    case Algorithm::naive:
      return CollectiveCost{static_cast<int>(devices) - 1, (p - 1) * n, (p - 1) * n,
                            p * (p - 1) * n};
    case Algorithm::parameter_server:
      return CollectiveCost{2, 2 * (p - 1) * n, (p - 1) * n, 2 * (p - 1) * n};
    case Algorithm::ring:
      return CollectiveCost{2 * (static_cast<int>(devices) - 1), 2 * (p - 1) / p * n,
                            (p - 1) / p * n, 2 * (p - 1) * n};
    case Algorithm::tree:
      return CollectiveCost{2 * powers.ceil_log, 2 * powers.ceil_log * n, powers.ceil_log * n,
                            2 * (p - 1) * n};
    case Algorithm::recursive_doubling:
      return CollectiveCost{powers.floor_log + around_steps, (powers.floor_log + 2 * around) * n,
                            (powers.floor_log + around) * n, (q * powers.floor_log + 2 * rest) * n};
    case Algorithm::halving_doubling:
      return CollectiveCost{2 * powers.floor_log + around_steps, (2 * (q - 1) / q + 2 * around) * n,
                            ((q - 1) / q + around) * n, 2 * (q - 1 + rest) * n};
  }
  return std::nullopt;
}

std::optional<CollectiveCost> all_gather(Algorithm algorithm, double n, std::size_t devices) {
  const auto p = static_cast<double>(devices);
  const int others = static_cast<int>(devices) - 1, depth = Powers(devices).ceil_log;
  switch (algorithm) {
    case Algorithm::naive:
    case Algorithm::ring: return CollectiveCost{others, (p - 1) / p * n, 0, (p - 1) * n};
    case Algorithm::parameter_server:  // it sends each what that does not have
      return CollectiveCost{2, (p - 1) * n, 0, (p - 1) * n};
    case Algorithm::tree:
      return CollectiveCost{2 * depth, ((p - 1) / p + depth) * n, 0,
                            (tree_parts(devices) / p + (p - 1)) * n};
    case Algorithm::recursive_doubling:
      return CollectiveCost{depth, (p - 1) / p * n, 0, (p - 1) * n};
    case Algorithm::halving_doubling: return std::nullopt;
  }
  return std::nullopt;
}

/// Halving: devices beyond a power of two give what they have to a partner, which ends with two parts and sends one back.
CollectiveCost scatter_by_halving(double n, std::size_t devices) {
  const Powers powers(devices);
  const auto p = static_cast<double>(devices);
  CollectiveCost cost;
  for (std::size_t half = powers.power / 2; half > 0; half /= 2) {
    // The first devices have two parts each, so that the first half is the heaviest.
    const double parts = static_cast<double>(half + std::min(half, powers.rest));
    ++cost.steps;
    cost.path_bytes += parts / p * n;
    cost.path_reduced += parts / p * n;
    cost.total_bytes += static_cast<double>(half) * n;
  }
  if (powers.rest == 0) return cost;
  cost.steps += 2;
  cost.path_bytes += n + n / p;
  cost.path_reduced += n;
  cost.total_bytes += static_cast<double>(powers.rest) * (n + n / p);
  return cost;
}

std::optional<CollectiveCost> reduce_scatter(Algorithm algorithm, double n, std::size_t devices) {
  const auto p = static_cast<double>(devices);
  const int others = static_cast<int>(devices) - 1, depth = Powers(devices).ceil_log;
  switch (algorithm) {
    case Algorithm::naive:
    case Algorithm::ring:
      return CollectiveCost{others, (p - 1) / p * n, (p - 1) / p * n, (p - 1) * n};
    case Algorithm::parameter_server:
      return CollectiveCost{2, (p - 1) * n + (p - 1) / p * n, (p - 1) * n,
                            (p - 1) * n + (p - 1) / p * n};
    case Algorithm::tree:
      return CollectiveCost{2 * depth, (depth + (p - 1) / p) * n, depth * n,
                            (p - 1 + tree_parts(devices) / p) * n};
    case Algorithm::recursive_doubling: return std::nullopt;
    case Algorithm::halving_doubling: return scatter_by_halving(n, devices);
  }
  return std::nullopt;
}

std::optional<CollectiveCost> all_to_all(Algorithm algorithm, double n, std::size_t devices) {
  const auto p = static_cast<double>(devices);
  const double part = n / p / p;  // from one device to another
  const int others = static_cast<int>(devices) - 1;
  switch (algorithm) {
    case Algorithm::naive: return CollectiveCost{others, (p - 1) * part, 0, p * (p - 1) * part};
    case Algorithm::parameter_server:
      return CollectiveCost{2, 2 * (p - 1) * (p - 1) * part, 0, 2 * (p - 1) * (p - 1) * part};
    case Algorithm::ring:  // all that is not yet there moves on by one device
      return CollectiveCost{others, p * (p - 1) / 2 * part, 0, p * p * (p - 1) / 2 * part};
    case Algorithm::recursive_doubling: {
      const double sent = bruck_parts(devices) * part;
      return CollectiveCost{Powers(devices).ceil_log, sent, 0, p * sent};
    }
    case Algorithm::tree:
    case Algorithm::halving_doubling: return std::nullopt;
  }
  return std::nullopt;
}

std::optional<CollectiveCost> broadcast(Algorithm algorithm, double n, std::size_t devices) {
  const auto p = static_cast<double>(devices);
  const int others = static_cast<int>(devices) - 1, depth = Powers(devices).ceil_log;
  switch (algorithm) {
    case Algorithm::naive: return CollectiveCost{others, (p - 1) * n, 0, (p - 1) * n};
    case Algorithm::parameter_server: return CollectiveCost{1, (p - 1) * n, 0, (p - 1) * n};
    case Algorithm::ring:  // p pieces follow one another along the chain
      return CollectiveCost{2 * others, 2 * (p - 1) / p * n, 0, (p - 1) * n};
    case Algorithm::tree: return CollectiveCost{depth, depth * n, 0, (p - 1) * n};
    case Algorithm::recursive_doubling: return std::nullopt;
    case Algorithm::halving_doubling:  // pieces down a tree, then gathered by doubling
      return CollectiveCost{2 * depth, 2 * (p - 1) / p * n, 0,
                            (tree_parts(devices) / p + (p - 1)) * n};
  }
  return std::nullopt;
}

}  // namespace

std::string_view name(Collective collective) {
  switch (collective) {
    case Collective::all_reduce: return "all-reduce";
    case Collective::all_gather: return "all-gather";
    case Collective::reduce_scatter: return "reduce-scatter";
    case Collective::all_to_all: return "all-to-all";
    case Collective::broadcast: return "broadcast";
    case Collective::permute: return "permute";
  }
  return "";
}

std::optional<Collective> collective_with_name(std::string_view text) {
  for (int number = 0; number < collective_count; ++number)
    if (name(static_cast<Collective>(number)) == text) return static_cast<Collective>(number);
  return std::nullopt;
}

std::string_view name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::naive: return "naive";
    case Algorithm::parameter_server: return "parameter server";
    case Algorithm::ring: return "ring";
    case Algorithm::tree: return "tree";
    case Algorithm::recursive_doubling: return "recursive doubling";
    case Algorithm::halving_doubling: return "halving and doubling";
  }
  return "";
}

Wire wire_of(const Axis& axis) {
  return {axis.latency_seconds, 1 / axis.bytes_per_second, 0, axis.measured.get()};
}

double CollectiveCost::seconds(const Wire& wire) const {
  return steps * wire.latency_seconds + path_bytes * wire.seconds_per_byte +
         path_reduced * wire.reduce_seconds_per_byte;
}

std::optional<CollectiveCost> cost_of(Collective collective, Algorithm algorithm, double bytes,
                                      std::size_t participants) {
  if (participants <= 1) return CollectiveCost{};
  switch (collective) {
    case Collective::all_reduce: return all_reduce(algorithm, bytes, participants);
    case Collective::all_gather: return all_gather(algorithm, bytes, participants);
    case Collective::reduce_scatter: return reduce_scatter(algorithm, bytes, participants);
    case Collective::all_to_all: return all_to_all(algorithm, bytes, participants);
    case Collective::broadcast: return broadcast(algorithm, bytes, participants);
    case Collective::permute:
      if (algorithm != Algorithm::naive) return std::nullopt;
      return CollectiveCost{1, bytes / static_cast<double>(participants), 0, bytes};
  }
  return std::nullopt;
}

BestAlgorithm best_algorithm(Collective collective, double bytes, std::size_t participants,
                             const Wire& wire) {
  std::optional<BestAlgorithm> best;
  for (int number = 0; number < algorithm_count; ++number) {
    const auto algorithm = static_cast<Algorithm>(number);
    const auto cost = cost_of(collective, algorithm, bytes, participants);
    if (!cost) continue;
    const double seconds = cost->seconds(wire);
    if (!best || seconds < best->seconds) best = BestAlgorithm{algorithm, *cost, seconds};
  }
  if (wire.measured != nullptr && participants > 1)
    if (const auto seconds = wire.measured->seconds(name(collective), bytes, participants))
      best->seconds = *seconds;
  return *best;  // the naive algorithm does all collectives
}

double seconds_along(const Axis& axis, Collective collective, double bytes) {
  const auto known = axis.collectives.find(collective);
  if (axis.size <= 1 || known == axis.collectives.end() || known->second.empty())
    return best_algorithm(collective, bytes, axis.size, wire_of(axis)).seconds;
  double least = known->second.front().seconds(bytes);
  for (const CollectiveTime& way : known->second) least = std::min(least, way.seconds(bytes));
  return least;
}

double alpa_cost(Collective collective, double bytes, std::size_t participants, double alpha,
                 double beta) {
  const auto n = static_cast<double>(participants);
  const auto whole = [&](double factor, double amount) {
    return std::trunc(alpha + beta * factor * (n - 1) / n * bytes) + amount;
  };
  switch (collective) {
    case Collective::all_reduce: return whole(2, 0.01);
    case Collective::all_gather: return whole(1, 0.1);
    case Collective::all_to_all: return whole(1.5 / n, 0.001);
    case Collective::reduce_scatter:
    case Collective::broadcast:
    case Collective::permute: return whole(1, 0.001);
  }
  return 0;
}

}  // namespace lemma::clusters
