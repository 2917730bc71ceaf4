#include "plans/on_ranks/exchange_schedules.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "plans/collectives/checker.h"
#include "plans/collectives/patterns.h"
#include "plans/collectives/topology.h"
#include "plans/on_ranks/applied.h"
#include "plans/on_ranks/rank_program.h"

namespace lemma::plans {

namespace {

using collectives::Action;
using collectives::Collective;
using collectives::Schedule;
using interpreter::Tensor;

/// The operator whose exchanges a schedule is for.
std::string_view operator_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce: return "AllReduce";
    case Collective::all_gather: return "AllGather";
    case Collective::reduce_scatter: return "ReduceScatter";
    case Collective::broadcast: return "Broadcast";
    case Collective::all_to_all:
    case Collective::permute: break;
  }
  return "";
}

bool adds_up(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

std::string title(const Schedule& schedule) {
  return fmt::format("the schedule of an {} of {} ranks", name(schedule.collective),
                     schedule.nodes);
}

/// Why a schedule does not fit an exchange; empty: it does.
std::string misfit(const Schedule& schedule, const Exchange& exchange) {
  const auto sizes = *constant_sizes(*exchange.operand_type.shape);
  const auto own = static_cast<std::uint64_t>(interpreter::element_count(sizes));
  const bool is_of_parts = schedule.collective == Collective::all_gather;
  const std::uint64_t elements = is_of_parts ? own * schedule.nodes : own;
  if (elements % schedule.chunks != 0)
    return fmt::format("it has {} chunks, and the tensor {} elements", schedule.chunks, elements);
  if (schedule.collective == Collective::broadcast) {
    const auto root = exchange.attributes.dimension("root").offset();
    if (std::cmp_not_equal(root, schedule.root))
      return fmt::format("it begins at rank {}, and the exchange at {}", schedule.root, root);
  }
  if (!adds_up(schedule.collective)) return "";
  const std::string& reduction = exchange.attributes.string("reduction");
  if (reduction == "sum" || reduction == "max" || reduction == "min") return "";
  return fmt::format("it reduces two tensors at a time, and the reduction is '{}'", reduction);
}

/// The chunks of one rank while a schedule is carried out.
class Chunks {
 public:
  Chunks(const Schedule& schedule, const Group& group, const std::string& reduction, Tensor chunks,
         std::uint32_t channel, Communicator& communicator)
      : group_(group),
        place_(place_in(group, communicator.rank())),
        reduction_(reduction),
        held_(Tensor::uninitialized(chunks.data_type(), chunks.sizes())),
        operand_(std::move(chunks)),
        size_(operand_.bytes().size() / schedule.chunks),
        channel_(channel),
        communicator_(communicator) {
    std::copy(operand_.bytes().begin(), operand_.bytes().end(), held_.writable_bytes().begin());
  }

  /// Messages have copies of the chunks, so that all of them are sent before the first one changes.
  Result<void> step(const collectives::Step& step) {
    for (const collectives::Send& send : step.sends)
      if (send.from == place_) {
        const Tensor& from = send.action == Action::add_operand ? operand_ : held_;
        LEMMA_RETURN_IF_ERROR(communicator_.send(group_[send.to], channel_,
                                                 from.bytes().subspan(send.chunk * size_, size_)));
      }
    for (const collectives::Send& send : step.sends)
      if (send.to == place_) LEMMA_RETURN_IF_ERROR(receive(send));
    return {};
  }

  Tensor held() && { return std::move(held_); }

 private:
  Result<void> receive(const collectives::Send& send) {
    const std::span<std::byte> chunk = own(send.chunk);
    if (send.action == Action::copy)
      return communicator_.receive(group_[send.from], channel_, chunk);
    interpreter::Sizes sizes = held_.sizes();
    sizes[0] = 2;
    Tensor both = Tensor::uninitialized(held_.data_type(), sizes);
    const std::span<std::byte> bytes = both.writable_bytes();
    std::copy(chunk.begin(), chunk.end(), bytes.begin());
    LEMMA_RETURN_IF_ERROR(
        communicator_.receive(group_[send.from], channel_, bytes.subspan(size_, size_)));
    LEMMA_ASSIGN_OR_RETURN(const Tensor sum, applied("Reduce", both, {{"reduction", reduction_}}));
    std::copy(sum.bytes().begin(), sum.bytes().end(), chunk.begin());
    return {};
  }

  std::span<std::byte> own(std::uint32_t chunk) {
    return held_.writable_bytes().subspan(chunk * size_, size_);
  }

  const Group& group_;
  std::size_t place_;
  const std::string& reduction_;
  Tensor held_, operand_;
  std::size_t size_;
  std::uint32_t channel_;
  Communicator& communicator_;
};

}  // namespace

Result<void> ExchangeSchedules::add(Schedule schedule) {
  if (find(operator_of(schedule.collective), schedule.nodes) != nullptr)
    return bad_input(fmt::format("{} is given twice", title(schedule)));
  LEMMA_ASSIGN_OR_RETURN(const collectives::Topology links,
                         collectives::named_topology(fmt::format("full:{}", schedule.nodes)));
  LEMMA_ASSIGN_OR_RETURN(Schedule fits, collectives::fitted(std::move(schedule), links));
  if (const auto fault = collectives::fault_of(links, fits))
    return bad_input(fmt::format("{} is wrong: {}", title(fits), *fault));
  schedules_.push_back(std::move(fits));
  return {};
}

const Schedule* ExchangeSchedules::find(std::string_view op, std::size_t ranks) const {
  for (const Schedule& schedule : schedules_)
    if (schedule.nodes == ranks && operator_of(schedule.collective) == op) return &schedule;
  return nullptr;
}

Result<std::vector<std::size_t>> uses_of(const ExchangeSchedules& schedules,
                                         const std::vector<GroupOfExchange>& exchanges) {
  std::vector<std::size_t> uses(schedules.all().size(), 0);
  for (const GroupOfExchange& group : exchanges) {
    const Schedule* schedule = schedules.find(group.exchange->op, group.ranks);
    if (schedule == nullptr) continue;
    ++uses[static_cast<std::size_t>(schedule - schedules.all().data())];
    const std::string reason = misfit(*schedule, *group.exchange);
    if (!reason.empty())
      return bad_input(fmt::format("{} does not fit the plan: {}", title(*schedule), reason));
  }
  for (std::size_t i = 0; i < uses.size(); ++i)
    if (uses[i] == 0)
      return bad_input(fmt::format(
          "{} does not fit the plan, which has no {} of {} ranks", title(schedules.all()[i]),
          operator_of(schedules.all()[i].collective), schedules.all()[i].nodes));
  return uses;
}

std::uint64_t sends_of(const Schedule& schedule, std::size_t place) {
  std::uint64_t sends = 0;
  for (const collectives::Step& step : schedule.steps)
    sends += static_cast<std::uint64_t>(
        std::count_if(step.sends.begin(), step.sends.end(),
                      [&](const auto& send) { return send.from == place; }));
  return sends;
}

Result<Tensor> carried_out(const Schedule& schedule, const Group& group,
                           const std::string& reduction, Tensor chunks, std::uint32_t channel,
                           Communicator& communicator) {
  Chunks own(schedule, group, reduction, std::move(chunks), channel, communicator);
  for (const collectives::Step& step : schedule.steps) LEMMA_RETURN_IF_ERROR(own.step(step));
  return std::move(own).held();
}

}  // namespace lemma::plans
