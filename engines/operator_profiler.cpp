#include <set>

#include "backend/execute/prepared_graph.h"
#include "check/check_inputs.h"
#include "costmodel/graph_cost.h"
#include "engines/model_profiler.h"
#include "facts/weight_only.h"
#include "frontend_onnx/import.h"
#include "outputs/scratch.h"
#include "profiler/operator_measurement.h"
#include "programs/shape_option.h"
#include "system/program.h"

namespace lemma {

namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 28;
constexpr double seconds_for_a_model = 300;

class OperatorProfiler : public ModelProfiler {
 public:
  OperatorProfiler(const ProfileArguments& arguments, ProfileDatabase& database,
                   PricedDevice priced, TargetTimers timers)
      : arguments_(arguments),
        database_(database),
        priced_(std::move(priced)),
        timers_(std::move(timers)) {}

  Result<void> begin() override {
    LEMMA_ASSIGN_OR_RETURN(identity_, timers_.operators->identity());
    LEMMA_ASSIGN_OR_RETURN(auto known, database_.entries(identity_));
    times_ = NodeTimes(std::move(known));
    LEMMA_ASSIGN_OR_RETURN(shapes_, parse_shape_options(arguments_.shapes));
    if (!scratch_.good()) return bad_input("no temporary folder can be made");
    return {};
  }

  Result<Profiled> profile(const std::string& file) override {
    Profiled result;
    result.model = file;
    ImportOptions reading;
    reading.shapes = shapes_;
    reading.fix_overridable_initializers = true;
    LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, reading));
    InputPlan plan;
    plan.size = arguments_.size;
    LEMMA_ASSIGN_OR_RETURN(const auto inputs, make_inputs(model.graph, plan, {}, most_elements));
    LEMMA_ASSIGN_OR_RETURN(const Graph graph, backend::prepared_graph(model.graph, inputs));
    const OperatorCosts analytic(priced_);
    const WeightPlace weights =
        weight_place(cost_of(graph, analytic).parameter_bytes, second_cache_bytes());
    MeasurementOptions measuring = measurement_options(arguments_, file, scratch_.path());
    measuring.on_refusal = [&result](const CostKey& key, const std::string& why) {
      result.refused.emplace(profiled_operator(key, {}).key, why);
    };
    const Graph* const graph_pointer = &graph;
    LEMMA_ASSIGN_OR_RETURN(
        result.measured_now,
        timers_.operators->measure(database_, distinct_keys({&graph_pointer, 1}, analytic), weights,
                                   times_, measuring));
    count_operators(graph, analytic, weights, result);
    result.predicted = sum_of(graph, times_, weights);
    std::set<std::string> keys;
    for (const auto& [key, node] : result.by_key) keys.insert(key);
    result.held_out = sum_of(graph, times_.without(keys), weights);
    time_model(file, inputs, result);
    if (arguments_.hold_out_all) {
      held_out_.insert(keys.begin(), keys.end());
      graphs_.push_back({graph, weights});
    }
    return result;
  }

  void hold_out_all(std::vector<Profiled>& all) const override {
    const NodeTimes left = times_.without(held_out_);
    auto priced = graphs_.begin();
    for (Profiled& profiled : all) {
      if (!profiled.failure.empty()) continue;
      profiled.held_out = sum_of(priced->graph, left, priced->weights);
      ++priced;
    }
  }

  const RuntimeIdentity& target() const override { return identity_; }

 private:
  OperatorCosts costs(const NodeTimes& times, WeightPlace weights) const {
    return OperatorCosts(priced_, {std::make_shared<const MeasuredCosts>(times, weights)});
  }

  double sum_of(const Graph& graph, const NodeTimes& times, WeightPlace weights) const {
    return times.run_seconds() + cost_of(graph, costs(times, weights)).seconds;
  }

  /// Operators that have no time of their own, such as views, are left out.
  void count_operators(const Graph& graph, const OperatorCosts& analytic, WeightPlace weights,
                       Profiled& result) const {
    const OperatorCosts known = costs(times_, weights);
    const std::vector<bool> weight_only = weight_only_nodes(graph);
    for (const NodeId id : graph.live_nodes()) {
      const Node& node = graph.node(id);
      if (node.kind == NodeKind::opaque) {
        ++result.nodes;
        ++result.unknown;
        result.refused.emplace(graph.opaque(node).name, graph.opaque(node).reason);
      }
      if (node.kind != NodeKind::operation || weight_only[id.v]) continue;
      const CostKey key = cost_key(graph, node, weight_only, analytic);
      if (!has_times(key)) continue;
      ++result.nodes;
      Profiled::Node& profiled_node = result.by_key[profiled_operator(key, weights).key];
      ++profiled_node.count;
      profiled_node.cost = known.find(key);
      if (profiled_node.cost->provenance == Provenance::analytic) ++result.unknown;
    }
    result.keys = result.by_key.size();
  }

  void time_model(const std::string& file, const std::vector<interpreter::NamedTensor>& inputs,
                  Profiled& result) {
    if (timers_.models == nullptr) {
      result.not_run = "this target runs single operators only";
      return;
    }
    if (is_stop_requested()) {
      result.not_run = "interrupted";
      return;
    }
    TimingRequest timing;
    timing.models = {file};
    timing.inputs = {inputs};
    timing.scratch_folder = scratch_.path();
    timing.threads = profiled_threads(arguments_);
    timing.time_limit_seconds = seconds_for_a_model;
    const auto timed = timers_.models->time(timing);
    result.not_run = timed ? timed->front().failure : timed.error().message;
    if (!result.not_run.empty()) return;
    result.measured = median(timed->front().seconds);
    result.spread = quartile_deviation(timed->front().seconds);
  }

  struct Priced {
    Graph graph;
    WeightPlace weights;
  };
  const ProfileArguments& arguments_;
  ProfileDatabase& database_;
  PricedDevice priced_;
  TargetTimers timers_;
  TemporaryDirectory scratch_;
  RuntimeIdentity identity_;
  NodeTimes times_{{}};
  std::map<std::string, Shape, std::less<>> shapes_;
  std::set<std::string> held_out_;
  std::vector<Priced> graphs_;  // to be priced once more
};

}  // namespace

std::unique_ptr<ModelProfiler> operator_profiler(const ProfileArguments& arguments,
                                                 ProfileDatabase& database, PricedDevice priced,
                                                 TargetTimers timers) {
  return std::make_unique<OperatorProfiler>(arguments, database, std::move(priced),
                                            std::move(timers));
}

}  // namespace lemma
