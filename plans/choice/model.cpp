#include "plans/choice/model.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace lemma::choice {

namespace {

/// Numbers from 0 of the groups of nodes that are alike, in the order of their first nodes.
std::vector<VariableNumber> variables_of_nodes(const Problem& problem) {
  std::vector<NodeNumber> root(problem.nodes.size());
  std::iota(root.begin(), root.end(), 0U);
  const auto find_root = [&](NodeNumber node) {
    while (root[node] != node) node = root[node] = root[root[node]];
    return node;
  };
  for (const std::vector<NodeNumber>& group : problem.alike)
    for (const NodeNumber node : group) {
      const NodeNumber first = find_root(group.front()), second = find_root(node);
      root[std::max(first, second)] = std::min(first, second);
    }
  std::vector<VariableNumber> variable(problem.nodes.size());
  VariableNumber count = 0;
  for (NodeNumber node = 0; node < problem.nodes.size(); ++node)
    variable[node] = find_root(node) == node ? count++ : variable[find_root(node)];
  return variable;
}

/// Moments at which memory comes and after which some goes before more comes: at all others there is no more.
std::vector<Moment> moments_that_count(const Problem& problem) {
  std::vector<std::pair<Moment, bool>>
      events;  // (moment, whether memory comes); what goes is first
  for (const Node& node : problem.nodes) {
    if (node.begin == node.end) continue;
    events.emplace_back(node.begin, true);
    events.emplace_back(node.end, false);
  }
  std::sort(events.begin(), events.end());
  std::vector<Moment> moments;
  for (std::size_t at = 0; at + 1 < events.size(); ++at)
    if (events[at].second && !events[at + 1].second) moments.push_back(events[at].first);
  return moments;
}

/// The usage of a node without the least of it, which is taken from the room.
Usage usage_of(const Node& node, const std::vector<Moment>& moments, std::vector<Bytes>& least) {
  Usage usage;
  const auto place = [&](Moment moment) {
    return static_cast<std::uint32_t>(std::lower_bound(moments.begin(), moments.end(), moment) -
                                      moments.begin());
  };
  usage.begin = place(node.begin), usage.end = place(node.end);
  Bytes smallest = node.strategies.front().bytes;
  for (const Strategy& strategy : node.strategies) smallest = std::min(smallest, strategy.bytes);
  for (const Strategy& strategy : node.strategies) usage.bytes.push_back(strategy.bytes - smallest);
  for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment) least[moment] += smallest;
  return usage;
}

/// Usages of the same moments are one.
void add_usage(std::vector<Usage>& usages, Usage usage) {
  const bool is_nothing =
      std::all_of(usage.bytes.begin(), usage.bytes.end(), [](Bytes bytes) { return bytes == 0; });
  if (is_nothing || usage.begin == usage.end) return;
  for (Usage& other : usages)
    if (other.begin == usage.begin && other.end == usage.end) {
      for (std::size_t value = 0; value < usage.bytes.size(); ++value)
        other.bytes[value] += usage.bytes[value];
      return;
    }
  usages.push_back(std::move(usage));
}

/// What several nodes of a variable have at least together: another least for each interval of moments.
void lower_usages(std::vector<Usage>& usages, std::vector<Bytes>& least) {
  for (Usage& usage : usages) {
    const Bytes smallest = *std::min_element(usage.bytes.begin(), usage.bytes.end());
    for (Bytes& bytes : usage.bytes) bytes -= smallest;
    for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment)
      least[moment] += smallest;
  }
}

void add_memory(const Problem& problem, Merged& result) {
  Model& model = result.model;
  model.usages.resize(model.variables());
  if (!problem.limit) return;
  const std::vector<Moment> moments = moments_that_count(problem);
  std::vector<Bytes> least(moments.size());
  for (NodeNumber node = 0; node < problem.nodes.size(); ++node)
    add_usage(model.usages[result.variable_of[node]],
              usage_of(problem.nodes[node], moments, least));
  for (std::vector<Usage>& usages : model.usages) lower_usages(usages, least);
  for (const Bytes bytes : least) {
    model.is_possible = model.is_possible && bytes <= *problem.limit;
    model.room.push_back(*problem.limit - std::min(bytes, *problem.limit));
  }
}

void add_edges(const Problem& problem, Merged& result) {
  Model& model = result.model;
  std::map<std::pair<VariableNumber, VariableNumber>, std::size_t> places;
  for (const Edge& edge : problem.edges) {
    const VariableNumber from = result.variable_of[edge.from], to = result.variable_of[edge.to];
    const std::size_t rows = model.values(from), columns = model.values(to);
    if (from == to) {
      for (std::size_t value = 0; value < rows; ++value)
        model.seconds[from][value] += edge.seconds[value * columns + value];
      continue;
    }
    const auto [at, is_new] = places.try_emplace(std::minmax(from, to), model.pairs.size());
    if (is_new)
      model.pairs.push_back(
          {std::min(from, to), std::max(from, to), std::vector<double>(rows * columns)});
    std::vector<double>& seconds = model.pairs[at->second].seconds;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column)
        seconds[from < to ? row * columns + column : column * rows + row] +=
            edge.seconds[row * columns + column];
  }
}

}  // namespace

Choice Merged::choice_of(const Values& values) const {
  Choice choice;
  for (const VariableNumber variable : variable_of) choice.push_back(values[variable]);
  return choice;
}

Merged merged(const Problem& problem) {
  Merged result;
  result.variable_of = variables_of_nodes(problem);
  for (NodeNumber node = 0; node < problem.nodes.size(); ++node) {
    const VariableNumber variable = result.variable_of[node];
    if (variable >= result.model.seconds.size())
      result.model.seconds.emplace_back(problem.nodes[node].strategies.size());
    for (std::size_t value = 0; value < problem.nodes[node].strategies.size(); ++value)
      result.model.seconds[variable][value] += problem.nodes[node].strategies[value].seconds;
  }
  add_edges(problem, result);
  add_memory(problem, result);
  return result;
}

double seconds_of(const Model& model, const Values& values) {
  double sum = 0;
  for (VariableNumber variable = 0; variable < model.variables(); ++variable)
    sum += model.seconds[variable][values[variable]];
  for (const Pair& pair : model.pairs)
    sum += pair.seconds[values[pair.first] * model.values(pair.second) + values[pair.second]];
  return sum;
}

std::vector<Bytes> memory_of(const Model& model, const Values& values) {
  std::vector<Bytes> memory(model.room.size());
  for (VariableNumber variable = 0; variable < model.variables(); ++variable)
    for (const Usage& usage : model.usages[variable])
      for (std::uint32_t moment = usage.begin; moment < usage.end; ++moment)
        memory[moment] += usage.bytes[values[variable]];
  return memory;
}

bool fits(const Model& model, const Values& values) {
  if (!model.is_possible) return false;
  const std::vector<Bytes> memory = memory_of(model, values);
  for (std::size_t moment = 0; moment < memory.size(); ++moment)
    if (memory[moment] > model.room[moment]) return false;
  return true;
}

std::vector<std::vector<std::uint32_t>> pairs_of_variables(const Model& model) {
  std::vector<std::vector<std::uint32_t>> pairs(model.variables());
  for (std::uint32_t number = 0; number < model.pairs.size(); ++number) {
    pairs[model.pairs[number].first].push_back(number);
    pairs[model.pairs[number].second].push_back(number);
  }
  return pairs;
}

}  // namespace lemma::choice
