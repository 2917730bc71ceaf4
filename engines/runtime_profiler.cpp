#include <set>

#include "check/check_inputs.h"
#include "engines/model_profiler.h"
#include "frontend_onnx/import.h"
#include "outputs/scratch.h"
#include "programs/shape_option.h"
#include "rule_language/rule_database.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

constexpr double seconds_to_start = 30;
constexpr std::int64_t element_limit = std::int64_t{1} << 28;

/// What a price needs of a graph, without its weights.
RuntimeGraph sizes_of(const RuntimeGraph& graph) {
  RuntimeGraph result;
  result.unpriced = graph.unpriced;
  for (const RuntimeNode& node : graph.nodes) {
    RuntimeNode& added = result.nodes.emplace_back();
    added.key = node.key;
    added.kind = node.kind;
    added.elements = node.elements;
    added.work = node.work;
  }
  return result;
}

class RuntimeProfiler : public ModelProfiler {
 public:
  RuntimeProfiler(const ProfileArguments& arguments, ProfileDatabase& database)
      : arguments_(arguments),
        database_(database),
        worker_({python_program(), data_directory() / "onnxruntime_worker.py"}) {}

  Result<void> begin() override {
    LEMMA_ASSIGN_OR_RETURN(const std::string version, worker_.version(seconds_to_start));
    target_ = {"ONNX Runtime " + version, processor_identity(), threads()};
    LEMMA_ASSIGN_OR_RETURN(auto known, database_.entries(target_));
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
    LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, reading));
    InputPlan plan;
    plan.size = arguments_.size;
    LEMMA_ASSIGN_OR_RETURN(const auto inputs, make_inputs(model.graph, plan, {}, element_limit));
    LEMMA_ASSIGN_OR_RETURN(const RuntimeGraph graph,
                           runtime_graph(worker_, {file, inputs, scratch_.path(), threads(), 120}));
    std::set<std::string> keys;
    for (const RuntimeNode& node : graph.nodes) keys.insert(node.key);
    result.nodes = graph.nodes.size();
    result.keys = keys.size();
    const MeasurementOptions measuring = measurement_options(arguments_, file, scratch_.path());
    LEMMA_ASSIGN_OR_RETURN(result.measured_now, measure_nodes(worker_, database_, target_,
                                                              graph.nodes, times_, measuring));
    const GraphPrice price = price_of(graph, times_);
    result.predicted = price.cost.seconds;
    result.unknown = price.unknown;
    for (const RuntimeNode& node : graph.nodes) {
      Profiled::Node& profiled_node = result.by_key[node.key];
      ++profiled_node.count;
      profiled_node.cost = times_.find(node);
    }
    result.held_out = price_of(graph, times_.without(keys)).cost.seconds;
    TimingRequest timing;
    timing.models = {file};
    timing.inputs = {inputs};
    timing.scratch_folder = scratch_.path();
    timing.threads = threads();
    LEMMA_ASSIGN_OR_RETURN(const auto timed, time_models(worker_, timing));
    if (!timed.front().failure.empty()) return bad_input(timed.front().failure);
    result.measured = median(timed.front().seconds);
    result.spread = quartile_deviation(timed.front().seconds);
    if (arguments_.hold_out_all) {
      held_out_.insert(keys.begin(), keys.end());
      graphs_.push_back(sizes_of(graph));
    }
    return result;
  }

  void hold_out_all(std::vector<Profiled>& all) const override {
    const NodeTimes left = times_.without(held_out_);
    auto graph = graphs_.begin();
    for (Profiled& profiled : all)
      if (profiled.failure.empty()) profiled.held_out = price_of(*graph++, left).cost.seconds;
  }

  const RuntimeIdentity& target() const override { return target_; }

 private:
  int threads() const { return profiled_threads(arguments_); }

  const ProfileArguments& arguments_;
  ProfileDatabase& database_;
  OnnxRuntimeWorker worker_;
  TemporaryDirectory scratch_;
  RuntimeIdentity target_;
  NodeTimes times_{{}};
  std::map<std::string, Shape, std::less<>> shapes_;
  std::set<std::string> held_out_;
  std::vector<RuntimeGraph> graphs_;  // to be priced once more
};

}  // namespace

std::unique_ptr<ModelProfiler> runtime_profiler(const ProfileArguments& arguments,
                                                ProfileDatabase& database) {
  return std::make_unique<RuntimeProfiler>(arguments, database);
}

}  // namespace lemma
