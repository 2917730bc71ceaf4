#include "frontend_onnx/node_order.h"

#include <functional>
#include <queue>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/subgraphs.h"

namespace lemma::frontend {

namespace {

using Producers = absl::flat_hash_map<std::string, std::size_t>;

Result<Producers> find_producers(const FlatNodes& nodes, const std::set<std::string>& given) {
  Producers producers;
  for (std::size_t i = 0; i < nodes.nodes.size(); ++i)
    for (const std::string& output : nodes.nodes[i].node->output()) {
      if (output.empty()) continue;
      if (given.contains(output))
        return bad_input(fmt::format("{}: output '{}' has the name of an input or initializer",
                                     label(nodes.nodes[i]), output));
      if (const auto [where, is_new] = producers.emplace(output, i); !is_new)
        return bad_input(fmt::format("{}: output '{}' is already defined by {}",
                                     label(nodes.nodes[i]), output,
                                     label(nodes.nodes[where->second])));
    }
  return producers;
}

/// Names the nodes of one cycle; every node of `blocked` uses another of them.
std::string describe_cycle(const FlatNodes& nodes, const Producers& producers,
                           const std::vector<std::size_t>& missing) {
  std::size_t current = 0;
  while (missing[current] == 0) ++current;
  std::string through;
  // Walking against the edges among blocked nodes must repeat a node, which is then on a cycle.
  std::set<std::size_t> visited;
  while (visited.insert(current).second) {
    std::size_t next = current;
    auto follow = [&](const std::string& name) {
      const auto producer = producers.find(name);
      if (producer == producers.end() || missing[producer->second] == 0) return;
      next = producer->second;
      through = name;
    };
    for (const std::string& name : nodes.nodes[current].node->input()) follow(name);
    for (const std::string& name : captured_names(*nodes.nodes[current].node)) follow(name);
    current = next;
  }
  return fmt::format("{}: the nodes form a cycle through '{}'", label(nodes.nodes[current]),
                     through);
}

}  // namespace

Result<std::vector<std::size_t>> order_nodes(const FlatNodes& nodes,
                                             const std::set<std::string>& given) {
  LEMMA_ASSIGN_OR_RETURN(const Producers producers, find_producers(nodes, given));
  const std::size_t count = nodes.nodes.size();
  std::vector<std::size_t> missing(count, 0);  // inputs not yet available
  std::vector<std::vector<std::size_t>> users(count);
  for (std::size_t i = 0; i < count; ++i) {
    const ::onnx::NodeProto& node = *nodes.nodes[i].node;
    auto use = [&](const std::string& name) -> Result<void> {
      if (name.empty() || given.contains(name)) return {};
      const auto producer = producers.find(name);
      if (producer == producers.end())
        return bad_input(fmt::format("{}: input '{}' is not defined", label(nodes.nodes[i]), name));
      ++missing[i];
      users[producer->second].push_back(i);
      return {};
    };
    for (const std::string& input : node.input()) LEMMA_RETURN_IF_ERROR(use(input));
    for (const std::string& name : captured_names(node)) LEMMA_RETURN_IF_ERROR(use(name));
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (missing[i] == 0) ready.push(i);
  std::vector<std::size_t> order;
  order.reserve(count);
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    for (const std::size_t user : users[i])
      if (--missing[user] == 0) ready.push(user);
  }
  if (order.size() != count) return bad_input(describe_cycle(nodes, producers, missing));
  return order;
}

}  // namespace lemma::frontend
