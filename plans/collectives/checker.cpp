#include "plans/collectives/checker.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lemma::collectives {

namespace {

/// The nodes whose operands are in a value, ascending. Of a chunk that is not added up, the node that had it at first.
using Operands = std::vector<Node>;

/// What a node has of a chunk. Empty: nothing.
struct Value {
  Operands operands;
  bool waits = false;  // something was added, and this was not sent since
};

class Replay {
 public:
  Replay(const Topology& topology, const Schedule& schedule)
      : topology_(topology), schedule_(schedule) {}

  std::optional<std::string> fault() {
    if (auto fault = fault_of_sizes()) return fault;
    set_up();
    for (std::size_t number = 0; number < schedule_.steps.size(); ++number)
      if (auto fault = run(number)) return fmt::format("step {}{}", number + 1, *fault);
    return fault_of_end();
  }

 private:
  std::optional<std::string> fault_of_sizes() const;
  std::optional<std::string> fault_of_ends(const Send& send) const;
  std::optional<std::string> fault_of_loads(const Step& step) const;
  std::optional<std::string> fault_of_end() const;
  std::optional<std::string> run(std::size_t number);
  std::optional<std::string> deliver(const Send& send, const Value& sent);
  void set_up();

  bool is_reduction() const {
    return schedule_.collective == Collective::all_reduce ||
           schedule_.collective == Collective::reduce_scatter;
  }
  Node owner(std::uint32_t chunk) const {
    return static_cast<Node>(chunk / (schedule_.chunks / schedule_.nodes));
  }
  bool is_needed(Node node, std::uint32_t chunk) const {
    return schedule_.collective != Collective::reduce_scatter || owner(chunk) == node;
  }
  bool is_finished(const Value& value) const {
    return value.operands.size() == (is_reduction() ? schedule_.nodes : 1);
  }
  std::size_t place(Node node, std::uint32_t chunk) const {
    return node * std::size_t{schedule_.chunks} + chunk;
  }

  const Topology& topology_;
  const Schedule& schedule_;
  std::vector<Value> values_;  // by node and chunk
};

std::optional<std::string> Replay::fault_of_sizes() const {
  if (schedule_.nodes != topology_.nodes)
    return fmt::format("the schedule is for {} nodes, and '{}' has {}", schedule_.nodes,
                       topology_.name, topology_.nodes);
  const bool has_owners = schedule_.collective == Collective::all_gather ||
                          schedule_.collective == Collective::reduce_scatter;
  if (!has_owners && !is_reduction() && schedule_.collective != Collective::broadcast)
    return fmt::format("there are no schedules of {}", name(schedule_.collective));
  if (schedule_.chunks == 0 || (has_owners && schedule_.chunks % schedule_.nodes != 0))
    return fmt::format(
        "there are {} chunks; {} is needed", schedule_.chunks,
        has_owners ? fmt::format("a multiple of {} nodes", schedule_.nodes) : "1 or more");
  if (schedule_.root >= schedule_.nodes)
    return fmt::format("the root is node {} of {}", schedule_.root, schedule_.nodes);
  return std::nullopt;
}

void Replay::set_up() {
  values_.assign(schedule_.nodes * schedule_.chunks, {});
  for (Node node = 0; node < schedule_.nodes; ++node)
    for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk) {
      const bool has = schedule_.collective == Collective::all_gather  ? owner(chunk) == node
                       : schedule_.collective == Collective::broadcast ? schedule_.root == node
                                                                       : true;
      if (has) values_[place(node, chunk)].operands = {node};
    }
}

std::optional<std::string> Replay::fault_of_ends(const Send& send) const {
  if (send.from >= schedule_.nodes || send.to >= schedule_.nodes)
    return fmt::format("there are nodes from 0 to {} only", schedule_.nodes - 1);
  if (send.chunk >= schedule_.chunks)
    return fmt::format("there are chunks from 0 to {} only", schedule_.chunks - 1);
  if (!topology_.link(send.from, send.to))
    return fmt::format("no link leads from {} to {}", send.from, send.to);
  return std::nullopt;
}

std::optional<std::string> Replay::fault_of_loads(const Step& step) const {
  if (step.rounds == 0) return ": has no rounds";
  std::vector<std::uint64_t> loads(topology_.links.size());
  for (const Send& send : step.sends) ++loads[*topology_.link(send.from, send.to)];
  for (std::size_t number = 0; number < loads.size(); ++number) {
    const Link& link = topology_.links[number];
    if (loads[number] > std::uint64_t{link.capacity} * step.rounds)
      return fmt::format(": the link from {} to {} carries {} chunks; {} rounds allow {}",
                         link.from, link.to, loads[number], step.rounds,
                         std::uint64_t{link.capacity} * step.rounds);
  }
  for (const Port& port : topology_.ports) {
    std::uint64_t load = 0;
    for (const std::size_t link : port.links) load += loads[link];
    if (load > std::uint64_t{port.capacity} * step.rounds)
      return fmt::format(
          ": the port with the link from {} to {} carries {} chunks; {} rounds allow {}",
          topology_.links[port.links.front()].from, topology_.links[port.links.front()].to, load,
          step.rounds, std::uint64_t{port.capacity} * step.rounds);
  }
  return std::nullopt;
}

std::optional<std::string> Replay::run(std::size_t number) {
  const Step& step = schedule_.steps[number];
  const auto at = [&](std::size_t place, const std::string& fault) {
    const Send& send = step.sends[place];
    return fmt::format(", send {} (chunk {} from {} to {}): {}", place + 1, send.chunk, send.from,
                       send.to, fault);
  };
  for (std::size_t send = 0; send < step.sends.size(); ++send)
    if (const auto fault = fault_of_ends(step.sends[send])) return at(send, *fault);
  if (auto fault = fault_of_loads(step)) return fault;
  // What is sent is what was there before the step.
  std::vector<Value> sent;
  for (const Send& send : step.sends) sent.push_back(values_[place(send.from, send.chunk)]);
  for (const Send& send : step.sends)
    if (send.action != Action::add_operand) values_[place(send.from, send.chunk)].waits = false;
  for (std::size_t send = 0; send < step.sends.size(); ++send)
    if (const auto fault = deliver(step.sends[send], sent[send])) return at(send, *fault);
  return std::nullopt;
}

std::optional<std::string> Replay::deliver(const Send& send, const Value& sent) {
  Value& there = values_[place(send.to, send.chunk)];
  if (sent.operands.empty())
    return fmt::format("node {} does not have chunk {}", send.from, send.chunk);
  if (send.action == Action::copy) {
    if (!is_finished(sent))
      return fmt::format("it is copied with the operands of {} of {} nodes", sent.operands.size(),
                         schedule_.nodes);
    if (!is_needed(send.to, send.chunk))
      return fmt::format("node {} does not need chunk {}", send.to, send.chunk);
    if (is_finished(there)) return fmt::format("node {} has chunk {}", send.to, send.chunk);
    if (there.waits) return fmt::format("what was added to it at node {} is not used", send.to);
    there = {sent.operands, false};
    return std::nullopt;
  }
  if (!is_reduction()) return fmt::format("{} adds nothing", name(schedule_.collective));
  const Operands added = send.action == Action::add_operand ? Operands{send.from} : sent.operands;
  Operands sum;
  for (const Node node : added)
    if (std::binary_search(there.operands.begin(), there.operands.end(), node))
      return fmt::format("the operand of node {} is in the sum of node {} already", node, send.to);
  std::merge(there.operands.begin(), there.operands.end(), added.begin(), added.end(),
             std::back_inserter(sum));
  there = {std::move(sum), true};
  return std::nullopt;
}

std::optional<std::string> Replay::fault_of_end() const {
  for (Node node = 0; node < schedule_.nodes; ++node)
    for (std::uint32_t chunk = 0; chunk < schedule_.chunks; ++chunk) {
      const Value& value = values_[place(node, chunk)];
      const bool is_needed_here = is_needed(node, chunk);
      if (is_needed_here && value.operands.empty())
        return fmt::format("the end: node {} does not have chunk {}", node, chunk);
      if (is_needed_here && !is_finished(value)) {
        Node missing = 0;
        while (std::binary_search(value.operands.begin(), value.operands.end(), missing)) ++missing;
        return fmt::format("the end: in chunk {} of node {} the operand of node {} is missing",
                           chunk, node, missing);
      }
      if (!is_needed_here && value.waits)
        return fmt::format("the end: what was added to chunk {} of node {} is not used", chunk,
                           node);
    }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> fault_of(const Topology& topology, const Schedule& schedule) {
  return Replay(topology, schedule).fault();
}

}  // namespace lemma::collectives
