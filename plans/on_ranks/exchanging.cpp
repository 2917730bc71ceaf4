// What a rank gets of a collective of a group: by exchanges of its ranks, or chunk by chunk as a schedule says.

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "plans/on_ranks/applied.h"
#include "plans/on_ranks/exchange_schedules.h"
#include "plans/on_ranks/rank_program.h"

namespace lemma::plans {

using interpreter::NamedTensor;
using interpreter::Tensor;

Result<Tensor> applied(std::string_view op, const Tensor& operand, Attributes attributes) {
  Graph graph;
  LEMMA_ASSIGN_OR_RETURN(const ValueId x, graph.add_input("x", operand.type()));
  LEMMA_ASSIGN_OR_RETURN(const ValueId y, graph.add(op, {x}, std::move(attributes)));
  LEMMA_RETURN_IF_ERROR(graph.add_output("y", y));
  interpreter::RunOptions options;
  options.threads = 1;
  const std::vector<NamedTensor> inputs = {{"x", operand}};
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> results, interpreter::run(graph, inputs, options));
  return std::move(results[0]);
}

namespace {

interpreter::Sizes stacked(std::size_t count, const interpreter::Sizes& sizes) {
  interpreter::Sizes result = {static_cast<std::int64_t>(count)};
  result.insert(result.end(), sizes.begin(), sizes.end());
  return result;
}

/// The exchange of one collective on one rank. Tensors of a group are stacked in the order of its ranks.
class Exchanging {
 public:
  Exchanging(const Exchange& exchange, const Group& group, std::size_t axes_in_front,
             Communicator& communicator, const ExchangeSchedules* schedules)
      : exchange_(exchange),
        group_(group),
        axes_in_front_(static_cast<std::int64_t>(axes_in_front)),
        communicator_(communicator),
        schedules_(schedules) {}

  Result<Tensor> operator()(const Tensor& own) {
    const std::string& op = exchange_.op;
    if (schedules_ != nullptr)
      if (const auto* schedule = schedules_->find(op, group_.size()))
        return scheduled(*schedule, own);
    if (op == "AllGather") {
      LEMMA_ASSIGN_OR_RETURN(const Tensor all, gathered(own));
      return applied("Combine", all, {{"axis", axis("axis")}});
    }
    if (op == "OwnPart") {
      LEMMA_ASSIGN_OR_RETURN(const Tensor cut, cut_for_all(own, axis("axis")));
      return element(cut, place_in(group_, communicator_.rank()));
    }
    if (op == "ReduceScatter") return scattered(own, axis("axis"));
    if (op == "AllReduce") return reduced_on_all(own);
    if (op == "AllToAll") {
      LEMMA_ASSIGN_OR_RETURN(const Tensor cut, cut_for_all(own, axis("split_axis")));
      LEMMA_ASSIGN_OR_RETURN(const Tensor received, exchanged(cut));
      return applied("Combine", received, {{"axis", axis("concat_axis")}});
    }
    if (op == "Broadcast") {
      LEMMA_ASSIGN_OR_RETURN(const Tensor all, gathered(own));
      return element(all,
                     static_cast<std::size_t>(exchange_.attributes.dimension("root").offset()));
    }
    if (op == "Permute") return shifted(own);
    return unsupported(fmt::format("{} cannot be run on ranks", op));
  }

 private:
  /// An axis of the tensor on one rank.
  std::int64_t axis(std::string_view name) const {
    return exchange_.attributes.integer(name) - axes_in_front_;
  }

  /// A tensor that receives, where others may write to it, and its memory.
  struct Received {
    Tensor tensor;
    std::span<std::byte> bytes;
  };
  Result<Received> receiving(DataType type, const interpreter::Sizes& sizes) {
    Received received;
    const std::size_t bytes =
        byte_size(type) * static_cast<std::size_t>(interpreter::element_count(sizes));
    LEMMA_ASSIGN_OR_RETURN(received.bytes, communicator_.landing(group_, bytes));
    if (received.bytes.size() == bytes && bytes > 0) {
      received.tensor = Tensor::over(type, sizes, nullptr, received.bytes);
    } else {
      received.tensor = Tensor::uninitialized(type, sizes);
      received.bytes = received.tensor.writable_bytes();
    }
    return received;
  }

  /// What the schedule leaves the rank with.
  Result<Tensor> scheduled(const collectives::Schedule& schedule, const Tensor& own) {
    const std::size_t place = place_in(group_, communicator_.rank());
    switch (schedule.collective) {
      case clusters::Collective::all_gather: {
        Tensor all = Tensor::uninitialized(own.data_type(), stacked(group_.size(), own.sizes()));
        std::copy(own.bytes().begin(), own.bytes().end(),
                  all.writable_bytes().begin() + static_cast<long>(place * own.bytes().size()));
        LEMMA_ASSIGN_OR_RETURN(const Tensor gathered, in_chunks(schedule, all, "sum"));
        return applied("Combine", gathered, {{"axis", axis("axis")}});
      }
      case clusters::Collective::reduce_scatter: {
        LEMMA_ASSIGN_OR_RETURN(const Tensor cut, cut_for_all(own, axis("axis")));
        LEMMA_ASSIGN_OR_RETURN(const Tensor reduced,
                               in_chunks(schedule, cut, exchange_.attributes.string("reduction")));
        return element(reduced, place);
      }
      case clusters::Collective::all_reduce:
        return in_chunks(schedule, own, exchange_.attributes.string("reduction"));
      default: return in_chunks(schedule, own, "sum");
    }
  }
  Result<Tensor> in_chunks(const collectives::Schedule& schedule, const Tensor& tensor,
                           const std::string& reduction) {
    const auto chunks = static_cast<std::int64_t>(schedule.chunks);
    LEMMA_ASSIGN_OR_RETURN(const Tensor done,
                           carried_out(schedule, group_, reduction,
                                       tensor.with_sizes({chunks, tensor.element_count() / chunks}),
                                       schedules_->channel, communicator_));
    return done.with_sizes(tensor.sizes());
  }
  /// A part for each rank of the group.
  Result<Tensor> cut_for_all(const Tensor& own, std::int64_t along) {
    return applied(
        "Partition", own,
        {{"axis", along}, {"parts", Dimension(static_cast<std::int64_t>(group_.size()))}});
  }

  Result<Tensor> gathered(const Tensor& own) {
    LEMMA_ASSIGN_OR_RETURN(const Received all,
                           receiving(own.data_type(), stacked(group_.size(), own.sizes())));
    LEMMA_RETURN_IF_ERROR(communicator_.all_gather(group_, own.bytes(), all.bytes));
    return all.tensor;
  }
  Result<Tensor> exchanged(const Tensor& parts) {
    LEMMA_ASSIGN_OR_RETURN(const Received received, receiving(parts.data_type(), parts.sizes()));
    LEMMA_RETURN_IF_ERROR(communicator_.all_to_all(group_, parts.bytes(), received.bytes));
    return received.tensor;
  }
  Result<Tensor> reduced(const Tensor& all) {
    return applied("Reduce", all, {{"reduction", exchange_.attributes.string("reduction")}});
  }
  Result<Tensor> scattered(const Tensor& own, std::int64_t along) {
    LEMMA_ASSIGN_OR_RETURN(const Tensor cut, cut_for_all(own, along));
    LEMMA_ASSIGN_OR_RETURN(const Tensor received, exchanged(cut));
    return reduced(received);
  }
  /// Each rank adds up a part, and gives it to all: as few bytes as a ring needs.
  Result<Tensor> reduced_on_all(const Tensor& own) {
    const std::int64_t count = own.element_count();
    if (count % static_cast<std::int64_t>(group_.size()) != 0) {
      LEMMA_ASSIGN_OR_RETURN(const Tensor all, gathered(own));
      return reduced(all);
    }
    LEMMA_ASSIGN_OR_RETURN(const Tensor part, scattered(own.with_sizes({count}), 0));
    LEMMA_ASSIGN_OR_RETURN(const Tensor all, gathered(part));
    return all.with_sizes(own.sizes());
  }
  Result<Tensor> shifted(const Tensor& own) {
    const auto count = static_cast<std::int64_t>(group_.size());
    const auto place = static_cast<std::int64_t>(place_in(group_, communicator_.rank()));
    const std::int64_t shift = exchange_.attributes.integer("shift");
    const bool ring = exchange_.attributes.integer("ring") != 0;
    const auto rank_at = [&](std::int64_t at) {
      if (ring) at = ((at % count) + count) % count;
      return at < 0 || at >= count ? communicator_.size() : group_[static_cast<std::size_t>(at)];
    };
    Tensor received = Tensor::uninitialized(own.data_type(), own.sizes());
    const std::span<std::byte> bytes = received.writable_bytes();
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    LEMMA_RETURN_IF_ERROR(communicator_.shift(group_, rank_at(place + shift),
                                              rank_at(place - shift), own.bytes(), bytes));
    return received;
  }

  /// One of the stacked tensors.
  static Tensor element(const Tensor& all, std::size_t place) {
    const interpreter::Sizes sizes(all.sizes().begin() + 1, all.sizes().end());
    const std::size_t size = all.bytes().size() / static_cast<std::size_t>(all.sizes()[0]);
    return Tensor::over(all.data_type(), sizes, std::make_shared<Tensor>(all),
                        all.bytes().subspan(place * size, size));
  }

  const Exchange& exchange_;
  const Group& group_;
  std::int64_t axes_in_front_;
  Communicator& communicator_;
  const ExchangeSchedules* schedules_;
};

}  // namespace

Result<Tensor> exchange_on_group(const Exchange& exchange, const Group& group,
                                 std::size_t axes_in_front, Communicator& communicator,
                                 const Tensor& own, const ExchangeSchedules* schedules) {
  return Exchanging(exchange, group, axes_in_front, communicator, schedules)(own);
}

}  // namespace lemma::plans
