#include "plans/on_ranks/traffic.h"

#include "interpreter/tensor.h"
#include "ir/data_type.h"
#include "plans/on_ranks/exchange_schedules.h"
#include "plans/on_ranks/ranked_run.h"

namespace lemma::plans {

namespace {

/// Of one collective: messages, and the bytes of each.
struct Messages {
  std::uint64_t count = 0, bytes = 0;
};

/// A message for each send of a schedule, of a chunk each.
Messages messages_of(const Exchange& exchange, const Group& group, std::size_t rank,
                     const collectives::Schedule& schedule) {
  const auto sizes = *constant_sizes(*exchange.operand_type.shape);
  const auto own = byte_size(exchange.operand_type.data_type) *
                   static_cast<std::uint64_t>(interpreter::element_count(sizes));
  const bool is_of_parts = schedule.collective == clusters::Collective::all_gather;
  return {sends_of(schedule, place_in(group, rank)),
          own * (is_of_parts ? group.size() : 1) / schedule.chunks};
}

Messages messages_of(const Exchange& exchange, const Group& group, std::size_t rank) {
  const auto sizes = *constant_sizes(*exchange.operand_type.shape);
  const auto elements = static_cast<std::uint64_t>(interpreter::element_count(sizes));
  const std::uint64_t bytes = byte_size(exchange.operand_type.data_type) * elements;
  const std::uint64_t ranks = group.size(), others = ranks - 1;
  if (exchange.op == "OwnPart") return {};
  if (exchange.op == "AllReduce" && elements % ranks == 0) return {2 * others, bytes / ranks};
  if (exchange.op == "ReduceScatter" || exchange.op == "AllToAll") return {others, bytes / ranks};
  if (exchange.op != "Permute") return {others, bytes};
  const auto place = static_cast<std::int64_t>(place_in(group, rank));
  const auto count = static_cast<std::int64_t>(ranks);
  const std::int64_t shift = exchange.attributes.integer("shift");
  const bool is_sent = exchange.attributes.integer("ring") != 0
                           ? shift % count != 0
                           : shift != 0 && place + shift >= 0 && place + shift < count;
  return {is_sent ? 1U : 0U, bytes};
}

void add(Traffic& traffic, const Traffic& more) {
  traffic.collectives += more.collectives;
  traffic.messages += more.messages;
  traffic.bytes += more.bytes;
}

}  // namespace

Traffic collective_traffic(const Exchange& exchange, const Group& group, std::size_t rank,
                           const ExchangeSchedules* schedules) {
  const auto* schedule =
      schedules == nullptr ? nullptr : schedules->find(exchange.op, group.size());
  const Messages messages = schedule == nullptr ? messages_of(exchange, group, rank)
                                                : messages_of(exchange, group, rank, *schedule);
  return {exchange.op != "OwnPart" ? 1U : 0U, messages.count, messages.count * messages.bytes};
}

Traffic planned_traffic(const RankProgram& program, std::size_t rank,
                        const ExchangeSchedules* schedules) {
  Traffic traffic;
  for (const Stage& stage : program.stages)
    for (const Exchange& exchange : stage.exchanges) {
      const auto axis = static_cast<std::size_t>(exchange.attributes.integer("device_axis"));
      add(traffic, collective_traffic(exchange, program.groups[axis], rank, schedules));
    }
  return traffic;
}

Traffic planned_traffic(const RankedProgram& program, std::size_t rank,
                        std::span<const MessageChannel> passed_on,
                        const ExchangeSchedules* schedules) {
  Traffic traffic;
  for (const Step& step : program.steps[rank]) {
    if (step.kind != StepKind::exchange) continue;
    const GroupExchange& exchange = program.exchanges[step.number];
    const ValueId operand = exchange.operands[place_in(exchange.ranks, rank)];
    add(traffic, collective_traffic({exchange.op, exchange.attributes, operand, operand,
                                     program.program.graph.type(operand)},
                                    exchange.ranks, rank, schedules));
  }
  std::vector<MessageChannel> channels = message_channels(program);
  channels.insert(channels.end(), passed_on.begin(), passed_on.end());
  for (const MessageChannel& channel : channels) {
    if (channel.from != rank || channel.to == rank) continue;
    ++traffic.messages;
    traffic.bytes += channel.bytes;
  }
  return traffic;
}

}  // namespace lemma::plans
