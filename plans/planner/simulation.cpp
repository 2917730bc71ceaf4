#include "plans/planner/simulation.h"

#include <algorithm>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "costmodel/graph_cost.h"

namespace lemma::plans {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// What a rank holds, and the most that it has held.
class RankMemory {
 public:
  RankMemory(const RankedProgram& program, std::size_t rank) : program_(program), rank_(rank) {
    for (const RankSource& source : program.sources[rank])
      if (sources_.insert(source.value).second) held_ += bytes_of_value(source.value);
    peak_ = held_;
    for (std::size_t i = 0; i < program.steps[rank].size(); ++i)
      for (const ValueId value : read_by(program.steps[rank][i])) last_reads_[value] = i;
    for (const RankOutput& output : program.outputs)
      if (output.rank == rank) last_reads_[output.value] = program.steps[rank].size();
  }

  void pass(std::size_t step) {
    for (const ValueId value : made_by(program_.steps[rank_][step])) {
      if (sources_.contains(value) || !made_.insert(value).second) continue;
      held_ += bytes_of_value(value);
      peak_ = std::max(peak_, held_);
      if (!last_reads_.contains(value)) release(value);
    }
    for (const ValueId value : read_by(program_.steps[rank_][step]))
      if (last_reads_.at(value) == step) release(value);
  }
  double peak() const { return peak_; }

 private:
  const Graph& graph() const { return program_.program.graph; }
  double bytes_of_value(ValueId value) const { return bytes_of_tensor(graph().type(value)); }
  std::size_t place(const GroupExchange& exchange) const {
    return static_cast<std::size_t>(std::find(exchange.ranks.begin(), exchange.ranks.end(), rank_) -
                                    exchange.ranks.begin());
  }

  std::vector<ValueId> read_by(const Step& step) const {
    if (step.kind == StepKind::send) return {program_.transfers[step.number].value};
    if (step.kind == StepKind::receive) return {};
    if (step.kind == StepKind::exchange) {
      const GroupExchange& exchange = program_.exchanges[step.number];
      return {exchange.operands[place(exchange)]};
    }
    std::vector<ValueId> result;
    for (const ValueId operand : graph().node(step.node).inputs)
      if (!operand.is_none()) result.push_back(operand);
    return result;
  }
  std::vector<ValueId> made_by(const Step& step) const {
    if (step.kind == StepKind::send) return {};
    if (step.kind == StepKind::receive) return {program_.transfers[step.number].value};
    if (step.kind == StepKind::exchange) {
      const GroupExchange& exchange = program_.exchanges[step.number];
      return {exchange.results[place(exchange)]};
    }
    std::vector<ValueId> result;
    const Node& node = graph().node(step.node);
    for (std::uint32_t i = 0; i < node.output_count; ++i) result.push_back(node.output(i));
    return result;
  }
  void release(ValueId value) {
    if (made_.erase(value) > 0) held_ -= bytes_of_value(value);
  }

  const RankedProgram& program_;
  std::size_t rank_;
  std::set<ValueId> sources_, made_;
  std::map<ValueId, std::size_t> last_reads_;  // by value, the step
  double held_ = 0, peak_ = 0;
};

/// The clock of each rank.
class Clocks {
 public:
  Clocks(const RankedProgram& program, const Paths& paths, NodePrices& prices)
      : program_(program), paths_(paths), prices_(prices) {
    const std::size_t ranks = program.rank_count();
    now_.assign(ranks, 0);
    next_.assign(ranks, 0);
    sends_until_ = receives_until_ = now_;
    arrivals_.assign(program.transfers.size(), never);
    result_.busy.assign(ranks, 0);
    result_.sent_bytes.assign(ranks, 0);
    for (std::size_t rank = 0; rank < ranks; ++rank) memories_.emplace_back(program, rank);
  }

  Result<Simulation> operator()() && {
    for (;;) {
      // The step that can begin first; of equal ones that of the lowest rank.
      std::size_t chosen = now_.size();
      double first = never;
      for (std::size_t rank = 0; rank < now_.size(); ++rank)
        if (const double begin = begin_of_next(rank); begin < first) first = begin, chosen = rank;
      if (chosen == now_.size()) break;
      LEMMA_RETURN_IF_ERROR(carry_out(chosen, first));
    }
    for (std::size_t rank = 0; rank < now_.size(); ++rank) {
      if (next_[rank] < program_.steps[rank].size())
        return bad_input("the ranks wait for each other");
      result_.seconds = std::max(result_.seconds, now_[rank]);
      result_.peak_bytes.push_back(memories_[rank].peak());
    }
    return std::move(result_);
  }

 private:
  double begin_of_next(std::size_t rank) const {
    if (next_[rank] == program_.steps[rank].size()) return never;
    const Step& step = program_.steps[rank][next_[rank]];
    if (step.kind == StepKind::receive) return std::max(now_[rank], arrivals_[step.number]);
    if (step.kind != StepKind::exchange) return now_[rank];
    double begin = 0;
    for (const std::size_t member : program_.exchanges[step.number].ranks) {
      if (next_[member] == program_.steps[member].size()) return never;
      const Step& other = program_.steps[member][next_[member]];
      if (other.kind != StepKind::exchange || other.number != step.number) return never;
      begin = std::max(begin, now_[member]);
    }
    return begin;
  }

  void pass(std::size_t rank, double until) {
    memories_[rank].pass(next_[rank]++);
    now_[rank] = until;
  }

  Result<void> carry_out(std::size_t rank, double begin) {
    const Step& step = program_.steps[rank][next_[rank]];
    const Graph& graph = program_.program.graph;
    switch (step.kind) {
      case StepKind::compute: {
        const Node& node = graph.node(step.node);
        const double seconds = prices_(node, node.attributes, graph.input_types(node));
        result_.busy[rank] += seconds;
        pass(rank, begin + seconds);
        return {};
      }
      case StepKind::send: send(rank, program_.transfers[step.number], step.number); return {};
      case StepKind::receive: pass(rank, begin); return {};
      case StepKind::exchange: return exchange(program_.exchanges[step.number], begin);
    }
    return {};
  }

  void send(std::size_t rank, const Transfer& transfer, std::size_t number) {
    const double bytes = bytes_of_tensor(program_.program.graph.type(transfer.value));
    const double latency = paths_.latency(rank, transfer.to);
    const double wire = std::max(0.0, paths_.seconds(rank, transfer.to, bytes) - latency);
    const double begin = std::max({now_[rank], sends_until_[rank], receives_until_[transfer.to]});
    sends_until_[rank] = receives_until_[transfer.to] = begin + wire;
    arrivals_[number] = begin + wire + latency;
    result_.sent_bytes[rank] += bytes;
    pass(rank, now_[rank]);
  }

  Result<void> exchange(const GroupExchange& exchange, double begin) {
    LEMMA_ASSIGN_OR_RETURN(
        const clusters::BestAlgorithm best,
        best_exchange(exchange.op, program_.program.graph.type(exchange.operands[0]),
                      exchange.ranks.size(), wire_between(exchange.ranks, paths_)));
    for (const std::size_t member : exchange.ranks) {
      result_.sent_bytes[member] +=
          best.cost.total_bytes / static_cast<double>(exchange.ranks.size());
      pass(member, begin + best.seconds);
    }
    return {};
  }

  const RankedProgram& program_;
  const Paths& paths_;
  NodePrices& prices_;
  std::vector<double> now_, sends_until_, receives_until_;  // by rank
  std::vector<std::size_t> next_;                           // by rank
  std::vector<double> arrivals_;                            // by transfer
  std::vector<RankMemory> memories_;                        // by rank
  Simulation result_;
};

/// The collective that an operator of a program is; nothing for other operators.
std::optional<clusters::Collective> collective_of(std::string_view op) {
  using clusters::Collective;
  static const std::map<std::string, Collective, std::less<>> kinds = {
      {"AllReduce", Collective::all_reduce},         {"AllGather", Collective::all_gather},
      {"ReduceScatter", Collective::reduce_scatter}, {"AllToAll", Collective::all_to_all},
      {"Broadcast", Collective::broadcast},          {"Permute", Collective::permute}};
  const auto kind = kinds.find(op);
  return kind == kinds.end() ? std::nullopt : std::optional(kind->second);
}

}  // namespace

double bytes_of_tensor(const TensorType& type) {
  double bytes = static_cast<double>(byte_size(type.data_type));
  const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
  if (!sizes) return 0;
  for (const std::int64_t size : *sizes) bytes *= static_cast<double>(size);
  return bytes;
}

Result<std::optional<ExchangeDemand>> demand_of(std::string_view op, const TensorType& operand,
                                                std::size_t ranks) {
  using clusters::Collective;
  if (op == "OwnPart") return std::optional<ExchangeDemand>();
  const auto collective = collective_of(op);
  if (!collective) return unsupported(fmt::format("{} is no exchange whose cost is known", op));
  // The whole tensor counts (plans/clusters/collectives.h), of which each has a part here.
  const bool is_of_parts = *collective == Collective::all_gather ||
                           *collective == Collective::all_to_all ||
                           *collective == Collective::permute;
  const double bytes = bytes_of_tensor(operand) * (is_of_parts ? static_cast<double>(ranks) : 1);
  return std::optional<ExchangeDemand>({*collective, bytes});
}

double own_part_seconds(const TensorType& operand, std::size_t ranks,
                        const clusters::MeasuredTimes* measured) {
  if (measured == nullptr) return 0;
  return measured->seconds(clusters::own_part_name, bytes_of_tensor(operand), ranks).value_or(0);
}

Result<double> exchange_seconds(std::string_view op, const TensorType& operand,
                                const clusters::Axis& axis) {
  LEMMA_ASSIGN_OR_RETURN(const auto demand, demand_of(op, operand, axis.size));
  return demand ? clusters::seconds_along(axis, demand->collective, demand->bytes)
                : own_part_seconds(operand, axis.size, axis.measured.get());
}

Result<clusters::BestAlgorithm> best_exchange(std::string_view op, const TensorType& operand,
                                              std::size_t ranks, const clusters::Wire& wire) {
  LEMMA_ASSIGN_OR_RETURN(const auto demand, demand_of(op, operand, ranks));
  if (!demand) {
    clusters::BestAlgorithm nothing_sent;
    nothing_sent.seconds = own_part_seconds(operand, ranks, wire.measured);
    return nothing_sent;
  }
  return clusters::best_algorithm(demand->collective, demand->bytes, ranks, wire);
}

Result<clusters::BestAlgorithm> best_exchange(std::string_view op, double bytes, std::size_t ranks,
                                              const clusters::Wire& wire) {
  if (op == "OwnPart") return clusters::BestAlgorithm{};
  const auto collective = collective_of(op);
  if (!collective) return unsupported(fmt::format("{} is no exchange whose cost is known", op));
  return clusters::best_algorithm(*collective, bytes, ranks, wire);
}

clusters::Wire wire_between(const std::vector<std::size_t>& devices, const Paths& paths) {
  clusters::Wire wire;
  for (const std::size_t a : devices)
    for (const std::size_t b : devices)
      if (a != b) {
        wire.latency_seconds = std::max(wire.latency_seconds, paths.latency(a, b));
        wire.seconds_per_byte = std::max(wire.seconds_per_byte, paths.seconds_per_byte(a, b));
      }
  wire.measured = paths.measured();
  return wire;
}

Paths::Paths(const clusters::Cluster& cluster)
    : devices_(cluster.devices.size()), overlaps_(cluster.overlaps), measured_(cluster.measured) {
  std::size_t ends = devices_ + cluster.switches.size();
  for (const clusters::Link& link : cluster.links)
    ends = std::max<std::size_t>(ends, std::max(link.from, link.to) + 1);
  paths_.resize(devices_ * devices_);
  for (std::size_t from = 0; from < devices_; ++from) {
    // The least latency first; of equal paths the one with the most bandwidth.
    std::vector<Path> best(ends, {never, never});
    std::vector<bool> is_done(ends, false);
    best[from] = {};
    for (;;) {
      std::size_t next = ends;
      for (std::size_t end = 0; end < ends; ++end)
        if (!is_done[end] && best[end].latency < never &&
            (next == ends || best[end].latency < best[next].latency))
          next = end;
      if (next == ends) break;
      is_done[next] = true;
      for (const clusters::Link& link : cluster.links) {
        if (link.from != next && (link.is_one_way || link.to != next)) continue;
        const std::size_t other = link.from == next ? link.to : link.from;
        const Path longer{best[next].latency + link.latency_seconds,
                          std::max(best[next].seconds_per_byte, 1 / link.bytes_per_second)};
        if (longer.latency < best[other].latency ||
            (longer.latency == best[other].latency &&
             longer.seconds_per_byte < best[other].seconds_per_byte))
          best[other] = longer;
      }
    }
    std::copy_n(best.begin(), devices_, paths_.begin() + static_cast<long>(from * devices_));
  }
}

double NodePrices::operator()(const Node& node, const Attributes& attributes,
                              const std::vector<TensorType>& operands) {
  std::string key = fmt::format("{} {}", record(node.op).name, node.output_count);
  for (const auto& [name, value] : attributes) key += fmt::format(" {}={}", name, text(value));
  for (const TensorType& type : operands)
    key += type.data_type == DataType::undefined ? "; -" : "; " + text(type);
  const auto [place, is_new] = known_.emplace(std::move(key), 0.0);
  if (!is_new) return place->second;
  Graph alone;
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < operands.size(); ++i)
    values.push_back(operands[i].data_type == DataType::undefined
                         ? ValueId::none()
                         : *alone.add_input(fmt::format("x{}", i), operands[i]));
  const auto copy = alone.add_operation(node.op, values, attributes, node.output_count);
  if (!copy) return place->second = never;
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    (void)alone.add_output(fmt::format("y{}", i), alone.node(*copy).output(i));
  return place->second = cost_of(alone, costs_).seconds;
}

Result<Simulation> simulate(const RankedProgram& program, const Paths& paths, NodePrices& prices) {
  return Clocks(program, paths, prices)();
}

}  // namespace lemma::plans
