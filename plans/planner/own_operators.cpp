#include "plans/planner/own_operators.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "plans/choice/pipeline.h"

namespace lemma::plans {

namespace {

constexpr double unreachable = std::numeric_limits<double>::infinity();
/// Schedules that moves of operators are tried with, times the operators in each.
constexpr std::size_t most_steps = 8'000'000;

/// An operator for one part of the batch, with what it waits for.
struct Item {
  std::size_t place = 0;  // of its operator among those that are placed
  std::size_t part = 0;
  double seconds = 0;
  double urgency = 0;                                 // seconds until the end, on the longest way
  std::vector<std::pair<std::size_t, double>> reads;  // items, bytes
  std::vector<std::pair<std::size_t, double>> readers;
};

/// By place of an operator, its device; none where it is still open.
using Devices = std::vector<std::size_t>;
constexpr std::size_t no_device = std::numeric_limits<std::size_t>::max();

struct Schedule {
  double seconds = 0;
  std::vector<std::size_t> order;  // items
  Devices devices;
};

class OwnOperators {
 public:
  OwnOperators(const Graph& graph, const OwnOperatorsRequest& request, BatchCut cut)
      : graph_(graph),
        request_(request),
        cut_(std::move(cut)),
        paths_(*request.cluster),
        prices_(*request.costs) {}

  Result<PlacedPlan> operator()() && {
    LEMMA_RETURN_IF_ERROR(make_items());
    if (nodes_.empty()) return bad_input("the model has no operators that could be placed");
    find_urgency();
    PlacedPlan best;
    best.simulation.seconds = unreachable;
    try_plan(best, "all operators on one device", listed(Devices(nodes_.size(), 0)));
    for (std::size_t stages = 2; stages <= request_.ranks; ++stages)
      try_plan(best, "stages of a pipeline", listed(pipeline_stages(stages)));
    try_plan(best, "operators where they end first",
             listed(scheduled(Devices(nodes_.size(), no_device)).devices));
    if (best.simulation.seconds == unreachable)
      return error_ ? tl::unexpected(*error_)
                    : tl::unexpected(Error{ErrorKind::bad_input,
                                           fmt::format("no plan that was tried needs at most {} "
                                                       "bytes on a device",
                                                       request_.memory_limit.value_or(0))});
    improve(best);
    for (const Item& item : items_) {
      best.on_one_device += item.seconds;
      best.critical_path = std::max(best.critical_path, item.urgency);
    }
    return best;
  }

 private:
  // ---- Items ------------------------------------------------------------------------------------

  Result<void> make_items() {
    std::map<std::pair<ValueId, std::size_t>, std::size_t> makers;
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (node.kind == NodeKind::opaque)
        return unsupported(
            fmt::format("{} is not understood, and cannot be placed", graph_.opaque(node).name));
      if (node.kind != NodeKind::operation || cut_.is_fixed[node.output().v]) continue;
      LEMMA_ASSIGN_OR_RETURN(const Attributes attributes, part_attributes(graph_, node, cut_));
      std::vector<TensorType> operands;
      for (const ValueId operand : node.inputs)
        operands.push_back(operand.is_none() ? TensorType{} : part_type(graph_, operand, cut_));
      const double seconds = prices_(node, attributes, operands);
      const std::size_t parts = cut_.is_cut(node) ? cut_.parts : 1;
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t number = items_.size();
        items_.push_back({nodes_.size(), part, seconds, 0, {}, {}});
        std::set<std::size_t> known;
        for (const ValueId operand : node.inputs) {
          if (operand.is_none()) continue;
          const auto maker = makers.find({operand, cut_.axes[operand.v] ? part : 0});
          if (maker == makers.end() || !known.insert(maker->second).second) continue;
          const double bytes = bytes_of_tensor(part_type(graph_, operand, cut_));
          items_.back().reads.emplace_back(maker->second, bytes);
          items_[maker->second].readers.emplace_back(number, bytes);
        }
        for (std::uint32_t i = 0; i < node.output_count; ++i)
          makers[{node.output(i), part}] = number;
      }
      nodes_.push_back(id);
    }
    return {};
  }

  void find_urgency() {
    for (std::size_t i = items_.size(); i-- > 0;) {
      double behind = 0;
      for (const auto& [reader, bytes] : items_[i].readers)
        behind = std::max(behind, items_[reader].urgency);
      items_[i].urgency = items_[i].seconds + behind;
    }
  }

  // ---- Schedules --------------------------------------------------------------------------------

  double ready_at(const Item& item, std::size_t device, const std::vector<double>& ends,
                  const Devices& devices) const {
    double ready = 0;
    for (const auto& [read, bytes] : item.reads)
      ready =
          std::max(ready, ends[read] + paths_.seconds(devices[items_[read].place], device, bytes));
    return ready;
  }

  /// The most urgent item first, where it ends first; operators that have a device stay there.
  Schedule scheduled(Devices devices) const {
    std::vector<std::size_t> order(items_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return items_[a].urgency > items_[b].urgency;
    });
    std::vector<double> ends(items_.size(), 0), free(request_.ranks, 0);
    Schedule result;
    for (const std::size_t number : order) {
      const Item& item = items_[number];
      std::size_t& device = devices[item.place];
      const std::size_t given = device;
      double end = unreachable;
      for (std::size_t rank = 0; rank < request_.ranks; ++rank) {
        if (given != no_device && given != rank) continue;
        const double until =
            std::max(free[rank], ready_at(item, rank, ends, devices)) + item.seconds;
        if (until < end) end = until, device = rank;
      }
      ends[number] = free[device] = end;
      result.seconds = std::max(result.seconds, end);
    }
    result.order = std::move(order);
    result.devices = std::move(devices);
    return result;
  }

  /// On given devices: the item that can begin first comes first, of equal ones the most urgent.
  Schedule listed(const Devices& devices) const {
    std::vector<double> ends(items_.size(), 0), ready(items_.size(), 0), free(request_.ranks, 0);
    std::vector<std::size_t> waits(items_.size());
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      waits[i] = items_[i].reads.size();
      if (waits[i] == 0) open.push_back(i);
    }
    Schedule result;
    result.devices = devices;
    while (!open.empty()) {
      std::size_t chosen = 0;
      const auto key = [&](std::size_t place) {
        const std::size_t i = open[place];
        return std::tuple(std::max(free[devices[items_[i].place]], ready[i]), -items_[i].urgency,
                          items_[i].part, i);
      };
      for (std::size_t place = 1; place < open.size(); ++place)
        if (key(place) < key(chosen)) chosen = place;
      const std::size_t number = open[chosen];
      open.erase(open.begin() + static_cast<long>(chosen));
      const Item& item = items_[number];
      const std::size_t device = devices[item.place];
      ends[number] = std::max(free[device], ready[number]) + item.seconds;
      free[device] = ends[number];
      result.seconds = std::max(result.seconds, ends[number]);
      result.order.push_back(number);
      for (const auto& [reader, bytes] : item.readers) {
        ready[reader] =
            std::max(ready[reader],
                     ends[number] + paths_.seconds(device, devices[items_[reader].place], bytes));
        if (--waits[reader] == 0) open.push_back(reader);
      }
    }
    return result;
  }

  /// Operators in their order as layers of a chain, in at most so many stages.
  Devices pipeline_stages(std::size_t stages) {
    choice::PipelineProblem problem;
    problem.most_stages = stages;
    problem.microbatches = cut_.parts;
    problem.schedule = choice::Schedule::all_forward_first;
    if (request_.memory_limit) problem.limit = static_cast<choice::Bytes>(*request_.memory_limit);
    problem.layers.resize(nodes_.size());
    std::set<ValueId> weights;
    for (const Item& item : items_) {
      if (item.part > 0) continue;
      choice::Layer& layer = problem.layers[item.place];
      layer.seconds = item.seconds;
      for (const ValueId operand : graph_.node(nodes_[item.place]).inputs)
        if (!operand.is_none() && graph_.constant_of(operand) != nullptr &&
            weights.insert(operand).second)
          layer.weight_bytes += static_cast<choice::Bytes>(bytes_of_tensor(graph_.type(operand)));
      // All that is read behind the layer crosses a cut there.
      std::map<std::size_t, double> crossing;
      for (const auto& [reader, bytes] : item.readers)
        for (std::size_t place = item.place; place < items_[reader].place; ++place)
          crossing[place] = std::max(crossing[place], bytes);
      for (const auto& [place, bytes] : crossing)
        problem.layers[place].send_seconds += paths_.seconds(0, 1, bytes);
    }
    const choice::PipelineOutcome outcome = choice::best_pipeline(problem);
    Devices devices(nodes_.size(), 0);
    for (std::size_t stage = 0; stage < outcome.cut.size(); ++stage)
      for (std::size_t place = outcome.cut[stage]; place < nodes_.size(); ++place)
        devices[place] = stage;
    return devices;
  }

  // ---- Plans ------------------------------------------------------------------------------------

  Assignment assignment_of(const Schedule& schedule) const {
    Assignment result{request_.ranks, cut_.parts, {}};
    for (const std::size_t number : schedule.order)
      result.order.push_back({nodes_[items_[number].place], items_[number].part,
                              schedule.devices[items_[number].place]});
    return result;
  }

  bool try_plan(PlacedPlan& best, std::string_view found_by, const Schedule& schedule) {
    Assignment assignment = assignment_of(schedule);
    const auto program = assigned(graph_, assignment);
    const auto simulation =
        program ? simulate(*program, paths_, prices_) : tl::unexpected(program.error());
    if (!simulation) {
      if (!error_) error_ = simulation.error();
      return false;
    }
    const double peak =
        *std::max_element(simulation->peak_bytes.begin(), simulation->peak_bytes.end());
    if (request_.memory_limit && peak > *request_.memory_limit) return false;
    if (!(simulation->seconds < best.simulation.seconds)) return false;
    best.assignment = std::move(assignment);
    best.simulation = *simulation;
    best.found_by = found_by;
    devices_ = schedule.devices;
    return true;
  }

  /// One operator after the other moves where that makes the schedule shorter.
  void improve(PlacedPlan& best) {
    Devices devices = devices_;
    double seconds = listed(devices).seconds;
    std::size_t steps = 0;
    bool is_better = true;
    while (is_better) {
      is_better = false;
      for (std::size_t place = 0; place < devices.size(); ++place)
        for (std::size_t rank = 0; rank < request_.ranks; ++rank) {
          if (devices[place] == rank) continue;
          if ((steps += items_.size()) > most_steps) {
            try_plan(best, best.found_by + ", then moved", listed(devices));
            return;
          }
          const std::size_t before = devices[place];
          devices[place] = rank;
          const double moved = listed(devices).seconds;
          if (moved < seconds * (1 - 1e-9)) {
            seconds = moved;
            is_better = true;
          } else {
            devices[place] = before;
          }
        }
    }
    try_plan(best, best.found_by + ", then moved", listed(devices));
  }

  const Graph& graph_;
  const OwnOperatorsRequest& request_;
  BatchCut cut_;
  Paths paths_;
  NodePrices prices_;
  std::vector<NodeId> nodes_;  // operators that are placed, in order
  std::vector<Item> items_;
  Devices devices_;  // of the best plan
  std::optional<Error> error_;
};

}  // namespace

Result<PlacedPlan> place_operators(const Graph& graph, const OwnOperatorsRequest& request) {
  if (request.ranks > request.cluster->devices.size())
    return bad_input(fmt::format("the cluster '{}' has {} devices", request.cluster->name,
                                 request.cluster->devices.size()));
  LEMMA_ASSIGN_OR_RETURN(BatchCut cut, cut_batch(graph, request.microbatches));
  return OwnOperators(graph, request, std::move(cut))();
}

}  // namespace lemma::plans
