#include "engines/tuned_operators.h"

#include <fmt/format.h>

#include "backend/execute/prepared_graph.h"
#include "check/check_inputs.h"
#include "costmodel/graph_cost.h"
#include "costmodel/priced_device.h"
#include "facts/operator_instances.h"
#include "frontend_onnx/import.h"
#include "profiler/operator_measurement.h"
#include "programs/shape_option.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

constexpr std::int64_t most_input_elements = std::int64_t{1} << 28;
constexpr std::string_view constant_word = "constant ";

std::string name_of(const CostKey& key) {
  std::string result = fmt::format("{}{}", key.op->name, text(key.attributes));
  for (std::size_t i = 0; i < key.inputs.size(); ++i)
    result +=
        fmt::format("{}{}{}", i == 0 ? " " : ", ",
                    i < key.constant.size() && key.constant[i] ? constant_word : "",
                    key.inputs[i].data_type == DataType::undefined ? "-" : text(key.inputs[i]));
  return result;
}

/// Types of the outputs and complete attributes, as the graph of the application has them.
Result<TunedOperator> with_single(CostKey key) {
  LEMMA_ASSIGN_OR_RETURN(SingleOperator single, single_operator(key));
  for (const NodeId id : single.graph.live_nodes())
    if (single.graph.node(id).kind == NodeKind::operation) {
      key.attributes = single.graph.node(id).attributes;
      key.outputs = single.graph.output_types(single.graph.node(id));
    }
  std::string name = name_of(key);
  return TunedOperator{std::move(name), std::move(single), std::move(key)};
}

}  // namespace

Result<TunedOperator> tuned_operator(const OperatorText& given) {
  const auto id = find_operator(given.op);
  if (!id)
    return bad_input(fmt::format("'{}' is no operator; docs/operators.md lists them", given.op));
  std::string operands, attributes;
  CostKey key;
  for (const std::string& operand : given.operands) {
    const bool is_constant = operand.starts_with(constant_word);
    key.constant.push_back(is_constant);
    operands += (operands.empty() ? "" : "; ") +
                (is_constant ? operand.substr(constant_word.size()) : operand);
  }
  for (const std::string& attribute : given.attributes)
    attributes += (attributes.empty() ? "" : "; ") + attribute;
  key.op = &record(*id);
  LEMMA_ASSIGN_OR_RETURN(OperatorInstance instance,
                         read_example(*key.op, {operands, attributes, given.outputs}));
  for (const TensorType& type : instance.inputs)
    if (type.data_type != DataType::undefined && (!type.shape || !constant_sizes(*type.shape)))
      return bad_input(fmt::format("the sizes of an operand of type {} are not fixed", text(type)));
  key.inputs = std::move(instance.inputs);
  key.attributes = std::move(instance.attributes);
  key.outputs.resize(static_cast<std::size_t>(given.outputs));
  return with_single(std::move(key));
}

Result<std::vector<TunedOperator>> tuned_operators(const std::string& file,
                                                   const std::vector<std::string>& shapes,
                                                   std::int64_t size) {
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(shapes));
  reading.fix_overridable_initializers = true;
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, reading));
  InputPlan plan;
  plan.size = size;
  LEMMA_ASSIGN_OR_RETURN(const auto inputs,
                         make_inputs(model.graph, plan, {}, most_input_elements));
  LEMMA_ASSIGN_OR_RETURN(const Graph graph, backend::prepared_graph(model.graph, inputs));
  LEMMA_ASSIGN_OR_RETURN(const auto description,
                         device_file("rtask-cpu", DevicePart::operators, "--target"));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(description));
  const OperatorCosts costs(priced_by_roofline(std::move(device)));
  const Graph* const pointer = &graph;
  std::vector<TunedOperator> result;
  for (CostKey& key : distinct_keys({&pointer, 1}, costs)) {
    if (!has_times(key)) continue;
    auto tuned = with_single(std::move(key));
    if (tuned) result.push_back(std::move(*tuned));
  }
  return result;
}

}  // namespace lemma
