#include "runner/flex_attention.h"

#include <cmath>

#include <fmt/format.h>

#include "runner/body_runner.h"

namespace lemma::runner {

namespace {

using Values = std::vector<RunTimeValue>;
/// What the node says of its numbers.
struct Numbers {
  double scale = 1;    // of the scores
  DataType precision;  // of the softmax, and of what bodies take and give
  DataType result;     // the type of the operands
};
/// Makes the result of a step from its operands.
using Step = Result<ValueId> (*)(Graph& graph, std::span<const ValueId> operands,
                                 const Numbers& numbers);

/// Evaluates a step; the bodies are run between the steps.
Result<RunTimeValue> run_step(const ControlFlowCall& call, Step step, const Values& operands,
                              const Numbers& numbers) {
  Graph graph;
  std::vector<ValueId> inputs;
  for (const RunTimeValue& operand : operands) {
    LEMMA_ASSIGN_OR_RETURN(const ValueId input, graph.add_input(std::to_string(inputs.size()),
                                                                operand.tensor()->type()));
    inputs.push_back(input);
  }
  LEMMA_ASSIGN_OR_RETURN(const ValueId result, step(graph, inputs, numbers));
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

Result<ValueId> cast(Graph& graph, ValueId value, DataType type) {
  if (graph.type(value).data_type == type) return value;
  return graph.add("Cast", {value}, {{"to", type}});
}

/// Both operands are multiplied by the root of the scale before the product, as in ONNX's own composition: in narrow types
/// another order is another number.
Result<ValueId> scores(Graph& graph, std::span<const ValueId> operands, const Numbers& numbers) {
  const double root = std::sqrt(numbers.scale);
  const ValueId constant = graph.add_constant(
      numbers.result == DataType::f64 ? Constant::of(DataType::f64, {}, std::vector<double>{root})
                                      : Constant::scalar_f32(static_cast<float>(root)));
  LEMMA_ASSIGN_OR_RETURN(const ValueId factor, cast(graph, constant, numbers.result));
  LEMMA_ASSIGN_OR_RETURN(const ValueId queries, graph.add("Mul", {operands[0], factor}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId repeated, repeated_heads(graph, operands[1], operands[0]));
  LEMMA_ASSIGN_OR_RETURN(const ValueId keys, graph.add("Mul", {repeated, factor}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId turned,
                         graph.add("Transpose", {keys}, {{"perm", Integers{0, 1, 3, 2}}}));
  LEMMA_ASSIGN_OR_RETURN(const ValueId product, graph.add("MatMul", {queries, turned}));
  return cast(graph, product, numbers.precision);
}

Result<ValueId> weights(Graph& graph, std::span<const ValueId> operands,
                        const Numbers& /*numbers*/) {
  return graph.add("Softmax", {operands[0]}, {{"axis", std::int64_t{-1}}});
}

/// Of the weights, which have the heads of the query, and the values.
Result<ValueId> weighed_values(Graph& graph, std::span<const ValueId> operands,
                               const Numbers& numbers) {
  LEMMA_ASSIGN_OR_RETURN(const ValueId repeated, repeated_heads(graph, operands[1], operands[0]));
  LEMMA_ASSIGN_OR_RETURN(const ValueId values, cast(graph, repeated, numbers.precision));
  LEMMA_ASSIGN_OR_RETURN(const ValueId sum, graph.add("MatMul", {operands[0], values}));
  return cast(graph, sum, numbers.result);
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

Result<Numbers> numbers_of(const ControlFlowCall& call) {
  if (call.inputs.size() != 3) return bad_input("FlexAttention has three inputs");
  for (const RunTimeValue& input : call.inputs) {
    const Constant* tensor = input.tensor();
    if (tensor == nullptr || tensor->type().rank() != 4 || !is_real(tensor->type().data_type))
      return bad_input(fmt::format("an operand of FlexAttention is {}", text(input)));
  }
  const DataType type = call.inputs[0].tensor()->type().data_type;
  const DataType usual = type == DataType::f64 ? type : DataType::f32;
  const auto precision = static_cast<DataType>(
      call.node.attributes().integer("softmax_precision", static_cast<std::int64_t>(usual)));
  if (!is_real(precision))
    return bad_input(fmt::format("softmax_precision is {}, no real type", name(precision)));
  const auto size = static_cast<double>(sizes_of(*call.inputs[0].tensor()).back());
  return Numbers{call.node.attributes().real("scale", 1 / std::sqrt(size)), precision, type};
}

}  // namespace

bool is_flex_attention(const KeptNode& node) {
  return node.domain() == "ai.onnx.preview" && node.name() == "FlexAttention";
}

Result<Values> run_flex_attention(const ControlFlowCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Numbers numbers, numbers_of(call));
  LEMMA_ASSIGN_OR_RETURN(RunTimeValue value,
                         run_step(call, scores, {call.inputs[0], call.inputs[1]}, numbers));
  LEMMA_ASSIGN_OR_RETURN(value, changed(call, "score_mod", std::move(value)));
  LEMMA_ASSIGN_OR_RETURN(value, run_step(call, weights, {value}, numbers));
  LEMMA_ASSIGN_OR_RETURN(value, changed(call, "prob_mod", std::move(value)));
  LEMMA_ASSIGN_OR_RETURN(value, run_step(call, weighed_values, {value, call.inputs[2]}, numbers));
  return Values{std::move(value)};
}

}  // namespace lemma::runner
