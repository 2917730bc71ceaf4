#include "plans/networks/demands.h"

#include <limits>
#include <map>
#include <tuple>

namespace lemma::networks {

using clusters::Collective;

namespace {

/// Of the whole tensor, what each device has to send, or each has to receive, at least.
double least_part(Collective collective, std::size_t places) {
  const auto p = static_cast<double>(places);
  switch (collective) {
    case Collective::all_reduce: return 2 * (p - 1) / p;
    case Collective::all_gather:
    case Collective::reduce_scatter: return (p - 1) / p;
    case Collective::all_to_all: return (p - 1) / p / p;
    case Collective::broadcast: return 1;
    case Collective::permute: return 1 / p;
  }
  return 0;
}

}  // namespace

std::size_t Demands::devices() const {
  std::size_t product = 1;
  for (const std::size_t size : sizes) product *= size;
  return product;
}

Demands merged(Demands demands) {
  std::map<std::tuple<Collective, std::size_t, double>, double> times;
  for (const Demand& demand : demands.demands)
    times[{demand.collective, demand.axis, demand.bytes}] += demand.times;
  demands.demands.clear();
  for (const auto& [key, count] : times)
    demands.demands.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count});
  return demands;
}

double seconds_of(const Demands& demands, const clusters::Mesh& mesh) {
  double seconds = 0;
  for (const Demand& demand : demands.demands)
    seconds += demand.times *
               clusters::seconds_along(mesh.axes[demand.axis], demand.collective, demand.bytes);
  return seconds;
}

double seconds_on(const Demands& demands, const Network& network) {
  const Routes routes(network);
  // Only what is asked for is priced.
  clusters::Mesh mesh;
  for (const std::size_t size : demands.sizes) mesh.axes.emplace_back().size = size;
  for (const Demand& demand : demands.demands) {
    auto& ways = mesh.axes[demand.axis].collectives[demand.collective];
    if (ways.empty())
      ways = ways_of(demand.collective, routes, groups_along(demands.sizes, demand.axis));
  }
  return seconds_of(demands, mesh);
}

double seconds_on(const Demands& demands, const Wiring& wiring, const LinkSpeed& link) {
  if (fault_of(wiring)) return std::numeric_limits<double>::infinity();
  return seconds_on(demands, network_of(wiring, link, ""));
}

double least_seconds(const Demands& demands, std::size_t degree, const LinkSpeed& link) {
  const double bytes_per_second = static_cast<double>(degree) * link.bytes_per_second;
  double seconds = 0;
  for (const Demand& demand : demands.demands)
    seconds += demand.times * demand.bytes *
               least_part(demand.collective, demands.sizes[demand.axis]) / bytes_per_second;
  return seconds;
}

}  // namespace lemma::networks
