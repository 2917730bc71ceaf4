#include "plans/by_rank/ranked_program.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace lemma::plans {

namespace {

/// How far each rank has come.
class Progress {
 public:
  explicit Progress(const RankedProgram& program)
      : program_(program),
        next_(program.rank_count(), 0),
        is_sent_(program.transfers.size(), false),
        arrived_(program.exchanges.size(), 0) {}

  Result<std::vector<RankStep>> operator()() && {
    bool moves = true;
    while (moves) {
      moves = false;
      for (std::size_t rank = 0; rank < program_.rank_count(); ++rank)
        while (advance(rank)) moves = true;
    }
    if (std::any_of(program_.steps.begin(), program_.steps.end(), [&](const auto& steps) {
          return next_[static_cast<std::size_t>(&steps - program_.steps.data())] < steps.size();
        }))
      return tl::unexpected(deadlock());
    return std::move(order_);
  }

 private:
  bool advance(std::size_t rank) {
    if (next_[rank] == program_.steps[rank].size()) return false;
    const Step& step = program_.steps[rank][next_[rank]];
    switch (step.kind) {
      case StepKind::compute: break;
      case StepKind::send: is_sent_[step.number] = true; break;
      case StepKind::receive:
        if (!is_sent_[step.number]) return false;
        break;
      case StepKind::exchange:
        if (waiting_.insert({rank, next_[rank]}).second) ++arrived_[step.number];
        if (arrived_[step.number] < program_.exchanges[step.number].ranks.size()) return false;
        break;
    }
    order_.push_back({rank, step});
    ++next_[rank];
    return true;
  }

  Error deadlock() const {
    std::vector<std::string> waits;
    for (std::size_t rank = 0; rank < program_.rank_count(); ++rank) {
      if (next_[rank] == program_.steps[rank].size()) continue;
      const Step& step = program_.steps[rank][next_[rank]];
      if (step.kind == StepKind::receive) {
        const Transfer& transfer = program_.transfers[step.number];
        waits.push_back(fmt::format("rank {} for channel '{}' from rank {}", rank, transfer.channel,
                                    transfer.from));
      } else {
        const GroupExchange& exchange = program_.exchanges[step.number];
        waits.push_back(fmt::format("rank {} for {} of the ranks {}", rank, exchange.op,
                                    fmt::join(exchange.ranks, ", ")));
      }
    }
    return {ErrorKind::bad_input,
            fmt::format("the ranks wait for each other: {}", fmt::join(waits, "; "))};
  }

  const RankedProgram& program_;
  std::vector<std::size_t> next_;     // by rank
  std::vector<bool> is_sent_;         // by transfer
  std::vector<std::size_t> arrived_;  // by exchange
  std::set<std::pair<std::size_t, std::size_t>> waiting_;
  std::vector<RankStep> order_;
};

/// Joins what ranks have of a tensor, axis by axis.
class Joining {
 public:
  Joining(Graph& graph, std::string name, std::vector<std::int64_t> whole)
      : graph_(graph), name_(std::move(name)), whole_(std::move(whole)) {}

  Result<ValueId> operator()(const std::vector<RankOutput>& outputs) {
    std::vector<Part> parts;
    for (const RankOutput& output : outputs) {
      Window window = output.window;
      if (window.empty())
        for (const std::int64_t size : whole_) window.push_back({0, size});
      parts.push_back({output.rank, output.value, std::move(window)});
    }
    return joined(std::move(parts), 0);
  }

 private:
  struct Part {
    std::size_t rank;
    ValueId value;
    Window window;
  };

  Result<ValueId> joined(std::vector<Part> parts, std::size_t axis) {
    if (axis == whole_.size()) {
      for (const Part& part : parts)
        if (part.value != parts.front().value)
          return bad_input(fmt::format(
              "output '{}': the ranks {} and {} give the same part of it by different operators; "
              "one of them has to send it to the other",
              name_, parts.front().rank, part.rank));
      return parts.front().value;
    }
    std::map<Interval, std::vector<Part>> by_interval;
    for (Part& part : parts) by_interval[part.window[axis]].push_back(std::move(part));
    std::vector<ValueId> values;
    std::int64_t end = 0;
    for (auto& [interval, group] : by_interval) {
      if (interval.begin != end)
        return bad_input(fmt::format("output '{}': no parts of the ranks meet at {} of axis {}",
                                     name_, std::min(interval.begin, end), axis));
      end += interval.size;
      LEMMA_ASSIGN_OR_RETURN(const ValueId value, joined(std::move(group), axis + 1));
      values.push_back(value);
    }
    if (end != whole_[axis])
      return bad_input(fmt::format("output '{}': the ranks give {} of {} elements of axis {}",
                                   name_, end, whole_[axis], axis));
    if (values.size() == 1) return values.front();
    return graph_.add("Concat", std::move(values), {{"axis", static_cast<std::int64_t>(axis)}});
  }

  Graph& graph_;
  std::string name_;
  std::vector<std::int64_t> whole_;
};

}  // namespace

Result<std::vector<RankStep>> step_order(const RankedProgram& program) {
  return Progress(program)();
}

Result<void> add_outputs(RankedProgram& program, const Graph& single) {
  for (const GraphOutput& output : single.outputs()) {
    std::vector<RankOutput> parts;
    for (const RankOutput& part : program.outputs)
      if (part.name == output.name) parts.push_back(part);
    if (parts.empty()) return bad_input(fmt::format("no rank has an output '{}'", output.name));
    const auto& shape = single.type(output.value).shape;
    const auto sizes = shape ? constant_sizes(*shape) : std::nullopt;
    if (!sizes)
      return unsupported(fmt::format("the sizes of output '{}' are not known", output.name));
    LEMMA_ASSIGN_OR_RETURN(const ValueId whole,
                           Joining(program.program.graph, output.name, *sizes)(parts));
    LEMMA_RETURN_IF_ERROR(program.program.graph.add_output(output.name, whole));
    program.program.outputs.push_back({output.name, {}});
  }
  return {};
}

}  // namespace lemma::plans
