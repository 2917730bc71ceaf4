#include "check/disputed_constants.h"

#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "check/second_judge.h"
#include "facts/weight_only.h"
#include "frontend_onnx/export.h"
#include "interpreter/constant_operation.h"
#include "ir/rebuild.h"

namespace lemma {

namespace {

constexpr std::size_t most_applications = 300;
constexpr std::size_t most_elements = 65'536;

/// Two graphs without inputs: one computes what the other holds.
struct Comparison {
  Graph computed, held;
  std::map<std::string, std::string> operators;  // by output
};

class ComparisonBuilder {
 public:
  explicit ComparisonBuilder(const Graph& graph) : graph_(graph) {}

  Result<Comparison> build() {
    const std::vector<bool> weight_only = weight_only_nodes(graph_);
    for (const NodeId id : graph_.live_nodes())
      if (weight_only[id.v] && result_.operators.size() < most_applications)
        LEMMA_RETURN_IF_ERROR(add(graph_.node(id)));
    return std::move(result_);
  }

 private:
  const Constant* contents(ValueId value) const {
    if (const Constant* constant = graph_.constant_of(value)) return constant;
    const auto known = values_.find(value);
    return known != values_.end() ? &known->second : nullptr;
  }

  Result<void> add(const Node& node) {
    if (node.kind != NodeKind::operation) return {};
    std::vector<const Constant*> operands;
    for (const ValueId operand : node.inputs) {
      operands.push_back(operand.is_none() ? nullptr : contents(operand));
      const bool is_missing = !operand.is_none() && operands.back() == nullptr;
      if (is_missing ||
          (operands.back() != nullptr && operands.back()->element_count() > most_elements))
        return {};
    }
    const auto outputs = interpreter::evaluate_on_constants(node, operands);
    if (!outputs || operands.empty()) return {};
    std::vector<ValueId> inputs;
    for (const Constant* operand : operands)
      inputs.push_back(operand == nullptr ? ValueId::none()
                                          : result_.computed.add_constant(*operand));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> computed,
                           add_copy(result_.computed, node, node.attributes, std::move(inputs)));
    for (std::size_t k = 0; k < computed.size(); ++k) {
      const std::string name = fmt::format("computed_{}", result_.operators.size());
      LEMMA_RETURN_IF_ERROR(result_.computed.add_output(name, computed[k]));
      LEMMA_RETURN_IF_ERROR(
          result_.held.add_output(name, result_.held.add_constant((*outputs)[k])));
      result_.operators.emplace(name, folded_operator(graph_, node));
      values_.emplace(node.output(static_cast<std::uint32_t>(k)), (*outputs)[k]);
    }
    return {};
  }

  const Graph& graph_;
  Comparison result_;
  std::map<ValueId, Constant> values_;
};

}  // namespace

std::set<std::string> disputed_operators(const OnnxModel& model, OnnxRuntimeWorker& worker,
                                         const std::filesystem::path& scratch_folder, int threads,
                                         double seconds) {
  auto built = ComparisonBuilder(model.graph).build();
  if (!built || built->operators.empty()) return {};
  JudgeRequest request;
  request.original = scratch_folder / "computed.onnx";
  request.result = scratch_folder / "held.onnx";
  const ExportOptions writing;
  if (!export_model({built->computed, model.envelope}, request.original, writing) ||
      !export_model({built->held, model.envelope}, request.result, writing))
    return {};
  request.sets = {NamedValues()};
  request.tolerance = tolerance_for(model.graph, std::nullopt, std::nullopt);
  request.threads = threads;
  request.scratch_folder = scratch_folder;
  request.time_limit_seconds = seconds;
  std::set<std::string> disputed;
  for (const std::string& output : ask_second_judge(worker, request).different)
    if (const auto op = built->operators.find(output); op != built->operators.end())
      disputed.insert(op->second);
  return disputed;
}

}  // namespace lemma
