#include "plans/collectives/patterns.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace lemma::collectives {

namespace {

/// Writes a schedule step by step.
class Writer {
 public:
  Writer(Collective collective, std::string_view method, std::size_t nodes, std::size_t chunks) {
    made_.collective = collective;
    made_.method = method;
    made_.nodes = nodes;
    made_.chunks = static_cast<std::uint32_t>(chunks);
  }
  void step() { made_.steps.emplace_back(); }
  void send(std::size_t from, std::size_t to, std::size_t chunk, Action action = Action::copy) {
    made_.steps.back().sends.push_back({static_cast<Node>(from), static_cast<Node>(to),
                                        static_cast<std::uint32_t>(chunk), action});
  }
  Schedule made() {
    std::erase_if(made_.steps, [](const Step& step) { return step.sends.empty(); });
    return std::move(made_);
  }

 private:
  Schedule made_;
};

/// 1, 2, 4, ... below a number.
std::vector<std::size_t> powers_below(std::size_t end) {
  std::vector<std::size_t> powers;
  for (std::size_t power = 1; power < end; power *= 2) powers.push_back(power);
  return powers;
}

// ---- All-gather: one chunk of each node --------------------------------------------------------------------------------

void gather_directly(Writer& writer, std::size_t p) {
  for (std::size_t distance = 1; distance < p; ++distance) {
    writer.step();
    for (std::size_t node = 0; node < p; ++node) writer.send(node, (node + distance) % p, node);
  }
}

void gather_by_server(Writer& writer, std::size_t p) {
  writer.step();
  for (std::size_t node = 1; node < p; ++node) writer.send(node, 0, node);
  writer.step();
  for (std::size_t node = 1; node < p; ++node)
    for (std::size_t chunk = 0; chunk < p; ++chunk)
      if (chunk != node) writer.send(0, node, chunk);
}

void gather_by_ring(Writer& writer, std::size_t p) {
  for (std::size_t step = 0; step + 1 < p; ++step) {
    writer.step();
    for (std::size_t node = 0; node < p; ++node)
      writer.send(node, (node + 1) % p, (node + p - step) % p);
  }
}

/// Up a binomial tree with node 0 at its top, and down again. Node n has the tree of the nodes from n on, as many as the lowest
/// bit of n says.
void gather_by_tree(Writer& writer, std::size_t p) {
  const std::vector<std::size_t> distances = powers_below(p);
  for (const std::size_t distance : distances) {
    writer.step();
    for (std::size_t node = distance; node < p; node += 2 * distance)
      for (std::size_t chunk = node; chunk < std::min(node + distance, p); ++chunk)
        writer.send(node, node - distance, chunk);
  }
  for (auto distance = distances.rbegin(); distance != distances.rend(); ++distance) {
    writer.step();
    for (std::size_t node = *distance; node < p; node += 2 * *distance)
      for (std::size_t chunk = 0; chunk < p; ++chunk)
        if (chunk < node || chunk >= node + *distance) writer.send(node - *distance, node, chunk);
  }
}

/// Partners at the distances 1, 2, 4, ...: the butterfly where p is a power of 2, and Bruck's algorithm otherwise.
void gather_by_doubling(Writer& writer, std::size_t p) {
  for (const std::size_t distance : powers_below(p)) {
    writer.step();
    for (std::size_t node = 0; node < p; ++node) {
      if (std::has_single_bit(p)) {
        const std::size_t first = node / distance * distance;
        for (std::size_t at = 0; at < distance; ++at)
          writer.send(node, node ^ distance, first + at);
      } else {
        for (std::size_t at = 0; at < std::min(distance, p - distance); ++at)
          writer.send((node + distance) % p, node, (node + distance + at) % p);
      }
    }
  }
}

std::optional<Schedule> all_gather(Algorithm algorithm, std::size_t p) {
  Writer writer(Collective::all_gather, name(algorithm), p, p);
  switch (algorithm) {
    case Algorithm::naive: gather_directly(writer, p); break;
    case Algorithm::parameter_server: gather_by_server(writer, p); break;
    case Algorithm::ring: gather_by_ring(writer, p); break;
    case Algorithm::tree: gather_by_tree(writer, p); break;
    case Algorithm::recursive_doubling: gather_by_doubling(writer, p); break;
    case Algorithm::halving_doubling: return std::nullopt;
  }
  return writer.made();
}

// ---- All-reduce ----------------------------------------------------------------------------------------------------------

void reduce_directly(Writer& writer, std::size_t p) {
  for (std::size_t distance = 1; distance < p; ++distance) {
    writer.step();
    for (std::size_t node = 0; node < p; ++node)
      writer.send(node, (node + distance) % p, 0, Action::add_operand);
  }
}

void reduce_at_server(Writer& writer, std::size_t p) {
  writer.step();
  for (std::size_t node = 1; node < p; ++node) writer.send(node, 0, 0, Action::add);
  writer.step();
  for (std::size_t node = 1; node < p; ++node) writer.send(0, node, 0);
}

void reduce_by_tree(Writer& writer, std::size_t p) {
  const std::vector<std::size_t> distances = powers_below(p);
  for (const std::size_t distance : distances) {
    writer.step();
    for (std::size_t node = distance; node < p; node += 2 * distance)
      writer.send(node, node - distance, 0, Action::add);
  }
  for (auto distance = distances.rbegin(); distance != distances.rend(); ++distance) {
    writer.step();
    for (std::size_t node = *distance; node < p; node += 2 * *distance)
      writer.send(node - *distance, node, 0);
  }
}

void reduce_by_doubling(Writer& writer, std::size_t p) {
  const std::size_t power = std::bit_floor(p);
  writer.step();
  for (std::size_t node = power; node < p; ++node) writer.send(node, node - power, 0, Action::add);
  for (const std::size_t distance : powers_below(power)) {
    writer.step();
    for (std::size_t node = 0; node < power; ++node)
      writer.send(node, node ^ distance, 0, Action::add);
  }
  writer.step();
  for (std::size_t node = power; node < p; ++node) writer.send(node - power, node, 0);
}

Schedule with_method(Schedule schedule, std::string_view method) {
  schedule.method = method;
  return schedule;
}

std::optional<Schedule> all_reduce(Algorithm algorithm, std::size_t p) {
  Writer writer(Collective::all_reduce, name(algorithm), p, 1);
  switch (algorithm) {
    case Algorithm::naive: reduce_directly(writer, p); break;
    case Algorithm::parameter_server: reduce_at_server(writer, p); break;
    case Algorithm::tree: reduce_by_tree(writer, p); break;
    case Algorithm::recursive_doubling: reduce_by_doubling(writer, p); break;
    case Algorithm::ring: return there_and_back(*all_gather(algorithm, p));
    case Algorithm::halving_doubling:
      return with_method(there_and_back(*all_gather(Algorithm::recursive_doubling, p)),
                         name(algorithm));
  }
  return writer.made();
}

std::optional<Schedule> reduce_scatter(Algorithm algorithm, std::size_t p) {
  if (algorithm == Algorithm::recursive_doubling) return std::nullopt;
  if (algorithm == Algorithm::halving_doubling)
    return with_method(backwards(*all_gather(Algorithm::recursive_doubling, p)), name(algorithm));
  return backwards(*all_gather(algorithm, p));
}

// ---- Broadcast, as if node 0 were the root -------------------------------------------------------------------------------

/// p pieces follow one another along a chain.
void spread_by_chain(Writer& writer, std::size_t p) {
  for (std::size_t step = 0; step < 2 * (p - 1); ++step) {
    writer.step();
    for (std::size_t node = 0; node + 1 < p; ++node)
      if (step >= node && step - node < p) writer.send(node, node + 1, step - node);
  }
}

/// Parts down a binomial tree, one for each node, and then gathered by doubling, without those that a node has had.
void spread_by_halves(Writer& writer, std::size_t p) {
  std::set<std::pair<std::size_t, std::size_t>> held;  // node, chunk
  const std::vector<std::size_t> distances = powers_below(p);
  for (auto distance = distances.rbegin(); distance != distances.rend(); ++distance) {
    writer.step();
    for (std::size_t node = *distance; node < p; node += 2 * *distance)
      for (std::size_t chunk = node; chunk < std::min(node + *distance, p); ++chunk) {
        writer.send(node - *distance, node, chunk);
        held.insert({node, chunk});
      }
  }
  const Schedule gather = *all_gather(Algorithm::recursive_doubling, p);
  for (const Step& step : gather.steps) {
    writer.step();
    for (const Send& send : step.sends)
      if (send.to != 0 && held.insert({send.to, send.chunk}).second)
        writer.send(send.from, send.to, send.chunk);
  }
}

std::optional<Schedule> broadcast(Algorithm algorithm, std::size_t p) {
  const bool is_cut = algorithm == Algorithm::ring || algorithm == Algorithm::halving_doubling;
  Writer writer(Collective::broadcast, name(algorithm), p, is_cut ? p : 1);
  switch (algorithm) {
    case Algorithm::naive:
      for (std::size_t node = 1; node < p; ++node) {
        writer.step();
        writer.send(0, node, 0);
      }
      break;
    case Algorithm::parameter_server:
      writer.step();
      for (std::size_t node = 1; node < p; ++node) writer.send(0, node, 0);
      break;
    case Algorithm::ring: spread_by_chain(writer, p); break;
    case Algorithm::tree:
      for (const std::size_t distance : powers_below(p)) {
        writer.step();
        for (std::size_t node = 0; node < distance && node + distance < p; ++node)
          writer.send(node, node + distance, 0);
      }
      break;
    case Algorithm::halving_doubling: spread_by_halves(writer, p); break;
    case Algorithm::recursive_doubling: return std::nullopt;
  }
  return writer.made();
}

Schedule with_root(Schedule schedule, Node root) {
  for (Step& step : schedule.steps)
    for (Send& send : step.sends) {
      send.from = static_cast<Node>((send.from + root) % schedule.nodes);
      send.to = static_cast<Node>((send.to + root) % schedule.nodes);
    }
  schedule.root = root;
  return schedule;
}

// ---- Groups --------------------------------------------------------------------------------------------------------------

constexpr std::string_view by_groups = "hierarchical";

/// Among the nodes with the same place in their groups, and then within each group.
Schedule gather_by_groups(std::size_t p, std::size_t group) {
  const std::size_t groups = p / group;
  Writer writer(Collective::all_gather, by_groups, p, p);
  for (std::size_t step = 0; step + 1 < groups; ++step) {
    writer.step();
    for (std::size_t node = 0; node < p; ++node)
      writer.send(node, (node + group) % p, (node + (groups - step) * group) % p);
  }
  for (std::size_t step = 0; step + 1 < group; ++step) {
    writer.step();
    for (std::size_t node = 0; node < p; ++node) {
      const std::size_t first = node / group * group, place = node % group;
      for (std::size_t other = 0; other < groups; ++other)
        writer.send(node, first + (place + 1) % group,
                    other * group + (place + group - step) % group);
    }
  }
  return writer.made();
}

Schedule spread_by_groups(std::size_t p, std::size_t group, Node root) {
  const std::size_t groups = p / group, place = root % group, home = root / group;
  Writer writer(Collective::broadcast, by_groups, p, 1);
  for (const std::size_t distance : powers_below(groups)) {
    writer.step();
    for (std::size_t at = 0; at < distance && at + distance < groups; ++at)
      writer.send((home + at) % groups * group + place,
                  (home + at + distance) % groups * group + place, 0);
  }
  for (const std::size_t distance : powers_below(group)) {
    writer.step();
    for (std::size_t first = 0; first < p; first += group)
      for (std::size_t at = 0; at < distance && at + distance < group; ++at)
        writer.send(first + (place + at) % group, first + (place + at + distance) % group, 0);
  }
  Schedule schedule = writer.made();
  schedule.root = root;
  return schedule;
}

}  // namespace

std::optional<Schedule> pattern(Collective collective, Algorithm algorithm, std::size_t nodes,
                                Node root) {
  switch (collective) {
    case Collective::all_gather: return all_gather(algorithm, nodes);
    case Collective::all_reduce: return all_reduce(algorithm, nodes);
    case Collective::reduce_scatter: return reduce_scatter(algorithm, nodes);
    case Collective::broadcast:
      if (auto schedule = broadcast(algorithm, nodes)) return with_root(std::move(*schedule), root);
      return std::nullopt;
    case Collective::all_to_all:
    case Collective::permute: break;
  }
  return std::nullopt;
}

Schedule hierarchical(Collective collective, std::size_t nodes, std::size_t group, Node root) {
  if (collective == Collective::broadcast) return spread_by_groups(nodes, group, root);
  Schedule gather = gather_by_groups(nodes, group);
  if (collective == Collective::all_gather) return gather;
  return collective == Collective::all_reduce ? there_and_back(gather) : backwards(gather);
}

Schedule backwards(const Schedule& all_gather) {
  Schedule result = all_gather;
  result.collective = Collective::reduce_scatter;
  std::reverse(result.steps.begin(), result.steps.end());
  for (Step& step : result.steps)
    for (Send& send : step.sends) {
      std::swap(send.from, send.to);
      send.action = Action::add;
    }
  return result;
}

Schedule there_and_back(const Schedule& all_gather) {
  Schedule result = backwards(all_gather);
  result.collective = Collective::all_reduce;
  result.steps.insert(result.steps.end(), all_gather.steps.begin(), all_gather.steps.end());
  return result;
}

Schedule renamed(const Schedule& schedule, std::span<const Node> order) {
  Schedule result = schedule;
  result.root = order[schedule.root];
  const bool has_owners = schedule.collective == Collective::all_gather ||
                          schedule.collective == Collective::reduce_scatter;
  const auto part = static_cast<std::uint32_t>(schedule.chunks / schedule.nodes);
  for (Step& step : result.steps)
    for (Send& send : step.sends) {
      send.from = order[send.from];
      send.to = order[send.to];
      if (has_owners) send.chunk = order[send.chunk / part] * part + send.chunk % part;
    }
  return result;
}

Result<Schedule> fitted(Schedule schedule, const Topology& topology) {
  for (std::size_t number = 0; number < schedule.steps.size(); ++number) {
    Step& step = schedule.steps[number];
    std::vector<std::uint32_t> loads(topology.links.size());
    for (const Send& send : step.sends) {
      const auto link = topology.link(send.from, send.to);
      if (!link)
        return bad_input(fmt::format(
            "'{}' has no link from {} to {}, over which {} by '{}' sends in step {}; another "
            "algorithm, another order of the nodes, or a schedule that is searched for is needed",
            topology.name, send.from, send.to, name(schedule.collective), schedule.method,
            number + 1));
      ++loads[*link];
    }
    step.rounds = 1;
    const auto allow = [&](std::uint32_t load, std::uint32_t capacity) {
      step.rounds = std::max(step.rounds, (load + capacity - 1) / capacity);
    };
    for (std::size_t link = 0; link < loads.size(); ++link)
      allow(loads[link], topology.links[link].capacity);
    for (const Port& port : topology.ports) {
      std::uint32_t load = 0;
      for (const std::size_t link : port.links) load += loads[link];
      allow(load, port.capacity);
    }
  }
  return schedule;
}

}  // namespace lemma::collectives
