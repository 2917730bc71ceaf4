#include "runner/flex_attention.h"

#include <cmath>

#include <fmt/format.h>

#include "runner/body_runner.h"

namespace lemma::runner {

namespace {

using Values = std::vector<RunTimeValue>;
/// Makes the result of a step from its operands.
using Step = Result<ValueId> (*)(Graph& graph, std::span<const ValueId> operands, double scale);

/// Evaluates a step; the bodies are run between the steps.
Result<RunTimeValue> run_step(const ControlFlowCall& call, Step step, const Values& operands,
                              double scale = 1) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (const RunTimeValue& operand : operands) {
    LEMMA_ASSIGN_OR_RETURN(const ValueId input, graph.add_input(std::to_string(inputs.size()),
                                                                operand.tensor()->type()));
    inputs.push_back(input);
  }
  LEMMA_ASSIGN_OR_RETURN(const ValueId result, step(graph, inputs, scale));
  LEMMA_RETURN_IF_ERROR(graph.add_output("0", result));
  RunOptions options = call.options;
  options.coverage = nullptr;
  LEMMA_ASSIGN_OR_RETURN(const Values values, run_graph(graph, call.envelope, operands, options));
  return values.front();
}

/// Each head as often as there are heads of the query for it.
Result<ValueId> repeated_heads(Graph& graph, ValueId heads, ValueId query) {
  const Dimension wanted = (*graph.type(query).shape)[1], given = (*graph.type(heads).shape)[1];
  if (wanted == given) return heads;
  if (given.offset() < 1 || wanted.offset() % given.offset() != 0)
    return bad_input(fmt::format("{} heads of a query, and {} of its keys and values",
                                 wanted.text(), given.text()));
  const std::int64_t each = wanted.offset() / given.offset();
  std::vector<std::int64_t> positions;
  for (std::int64_t head = 0; head < wanted.offset(); ++head) positions.push_back(head / each);
  const ValueId picked = graph.add_constant(Constant::of_integers(positions));
  return graph.add("Gather", {heads, picked}, {{"axis", std::int64_t{1}}});
}

Result<ValueId> scores(Graph& graph, std::span<const ValueId> operands, double scale) {
  const DataType type = graph.type(operands[0]).data_type;
  const ValueId factor =
      graph.add_constant(type == DataType::f64 ? Constant::of(type, {}, std::vector<double>{scale})
                                               : Constant::scalar_f32(static_cast<float>(scale)));
  LEMMA_ASSIGN_OR_RETURN(const ValueId keys, repeated_heads(graph, operands[1], operands[0]));
  LEMMA_ASSIGN_OR_RETURN(const ValueId turned,
                         graph.add("Transpose", {keys}, {{"perm", Integers{0, 1, 3, 2}}}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId product, graph.add("MatMul", {operands[0], turned}));
  return graph.add("Mul", {product, factor});
}

Result<ValueId> weights(Graph& graph, std::span<const ValueId> operands, double /*scale*/) {
  return graph.add("Softmax", {operands[0]}, {{"axis", std::int64_t{-1}}});
}

/// Of the weights, which have the heads of the query, and the values.
Result<ValueId> weighed_values(Graph& graph, std::span<const ValueId> operands, double /*scale*/) {
  LEMMA_ASSIGN_OR_RETURN(const ValueId values, repeated_heads(graph, operands[1], operands[0]));
  return graph.add("MatMul", {operands[0], values});
}

/// The value, or what the body makes of it if there is one.
Result<RunTimeValue> changed(const ControlFlowCall& call, std::string_view attribute,
                             RunTimeValue value) {
  if (call.node.body(attribute) == nullptr) return value;
  LEMMA_ASSIGN_OR_RETURN(BodyRunner body, BodyRunner::create(call, attribute));
  if (body.input_count() != 1 || body.output_count() != 1)
    return bad_input(fmt::format("{} has not one input and one output", attribute));
  const TensorType type = value.tensor()->type();
  LEMMA_ASSIGN_OR_RETURN(const Values outputs, body.run({std::move(value)}));
  const Constant* result = outputs.front().tensor();
  if (result == nullptr || !(result->type() == type))
    return bad_input(
        fmt::format("{} gives {}, not {}", attribute, text(outputs.front()), text(type)));
  return outputs.front();
}

Result<double> check_operands(const ControlFlowCall& call) {
  if (call.inputs.size() != 3) return bad_input("FlexAttention has three inputs");
  for (const RunTimeValue& input : call.inputs) {
    const Constant* tensor = input.tensor();
    if (tensor == nullptr || tensor->type().rank() != 4)
      return bad_input(fmt::format("an operand of FlexAttention is {}", text(input)));
    const DataType type = tensor->type().data_type;
    if (type != DataType::f32 && type != DataType::f64)
      return unsupported(fmt::format("FlexAttention of {} with bodies", name(type)));
  }
  const DataType type = call.inputs[0].tensor()->type().data_type;
  const auto precision = static_cast<DataType>(
      call.node.attributes().integer("softmax_precision", static_cast<std::int64_t>(type)));
  if (precision != type)
    return unsupported(fmt::format("FlexAttention of {} in {}", name(type), name(precision)));
  const auto size = static_cast<double>(sizes_of(*call.inputs[0].tensor()).back());
  return call.node.attributes().real("scale", 1 / std::sqrt(size));
}

}  // namespace

Result<Values> run_flex_attention(const ControlFlowCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const double scale, check_operands(call));
  LEMMA_ASSIGN_OR_RETURN(RunTimeValue value,
                         run_step(call, scores, {call.inputs[0], call.inputs[1]}, scale));
  LEMMA_ASSIGN_OR_RETURN(value, changed(call, "score_mod", std::move(value)));
  LEMMA_ASSIGN_OR_RETURN(value, run_step(call, weights, {value}));
  LEMMA_ASSIGN_OR_RETURN(value, changed(call, "prob_mod", std::move(value)));
  LEMMA_ASSIGN_OR_RETURN(value, run_step(call, weighed_values, {value, call.inputs[2]}));
  return Values{std::move(value)};
}

}  // namespace lemma::runner
