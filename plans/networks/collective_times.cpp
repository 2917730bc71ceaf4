#include "plans/networks/collective_times.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plans/collectives/patterns.h"

namespace lemma::networks {

using clusters::Collective;
using clusters::CollectiveTime;

namespace {

/// What one place of a group sends to another one, as a part of the whole tensor.
struct Message {
  std::uint32_t from = 0, to = 0;
  double part = 0;
};
/// Messages at the same time, so many times one after the other.
struct Step {
  std::vector<Message> messages;
  std::size_t times = 1;
};
using Steps = std::vector<Step>;

/// Steps with the same messages are counted.
Steps steps_of(const collectives::Schedule& schedule) {
  std::map<std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>, std::size_t> steps;
  for (const collectives::Step& step : schedule.steps) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> chunks;
    for (const collectives::Send& send : step.sends) ++chunks[{send.from, send.to}];
    ++steps[std::move(chunks)];
  }
  Steps result;
  for (const auto& [chunks, times] : steps) {
    Step step{{}, times};
    for (const auto& [ends, count] : chunks)
      step.messages.push_back(
          {ends.first, ends.second, static_cast<double>(count) / schedule.chunks});
    result.push_back(std::move(step));
  }
  return result;
}

/// Bruck's all-to-all: in step k each place hands on what has bit k in the distance that it has to go.
Steps bruck_steps(std::size_t places) {
  Steps steps;
  const double part = 1 / static_cast<double>(places * places);
  for (std::size_t distance = 1; distance < places; distance *= 2) {
    std::size_t blocks = 0;
    for (std::size_t number = 1; number < places; ++number) blocks += number & distance ? 1 : 0;
    Step step;
    for (std::uint32_t place = 0; place < places; ++place)
      step.messages.push_back({place, static_cast<std::uint32_t>((place + distance) % places),
                               part * static_cast<double>(blocks)});
    steps.push_back(std::move(step));
  }
  return steps;
}

/// By way of one place, which gets what all have and sends each what is for it.
Steps server_steps(std::size_t places) {
  const double part = static_cast<double>(places - 1) / static_cast<double>(places * places);
  Steps steps(2);
  for (std::uint32_t place = 1; place < places; ++place) {
    steps[0].messages.push_back({place, 0, part});
    steps[1].messages.push_back({0, place, part});
  }
  return steps;
}

/// The algorithms of a collective among so many places.
std::vector<Steps> algorithms_of(Collective collective, std::size_t places) {
  std::vector<Steps> result;
  if (collective == Collective::all_to_all) return {bruck_steps(places), server_steps(places)};
  for (int number = 0; number < clusters::algorithm_count; ++number)
    if (const auto schedule =
            collectives::pattern(collective, static_cast<clusters::Algorithm>(number), places))
      result.push_back(steps_of(*schedule));
  return result;
}

/// The same each time: they depend on nothing but the number of places.
const std::vector<Steps>& known_algorithms(Collective collective, std::size_t places) {
  thread_local std::map<std::pair<Collective, std::size_t>, std::vector<Steps>> known;
  const auto [at, is_new] = known.try_emplace({collective, places});
  if (is_new) at->second = algorithms_of(collective, places);
  return at->second;
}

/// Loads of links while groups send messages.
class Loads {
 public:
  Loads(const Routes& routes, const std::vector<std::vector<Node>>& groups)
      : routes_(routes), groups_(groups), loads_(routes.link_count(), 0) {}

  void clear() { std::fill(loads_.begin(), loads_.end(), 0); }
  void add(std::uint32_t from, std::uint32_t to, double part) {
    for (const std::vector<Node>& group : groups_)
      for (const Flow& flow : routes_.flows(group[from], group[to]))
        loads_[flow.link] += part * flow.share;
  }
  /// Of the most loaded link, for a byte of the whole tensor.
  double seconds_per_byte() const {
    double most = 0;
    for (std::uint32_t link = 0; link < loads_.size(); ++link)
      most = std::max(most, loads_[link] * routes_.seconds_per_byte(link));
    return most;
  }
  double latency_seconds(std::uint32_t from, std::uint32_t to) const {
    double most = 0;
    for (const std::vector<Node>& group : groups_)
      most = std::max(most, routes_.latency_seconds(group[from], group[to]));
    return most;
  }

 private:
  const Routes& routes_;
  const std::vector<std::vector<Node>>& groups_;
  std::vector<double> loads_;  // by link: parts of the whole tensor
};

double seconds_per_byte(const std::vector<std::vector<std::uint32_t>>& orders, Loads& loads) {
  loads.clear();
  for (const std::vector<std::uint32_t>& order : orders)
    for (std::size_t i = 0; i < order.size(); ++i)
      loads.add(order[i], order[(i + 1) % order.size()],
                1 / static_cast<double>(order.size() * orders.size()));
  return loads.seconds_per_byte();
}

double step_latency(const std::vector<std::uint32_t>& order, const Loads& loads) {
  double latency = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    latency = std::max(latency, loads.latency_seconds(order[i], order[(i + 1) % order.size()]));
  return latency;
}

/// How many links neighbours in a ring are apart at most.
std::size_t most_links(const std::vector<std::uint32_t>& order, const Routes& routes,
                       const std::vector<std::vector<Node>>& groups) {
  std::size_t most = 0;
  for (const std::vector<Node>& group : groups)
    for (std::size_t i = 0; i < order.size(); ++i)
      most = std::max(most, routes.links(group[order[i]], group[order[(i + 1) % order.size()]]));
  return most;
}

/// The order that helps the most is added, again and again.
Rings rings_among(const std::vector<std::vector<std::uint32_t>>& allowed, Loads& loads) {
  constexpr std::size_t most_rings = 8;
  Rings rings;
  while (rings.orders.size() < most_rings) {
    const std::vector<std::uint32_t>* best = nullptr;
    double least = rings.seconds_per_byte;
    std::vector<std::vector<std::uint32_t>> tried = rings.orders;
    tried.emplace_back();
    for (const std::vector<std::uint32_t>& order : allowed) {
      tried.back() = order;
      const double seconds = seconds_per_byte(tried, loads);
      // A tie is no gain, however it was rounded.
      if ((best != nullptr || !rings.orders.empty()) && seconds >= least * (1 - 1e-9)) continue;
      best = &order;
      least = seconds;
    }
    if (best == nullptr) break;
    rings.orders.push_back(*best);
    rings.latency_seconds = std::max(rings.latency_seconds, step_latency(*best, loads));
    rings.seconds_per_byte = least;
  }
  return rings;
}

CollectiveTime time_of(double latency, double seconds_per_byte) {
  return {latency, 1 / seconds_per_byte};
}

CollectiveTime time_of(const Steps& steps, Loads& loads) {
  double latency = 0, seconds_per_byte = 0;
  for (const Step& step : steps) {
    loads.clear();
    double longest = 0;
    for (const Message& message : step.messages) {
      loads.add(message.from, message.to, message.part);
      longest = std::max(longest, loads.latency_seconds(message.from, message.to));
    }
    const auto times = static_cast<double>(step.times);
    latency += longest * times;
    seconds_per_byte += loads.seconds_per_byte() * times;
  }
  return time_of(latency, seconds_per_byte);
}

/// Each place sends to all others at once.
CollectiveTime direct_exchange(std::size_t places, Loads& loads) {
  loads.clear();
  const double part = 1 / static_cast<double>(places * places);
  double latency = 0;
  for (std::uint32_t distance = 1; distance < places; ++distance) {
    double longest = 0;
    for (std::uint32_t from = 0; from < places; ++from) {
      const auto to = static_cast<std::uint32_t>((from + distance) % places);
      loads.add(from, to, part);
      longest = std::max(longest, loads.latency_seconds(from, to));
    }
    latency += longest;
  }
  return time_of(latency, loads.seconds_per_byte());
}

/// Each place sends its part to the one at some distance: the distance that takes the most.
CollectiveTime slowest_permute(std::size_t places, Loads& loads) {
  double latency = 0, seconds_per_byte = 0;
  for (std::uint32_t distance = 1; distance < places; ++distance) {
    loads.clear();
    for (std::uint32_t from = 0; from < places; ++from) {
      const auto to = static_cast<std::uint32_t>((from + distance) % places);
      loads.add(from, to, 1 / static_cast<double>(places));
      latency = std::max(latency, loads.latency_seconds(from, to));
    }
    seconds_per_byte = std::max(seconds_per_byte, loads.seconds_per_byte());
  }
  return time_of(latency, seconds_per_byte);
}

/// Several rings at once.
std::vector<CollectiveTime> by_rings(Collective collective, const Routes& routes,
                                     const std::vector<std::vector<Node>>& groups) {
  std::vector<CollectiveTime> ways;
  if (collective != Collective::all_reduce && collective != Collective::all_gather &&
      collective != Collective::reduce_scatter)
    return ways;
  const auto steps = static_cast<double>((groups.front().size() - 1) *
                                         (collective == Collective::all_reduce ? 2 : 1));
  for (const Rings& rings : chosen_rings(routes, groups))
    ways.push_back(time_of(steps * rings.latency_seconds, steps * rings.seconds_per_byte));
  return ways;
}

/// All rings do their steps at the same time.
void add_ring_steps(Collective collective, const std::vector<std::vector<std::uint32_t>>& orders,
                    bool is_reversed, collectives::Schedule& all) {
  const collectives::Schedule ring =
      *collectives::pattern(collective, clusters::Algorithm::ring, all.nodes);
  for (const collectives::Step& step : ring.steps) {
    collectives::Step& added = all.steps.emplace_back();
    for (std::uint32_t number = 0; number < orders.size(); ++number) {
      std::vector<std::uint32_t> order = orders[number];
      if (is_reversed) std::reverse(order.begin(), order.end());
      for (collectives::Send send : step.sends) {
        // Chunk c starts or ends at place c of the ring, and the node there has one chunk for each ring.
        send.chunk = order[send.chunk] * static_cast<std::uint32_t>(orders.size()) + number;
        send.from = order[send.from];
        send.to = order[send.to];
        added.sends.push_back(send);
      }
    }
  }
}

/// Ascending by latency, without those that another one beats.
std::vector<CollectiveTime> without_beaten(std::vector<CollectiveTime> ways) {
  std::sort(ways.begin(), ways.end(), [](const CollectiveTime& a, const CollectiveTime& b) {
    return std::pair(a.latency_seconds, -a.bytes_per_second) <
           std::pair(b.latency_seconds, -b.bytes_per_second);
  });
  std::vector<CollectiveTime> result;
  for (const CollectiveTime& way : ways)
    if (result.empty() || way.bytes_per_second > result.back().bytes_per_second)
      result.push_back(way);
  return result;
}

}  // namespace

std::vector<std::vector<Node>> groups_along(const MeshSizes& sizes, std::size_t axis) {
  std::size_t inside = 1, devices = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    devices *= sizes[i];
    if (i > axis) inside *= sizes[i];
  }
  std::vector<std::vector<Node>> groups;
  for (std::size_t first = 0; first < devices; ++first) {
    if (first / inside % sizes[axis] != 0) continue;
    std::vector<Node>& group = groups.emplace_back();
    for (std::size_t place = 0; place < sizes[axis]; ++place)
      group.push_back(static_cast<Node>(first + place * inside));
  }
  return groups;
}

std::vector<std::vector<std::uint32_t>> ring_orders(std::size_t places) {
  constexpr std::size_t most_with_all_orders = 5;
  std::vector<std::vector<std::uint32_t>> orders;
  std::vector<std::uint32_t> order(places);
  std::iota(order.begin(), order.end(), 0U);
  if (places <= most_with_all_orders) {
    do orders.push_back(order);
    while (std::next_permutation(order.begin() + 1, order.end()));
    return orders;
  }
  for (std::size_t stride = 1; stride < places; ++stride) {
    if (std::gcd(stride, places) != 1) continue;
    for (std::size_t i = 0; i < places; ++i)
      order[i] = static_cast<std::uint32_t>(i * stride % places);
    orders.push_back(order);
  }
  return orders;
}

std::vector<Rings> chosen_rings(const Routes& routes,
                                const std::vector<std::vector<Node>>& groups) {
  const std::size_t places = groups.front().size();
  thread_local std::map<std::size_t, std::vector<std::vector<std::uint32_t>>> known;
  const auto [at, is_new] = known.try_emplace(places);
  if (is_new) at->second = ring_orders(places);
  Loads loads(routes, groups);
  std::map<std::size_t, std::vector<std::vector<std::uint32_t>>> by_links;
  for (const std::vector<std::uint32_t>& order : at->second)
    by_links[most_links(order, routes, groups)].push_back(order);
  std::vector<Rings> result;
  std::vector<std::vector<std::uint32_t>> allowed;
  for (const auto& [links, orders] : by_links) {
    allowed.insert(allowed.end(), orders.begin(), orders.end());
    result.push_back(rings_among(allowed, loads));
  }
  return result;
}

collectives::Schedule ring_schedule(Collective collective, std::size_t places,
                                    const std::vector<std::vector<std::uint32_t>>& orders) {
  collectives::Schedule all;
  all.collective = collective;
  all.method = fmt::format("{} rings", orders.size());
  all.nodes = places;
  all.chunks = static_cast<std::uint32_t>(places * orders.size());
  // A reduce-scatter is an all-gather backwards, so that it passes the reversed ring in the direction of the ring.
  if (collective != Collective::all_gather)
    add_ring_steps(Collective::reduce_scatter, orders, /*is_reversed=*/true, all);
  if (collective != Collective::reduce_scatter)
    add_ring_steps(Collective::all_gather, orders, /*is_reversed=*/false, all);
  return all;
}

std::vector<CollectiveTime> ways_of(Collective collective, const Routes& routes,
                                    const std::vector<std::vector<Node>>& groups) {
  const std::size_t places = groups.front().size();
  Loads loads(routes, groups);
  if (collective == Collective::permute) return {slowest_permute(places, loads)};
  std::vector<CollectiveTime> ways;
  for (const Steps& steps : known_algorithms(collective, places))
    ways.push_back(time_of(steps, loads));
  if (collective == Collective::all_to_all) ways.push_back(direct_exchange(places, loads));
  for (const CollectiveTime& way : by_rings(collective, routes, groups)) ways.push_back(way);
  return without_beaten(std::move(ways));
}

std::string text_of(const MeshSizes& sizes) { return fmt::format("{}", fmt::join(sizes, "x")); }

clusters::Mesh mesh_on(const Network& network, const MeshSizes& sizes) {
  static constexpr std::array<std::string_view, 3> names = {"x", "y", "z"};
  const Routes routes(network);
  clusters::Mesh mesh{text_of(sizes), {}};
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    const std::vector<std::vector<Node>> groups = groups_along(sizes, axis);
    clusters::Axis& added = mesh.axes.emplace_back();
    added.name = axis < names.size() ? std::string(names[axis]) : fmt::format("axis{}", axis);
    added.size = sizes[axis];
    Loads loads(routes, groups);
    const CollectiveTime message = slowest_permute(sizes[axis], loads);
    added.latency_seconds = message.latency_seconds;
    // Of a message, and not of all parts together.
    added.bytes_per_second = message.bytes_per_second / static_cast<double>(sizes[axis]);
    for (int number = 0; number < clusters::collective_count; ++number) {
      const auto collective = static_cast<Collective>(number);
      added.collectives[collective] = ways_of(collective, routes, groups);
    }
  }
  return mesh;
}

}  // namespace lemma::networks
