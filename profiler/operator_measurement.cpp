#include "profiler/operator_measurement.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/sha256.h"
#include "frontend_onnx/export.h"
#include "ir/runtime_layout.h"
#include "outputs/files.h"
#include "profiler/single_operator.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;

/// The limit of the squared distance of logarithms: times of nodes whose work differs by more than about five
/// times say little of each other.
constexpr double farthest_neighbor = 3;
constexpr double element_limit = 1 << 28;
constexpr double seconds_for_a_node = 5;

/// The text of a key without the target, which the database has beside the key.
std::string text_without_target(const CostKey& key) {
  const std::string all = text(key);
  return all.substr(0, all.rfind(" on "));
}

std::string digest(const CostKey& key) { return sha256(text_without_target(key)).substr(0, 16); }

constexpr std::string_view reorder_input = "com.microsoft.nchwc:ReorderInput",
                           reorder_output = "com.microsoft.nchwc:ReorderOutput";

bool is_reorder(const RuntimeNode& node) {
  return node.kind == reorder_input || node.kind == reorder_output;
}

/// Between plain and blocked layouts: what has no composition of the operators that stand for the costs of layouts.
bool is_move(const CostKey& key) { return is_of_layout(*key.op) && key.op->compose == nullptr; }

/// Blocks [n, q, h, w, b] are a tensor [n, q*b, h, w] for ONNX Runtime.
RuntimeTensor as_runtime_has_it(const TensorType& type) {
  RuntimeTensor tensor = tensor_of(type, false);
  if (tensor.sizes.size() != 5) return tensor;
  tensor.sizes[1] *= tensor.sizes.back();
  tensor.sizes.pop_back();
  return tensor;
}

std::string text_of(const RuntimeTensor& tensor) {
  return fmt::format("{}[{}]", name(tensor.type), fmt::join(tensor.sizes, ", "));
}

/// The node that a move is, as it stands in the graphs that ONNX Runtime saves.
RuntimeNode reorder_of(const CostKey& key) {
  RuntimeNode node;
  node.inputs = {as_runtime_has_it(key.inputs.front())};
  node.outputs = {as_runtime_has_it(key.outputs.front())};
  const bool is_input = key.inputs.front().shape->size() == 4;
  node.kind = is_input ? reorder_input : reorder_output;
  measure_size(node);
  node.key = fmt::format(
      "{}{{{}}} {} -> {}", node.kind,
      is_input ? "channels_last=0"
               : fmt::format("channels={}, channels_last=0", node.outputs.front().sizes[1]),
      text_of(node.inputs.front()), text_of(node.outputs.front()));
  return node;
}

class OperatorMeasurement {
 public:
  OperatorMeasurement(OnnxRuntimeWorker& worker, ProfileDatabase& database,
                      const RuntimeIdentity& target, NodeTimes& times,
                      const MeasurementOptions& options)
      : worker_(worker), database_(database), target_(target), times_(times), options_(options) {}

  /// False: ONNX Runtime cannot run it by itself.
  Result<bool> measure(const CostKey& key, WeightPlace weights) {
    auto nodes = nodes_of(key, weights);
    if (!nodes) return false;
    MeasurementOptions options = options_;
    options.on_progress = nullptr;
    options.seconds = seconds_for_a_node;
    LEMMA_RETURN_IF_ERROR(measure_nodes(worker_, database_, target_, *nodes, times_, options));
    const RuntimeNode whole = profiled_operator(key, weights);
    ProfileEntry entry{whole.key, whole.kind, whole.elements,       whole.work,  0,
                       0,         0,          Provenance::measured, options.date};
    for (const RuntimeNode& node : *nodes) {
      if (is_reorder(node)) continue;
      if (!times_.is_measured(node.key)) return false;
      const Cost cost = *times_.find(node);
      entry.seconds += cost.seconds;
      entry.spread += cost.spread;
    }
    entry.repetitions =
        static_cast<int>(nodes->size() - std::count_if(nodes->begin(), nodes->end(), is_reorder));
    LEMMA_RETURN_IF_ERROR(database_.put(target_, std::span(&entry, 1)));
    times_.add(entry);
    return true;
  }

 private:
  /// What ONNX Runtime makes of it. Reorders are measured along with the others, and are priced by themselves.
  Result<std::vector<RuntimeNode>> nodes_of(const CostKey& key, WeightPlace weights) {
    LEMMA_ASSIGN_OR_RETURN(SingleOperator single, single_operator(key));
    const fs::path file = options_.scratch_folder / "operator.onnx";
    ExportOptions writing;
    writing.external_data = ExternalData::never;
    writing.runtime_operators = "onnxruntime";
    const auto written = export_model(
        {std::move(single.graph), ModelEnvelope::for_operator_set(operator_set)}, file, writing);
    if (!written) return tl::unexpected(written.error());
    RuntimeGraphRequest request{file, single.inputs, options_.scratch_folder, options_.threads};
    request.weights = weights;
    auto graph = runtime_graph(worker_, request);
    std::error_code ignored;
    fs::remove(file, ignored);
    if (!graph) return tl::unexpected(graph.error());
    if (graph->unpriced != 0) return bad_input("it has no price");
    return std::move(graph->nodes);
  }

  static constexpr int operator_set = 21;
  OnnxRuntimeWorker& worker_;
  ProfileDatabase& database_;
  const RuntimeIdentity& target_;
  NodeTimes& times_;
  const MeasurementOptions& options_;
};

}  // namespace

bool has_times(const CostKey& key) {
  if (!key.sizes_fit || key.op->has(view)) return false;
  double elements = 0;
  for (const auto* types : {&key.inputs, &key.outputs})
    for (const TensorType& type : *types) {
      if (type.data_type == DataType::undefined) continue;
      if (!type.shape || !is_constant(*type.shape)) return false;
      elements += tensor_of(type, false).elements();
    }
  return elements > 0 && elements < element_limit;
}

RuntimeNode profiled_operator(const CostKey& key, WeightPlace weights) {
  if (is_move(key)) return reorder_of(key);
  RuntimeNode node;
  node.kind = std::string(operator_kind) + std::string(key.op->name);
  for (std::size_t i = 0; i < key.inputs.size(); ++i)
    node.inputs.push_back(tensor_of(key.inputs[i], i < key.constant.size() && key.constant[i]));
  for (const TensorType& type : key.outputs) node.outputs.push_back(tensor_of(type, false));
  measure_size(node);
  for (const RuntimeTensor& tensor : node.inputs)
    if (is_weight(tensor)) node.weight_bytes += tensor.elements() * bits(tensor.type) / 8;
  if (std::any_of(node.inputs.begin(), node.inputs.end(), is_weight)) node.weights = weights;
  node.key =
      fmt::format("{}{}{}", operator_kind, text_without_target(key), place_text(node.weights));
  return node;
}

std::optional<Cost> MeasuredCosts::find(const CostKey& key) const {
  if (!has_times(key)) return std::nullopt;
  const auto cost = times_.find(profiled_operator(key, weights_), farthest_neighbor);
  if (!cost) return std::nullopt;
  const std::lock_guard lock(mutex_);
  recorded_.try_emplace(digest(key), cost->seconds, cost->provenance);
  return cost;
}

RecordedCosts MeasuredCosts::recorded() const {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

std::optional<Cost> ReplayedCosts::find(const CostKey& key) const {
  const auto entry = recorded_.find(digest(key));
  if (entry == recorded_.end()) return std::nullopt;
  return Cost{entry->second.first, 0, entry->second.second};
}

Result<std::size_t> measure_operators(OnnxRuntimeWorker& worker, ProfileDatabase& database,
                                      const RuntimeIdentity& target,
                                      const std::vector<CostKey>& keys, WeightPlace weights,
                                      NodeTimes& times, const MeasurementOptions& options) {
  OperatorMeasurement measurement(worker, database, target, times, options);
  return measure_each(keys, weights, times, options,
                      [&](const CostKey& key) { return measurement.measure(key, weights); });
}

Result<RuntimeIdentity> OnnxRuntimeOperators::identity() {
  constexpr double seconds_to_start = 30;
  LEMMA_ASSIGN_OR_RETURN(const std::string version, worker_.version(seconds_to_start));
  return RuntimeIdentity{"ONNX Runtime " + version, processor_identity(), threads_};
}

Result<std::size_t> OnnxRuntimeOperators::measure(ProfileDatabase& database,
                                                  const std::vector<CostKey>& keys,
                                                  WeightPlace weights, NodeTimes& times,
                                                  const MeasurementOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const RuntimeIdentity target, identity());
  return measure_operators(worker_, database, target, keys, weights, times, options);
}

}  // namespace lemma
