#include "plans/networks/choose_wiring.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "plans/networks/matching.h"

namespace lemma::networks {

using clusters::Collective;

namespace {

/// More circulant wirings than these are not tried.
constexpr std::size_t most_circulants = 500;

/// Of simulated annealing: how often it starts, and the part of the time by which a move is worse that it makes with 1/e at first.
constexpr std::size_t anneals = 4;
constexpr double first_heat = 0.5;
constexpr std::string_view improved = ", then improved";

/// Adds rings along an axis, with these strides.
void add_rings(Wiring& wiring, const MeshSizes& sizes, std::size_t axis,
               const std::vector<std::size_t>& strides) {
  for (const std::vector<Node>& group : groups_along(sizes, axis))
    for (const std::size_t stride : strides)
      for (std::size_t place = 0; place < group.size(); ++place)
        wiring.add(group[place], group[(place + stride) % group.size()]);
}

/// What each device sends to each other one directly: all-to-alls and permutes, and a little to all, so that paths are short.
std::vector<double> direct_bytes(const Demands& demands) {
  const std::size_t devices = demands.devices();
  std::vector<double> bytes(devices * devices, 0);
  double most = 0;
  for (const Demand& demand : demands.demands) {
    if (demand.collective != Collective::all_to_all && demand.collective != Collective::permute)
      continue;
    const auto places = static_cast<double>(demands.sizes[demand.axis]);
    for (const std::vector<Node>& group : groups_along(demands.sizes, demand.axis))
      for (const Node from : group)
        for (const Node to : group)
          if (from != to)
            most = std::max(
                most, bytes[from * devices + to] += demand.times * demand.bytes / places / places);
  }
  const double little = most > 0 ? most / 64 : 1;
  for (double& each : bytes) each += little;
  return bytes;
}

/// Matchings for the ports that are left, each for what is not served yet.
void add_matchings(Wiring& wiring, std::vector<double> bytes, std::size_t count) {
  const std::size_t devices = wiring.devices();
  for (Node from = 0; from < devices; ++from)
    for (Node to = 0; to < devices; ++to)
      bytes[from * devices + to] /= std::pow(2.0, wiring.links(from, to));
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<std::uint32_t> to = heaviest_assignment(bytes, devices);
    for (Node from = 0; from < devices; ++from) {
      wiring.add(from, to[from]);
      bytes[from * devices + to[from]] /= 2;
    }
  }
}

class Search {
 public:
  Search(const Demands& demands, std::size_t degree, const LinkSpeed& link,
         const WiringOptions& options)
      : demands_(demands),
        link_(link),
        options_(options),
        bytes_(direct_bytes(demands)),
        best_{Wiring(demands.devices(), degree), std::numeric_limits<double>::infinity(), ""} {}

  ChosenWiring operator()() && {
    try_shares(Wiring(devices(), degree()), 0, degree(), "");
    try_circulants({}, 1);
    try_tori();
    try_multiples();
    if (devices() > 2) improve();
    return best_;
  }

 private:
  std::size_t devices() const { return best_.wiring.devices(); }
  std::size_t degree() const { return best_.wiring.degree(); }

  void look(const Wiring& wiring, const std::string& found_by) {
    const double seconds = seconds_on(demands_, wiring, link_);
    if (seconds < best_.seconds) best_ = {wiring, seconds, found_by};
  }

  /// Ports for rings along this axis and those behind it; the rest is for matchings.
  void try_shares(const Wiring& before, std::size_t axis, std::size_t left,
                  const std::string& found_by) {
    if (axis == demands_.sizes.size()) {
      Wiring wiring = before;
      add_matchings(wiring, bytes_, left);
      look(wiring, left == 0 ? found_by : fmt::format("{}, {} by matching", found_by, left));
      return;
    }
    for (std::size_t ports = 0; ports <= left; ++ports) {
      const std::string longer = found_by + fmt::format("{}{} ports for rings along axis {}",
                                                        axis > 0 ? ", " : "", ports, axis);
      for (const auto& strides : strides_of(demands_.sizes[axis], ports)) {
        Wiring wiring = before;
        add_rings(wiring, demands_.sizes, axis, strides);
        try_shares(wiring, axis + 1, left - ports, longer);
      }
    }
  }

  /// The geometric ones, and rings in both directions.
  static std::set<std::vector<std::size_t>> strides_of(std::size_t places, std::size_t ports) {
    std::set<std::vector<std::size_t>> result = {geometric_strides(places, ports)};
    if (ports % 2 != 0) return result;
    std::vector<std::size_t> both;
    for (const std::size_t stride : geometric_strides(places, ports / 2)) {
      both.push_back(stride);
      both.push_back(places - stride);
    }
    result.insert(std::move(both));
    return result;
  }

  /// Strides that do not descend, of all devices.
  void try_circulants(std::vector<std::size_t> strides, std::size_t least) {
    if (strides.size() == degree()) {
      if (++circulants_ > most_circulants) return;
      Wiring wiring(devices(), degree());
      add_rings(wiring, {devices()}, 0, strides);
      look(wiring, "circulant");
      return;
    }
    strides.emplace_back();
    for (std::size_t stride = least; stride < devices() && circulants_ <= most_circulants;
         ++stride) {
      strides.back() = stride;
      try_circulants(strides, stride);
    }
  }

  void try_tori() {
    for (std::size_t rows = 1; rows * rows <= devices(); ++rows) {
      if (devices() % rows != 0 || devices() / rows == 1) continue;
      const Wiring whole = torus(rows, devices() / rows);
      if (whole.degree() == 0 || degree() % whole.degree() != 0) continue;
      look(multiplied(whole, degree() / whole.degree()), "torus");
    }
  }

  /// Several links in the place of each of a wiring of lower degree.
  void try_multiples() {
    for (std::size_t lower = 1; lower < degree(); ++lower) {
      if (degree() % lower != 0) continue;
      const std::size_t times = degree() / lower;
      const LinkSpeed wide{link_.latency_seconds,
                           link_.bytes_per_second * static_cast<double>(times)};
      const ChosenWiring chosen = choose_wiring(demands_, lower, wide, options_);
      look(multiplied(chosen.wiring, times), fmt::format("{} times {}", times, chosen.found_by));
    }
  }

  static Wiring multiplied(const Wiring& wiring, std::size_t times) {
    Wiring result(wiring.devices(), wiring.degree() * times);
    for (Node from = 0; from < wiring.devices(); ++from)
      for (Node to = 0; to < wiring.devices(); ++to)
        result.add(from, to, wiring.links(from, to) * times);
    return result;
  }

  /// Simulated annealing, several times from the best one on: what is worse by a part of the time is gone on from with a probability
  /// that falls to 0.
  void improve() {
    std::mt19937_64 random(options_.seed);
    const std::size_t moves = options_.moves / anneals;
    for (std::size_t anneal = 0; anneal < anneals; ++anneal) {
      Wiring now = best_.wiring;
      double seconds = best_.seconds;
      const std::string found_by = best_.found_by;
      for (std::size_t move = 0; move < moves; ++move) {
        Wiring changed = now;
        if (move % 2 == 0)
          exchange_ends(changed, random);
        else
          exchange_devices(changed, random);
        const double then = seconds_on(demands_, changed, link_);
        const double heat =
            first_heat * static_cast<double>(moves - move) / static_cast<double>(moves);
        const double chance = static_cast<double>(random() >> 11U) * 0x1p-53;
        if (then > seconds && chance >= std::exp((1 - then / seconds) / heat)) continue;
        now = std::move(changed);
        seconds = then;
        if (seconds < best_.seconds)
          best_ = {now, seconds,
                   found_by.ends_with(improved) ? found_by : found_by + std::string(improved)};
      }
    }
  }

  /// Two links exchange the devices that they lead to, where that makes no link from a device to itself.
  void exchange_ends(Wiring& wiring, std::mt19937_64& random) const {
    const auto [from, to] = random_link(wiring, random);
    const auto [other_from, other_to] = random_link(wiring, random);
    if (from == other_to || other_from == to || from == other_from || to == other_to) return;
    wiring.remove(from, to);
    wiring.remove(other_from, other_to);
    wiring.add(from, other_to);
    wiring.add(other_from, to);
  }

  std::pair<Node, Node> random_link(const Wiring& wiring, std::mt19937_64& random) const {
    const auto from = static_cast<Node>(random() % devices());
    std::size_t place = random() % wiring.sending(from);
    for (Node to = 0;; ++to) {
      if (place < wiring.links(from, to)) return {from, to};
      place -= wiring.links(from, to);
    }
  }

  /// Two devices exchange all of their links.
  void exchange_devices(Wiring& wiring, std::mt19937_64& random) const {
    const auto one = static_cast<Node>(random() % devices());
    const auto other = static_cast<Node>(random() % devices());
    const auto renamed = [&](Node node) {
      return node == one ? other : node == other ? one : node;
    };
    Wiring changed(devices(), degree());
    for (Node from = 0; from < devices(); ++from)
      for (Node to = 0; to < devices(); ++to)
        changed.add(renamed(from), renamed(to), wiring.links(from, to));
    wiring = std::move(changed);
  }

  const Demands& demands_;
  const LinkSpeed& link_;
  const WiringOptions& options_;
  std::vector<double> bytes_;
  std::size_t circulants_ = 0;
  ChosenWiring best_;
};

}  // namespace

std::vector<std::size_t> geometric_strides(std::size_t places, std::size_t count) {
  std::vector<std::size_t> left, chosen;
  const auto refill = [&] {
    for (std::size_t stride = 1; stride < places; ++stride)
      if (std::gcd(stride, places) == 1) left.push_back(stride);
  };
  const double ratio = std::pow(static_cast<double>(places),
                                1 / static_cast<double>(std::max<std::size_t>(1, count)));
  double wanted = 1;
  while (chosen.size() < count) {
    if (left.empty()) refill();
    const auto nearest = std::min_element(left.begin(), left.end(), [&](auto a, auto b) {
      return std::abs(static_cast<double>(a) - wanted) < std::abs(static_cast<double>(b) - wanted);
    });
    chosen.push_back(*nearest);
    left.erase(nearest);
    wanted *= ratio;
  }
  return chosen;
}

ChosenWiring choose_wiring(const Demands& demands, std::size_t degree, const LinkSpeed& link,
                           const WiringOptions& options) {
  return Search(demands, degree, link, options)();
}

}  // namespace lemma::networks
