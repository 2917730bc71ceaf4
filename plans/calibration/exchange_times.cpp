#include "plans/calibration/exchange_times.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "interpreter/random.h"
#include "plans/clusters/collectives.h"
#include "plans/on_ranks/rank_program.h"

namespace lemma::plans {

namespace {

using clusters::MeasuredTime;
using interpreter::Tensor;

/// An exchange of programs of ranks, and what it is called where it is measured.
struct Kind {
  std::string_view op;
  std::string_view what;
  bool has_parts;  // each rank has a part of the tensor whose bytes count
};

std::array<Kind, 7> kinds() {
  using clusters::Collective;
  return {{{"AllReduce", name(Collective::all_reduce), false},
           {"AllGather", name(Collective::all_gather), true},
           {"ReduceScatter", name(Collective::reduce_scatter), false},
           {"AllToAll", name(Collective::all_to_all), true},
           {"Broadcast", name(Collective::broadcast), false},
           {"Permute", name(Collective::permute), true},
           {"OwnPart", clusters::own_part_name, false}}};
}

Attributes attributes_of(std::string_view op) {
  const std::int64_t first = 0, last = 1;  // along the last axis parts are copied row by row
  if (op == "AllReduce") return {{"reduction", std::string("sum")}};
  if (op == "ReduceScatter") return {{"axis", last}, {"reduction", std::string("sum")}};
  if (op == "AllToAll") return {{"split_axis", last}, {"concat_axis", first}};
  if (op == "Broadcast") return {{"root", Dimension(0)}};
  if (op == "Permute") return {{"shift", std::int64_t{1}}, {"ring", std::int64_t{1}}};
  return {{"axis", last}};
}

/// The group that a rank is in.
Group group_of(std::size_t rank, std::size_t size) {
  Group group;
  for (std::size_t place = 0; place < size; ++place) group.push_back(rank / size * size + place);
  return group;
}

class ExchangeTimer {
 public:
  ExchangeTimer(Communicator& base, RankTimer& timer, const ExchangeTimesRequest& request)
      : base_(base), timer_(timer), request_(request) {}

  Result<clusters::MeasuredTimes> operator()() && {
    LEMMA_RETURN_IF_ERROR(
        measure(clusters::message_name, 2,
                [&](Communicator& way, std::size_t bytes) { return message(way, bytes); }));
    for (const std::size_t size : group_sizes(base_.size()))
      for (const Kind& kind : kinds())
        LEMMA_RETURN_IF_ERROR(measure(kind.what, size, [&](Communicator& way, std::size_t bytes) {
          return exchange(way, kind, size, bytes);
        }));
    return std::move(times_);
  }

 private:
  /// Of all sizes that there is time for.
  template <typename Act>
  Result<void> measure(std::string_view what, std::size_t ranks, Act act) {
    std::vector<MeasuredTime> times;
    for (const std::size_t bytes : request_.bytes) {
      if (!times.empty()) {
        LEMMA_ASSIGN_OR_RETURN(const bool is_over, timer_.is_over());
        if (is_over) break;
      }
      const std::string place = fmt::format("{} of {} bytes on {} ranks", what, bytes, ranks);
      if (request_.on_progress) request_.on_progress(place);
      LEMMA_ASSIGN_OR_RETURN(const auto way, request_.make_way(base_));
      (way ? *way : base_).enter(place);
      LEMMA_ASSIGN_OR_RETURN(const MeasuredTime time, act(way ? *way : base_, bytes));
      LEMMA_RETURN_IF_ERROR(meet(base_));  // others may still send by it
      // Small tensors are made as large as a group can share.
      if (times.empty() || time.bytes > times.back().bytes) times.push_back(time);
    }
    times_.add(std::string(what), ranks, std::move(times));
    return {};
  }

  /// Rows of about 64 elements. A group of so many ranks can share both axes.
  static Tensor tensor(std::size_t bytes, std::size_t ranks) {
    const std::size_t row = std::max<std::size_t>(1, 64 / ranks) * ranks;
    const std::size_t rows =
        std::max<std::size_t>(1, bytes / (row * sizeof(float) * ranks)) * ranks;
    return interpreter::random_tensor(
        DataType::f32, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(row)}, 0);
  }

  Result<MeasuredTime> exchange(Communicator& way, const Kind& kind, std::size_t size,
                                std::size_t bytes) {
    const Group group = group_of(way.rank(), size);
    const Tensor own = tensor(kind.has_parts ? bytes / size : bytes, size);
    const Exchange what{std::string(kind.op), attributes_of(kind.op), {}, {}, own.type()};
    const auto act = [&]() -> Result<void> {
      LEMMA_RETURN_IF_ERROR(way.begin_step());
      LEMMA_ASSIGN_OR_RETURN(const Tensor result, exchange_on_group(what, group, 0, way, own));
      return {};
    };
    LEMMA_ASSIGN_OR_RETURN(const double seconds, timer_.seconds(act));
    const double parts = kind.has_parts ? static_cast<double>(size) : 1;
    return MeasuredTime{static_cast<double>(own.bytes().size()) * parts, seconds};
  }

  /// There and back between the first two ranks.
  Result<MeasuredTime> message(Communicator& way, std::size_t bytes) {
    const Tensor sent = tensor(bytes, 1);
    const std::array<MessageChannel, 2> channels = {
        {{next_channel_, 0, 1, sent.bytes().size()},
         {next_channel_ + 1, 1, 0, sent.bytes().size()}}};
    next_channel_ += 2;
    LEMMA_RETURN_IF_ERROR(way.open_channels(channels));
    const auto act = [&]() -> Result<void> {
      LEMMA_RETURN_IF_ERROR(way.begin_step());
      for (const MessageChannel& channel : channels) {
        if (way.rank() == channel.from)
          LEMMA_RETURN_IF_ERROR(way.send(channel.to, channel.number, sent.bytes()));
        if (way.rank() != channel.to) continue;
        Tensor received = Tensor::uninitialized(sent.data_type(), sent.sizes());
        LEMMA_RETURN_IF_ERROR(way.receive(channel.from, channel.number, received.writable_bytes()));
      }
      return {};
    };
    LEMMA_ASSIGN_OR_RETURN(const double seconds, timer_.seconds(act));
    return MeasuredTime{static_cast<double>(sent.bytes().size()), seconds / 2};
  }

  Communicator& base_;
  RankTimer& timer_;
  const ExchangeTimesRequest& request_;
  clusters::MeasuredTimes times_;
  std::uint32_t next_channel_ = 0;
};

}  // namespace

std::vector<std::size_t> group_sizes(std::size_t ranks) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = 2; size <= ranks; ++size)
    if (ranks % size == 0) sizes.push_back(size);
  return sizes;
}

Result<clusters::MeasuredTimes> exchange_times(Communicator& base, RankTimer& timer,
                                               const ExchangeTimesRequest& request) {
  return ExchangeTimer(base, timer, request)();
}

}  // namespace lemma::plans
