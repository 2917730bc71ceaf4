#include "ir/interpreter/evaluate.h"

#include <fmt/format.h>

#include "ir/interpreter/elements.h"
#include "ir/interpreter/run.h"
#include "ir/interpreter/terms.h"

namespace lemma::interpreter {

namespace {

Result<void> check_inputs(std::span<const Tensor> inputs, Domain domain) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (is_real(inputs[i].data_type()) && inputs[i].domain() != domain)
      return internal_error(fmt::format("input {} is a tensor of the domain {}, not {}", i,
                                        name(inputs[i].domain()), name(domain)));
  return {};
}

/// The terms of one output, with a variable for each axis longer than 1.
struct OutputTerms {
  TermGraph graph;
  TermId root = 0;
  std::vector<LoopVariable> axes;
  Sizes sizes;
  DataType type = DataType::undefined;
};

Result<OutputTerms> terms_of(const Definition& definition, const DefinedOutput& output,
                             std::span<const Tensor> inputs, Domain domain) {
  std::vector<InputView> views;
  for (const Tensor& input : inputs) views.push_back({input.data_type(), input.sizes(), false});
  OutputTerms result{TermGraph(domain, std::move(views)), 0, {}, {}, DataType::undefined};
  Environment environment;
  for (const VariableId axis : output.axes) {
    const auto extent = definition.extent(axis).constant();
    if (!extent) return internal_error("the size of an output is not constant");
    result.sizes.push_back(*extent);
    if (*extent == 1) {
      environment[axis.v] = result.graph.linear(Linear::of(0));
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(const LoopVariable variable, result.graph.variable(*extent));
    result.axes.push_back(variable);
    environment[axis.v] = result.graph.linear(Linear::atom(variable));
  }
  result.type = definition.node(output.value).type;
  LEMMA_ASSIGN_OR_RETURN(result.root,
                         translate(result.graph, definition, output.value, environment));
  return result;
}

Result<Tensor> evaluate_output(const Definition& definition, const DefinedOutput& output,
                               std::span<const Tensor> inputs, const EvaluationOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const OutputTerms terms,
                         terms_of(definition, output, inputs, options.domain));
  std::vector<const std::byte*> bytes;
  for (const Tensor& input : inputs) bytes.push_back(input.bytes().data());
  Tensor result = Tensor::uninitialized(terms.type, terms.sizes, options.domain);
  const Destination destination = {terms.axes, result.writable_bytes().data(),
                                   element_access(terms.type, options.domain)};
  LEMMA_RETURN_IF_ERROR(
      evaluate_elements(terms.graph, terms.root, bytes, destination, options));
  return result;
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const Definition& definition, std::span<const Tensor> inputs,
                                     const EvaluationOptions& options) {
  LEMMA_RETURN_IF_ERROR(check_inputs(inputs, options.domain));
  std::vector<Tensor> outputs;
  for (const DefinedOutput& output : definition.outputs()) {
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, evaluate_output(definition, output, inputs, options));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

namespace {

/// A composite operator is the graph of its composition.
Result<std::vector<Tensor>> evaluate_composite(const OperatorRecord& record,
                                               const Instance& instance,
                                               std::span<const Tensor> inputs,
                                               const EvaluationOptions& options) {
  Graph graph;
  std::vector<ValueId> values;
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_absent()) {
      values.push_back(ValueId::none());
      continue;
    }
    named.push_back({fmt::format("input {}", i), inputs[i]});
    LEMMA_ASSIGN_OR_RETURN(const ValueId value,
                           graph.add_input(named.back().name, instance.inputs[i]));
    values.push_back(value);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                         record.compose(graph, instance, values));
  for (std::size_t i = 0; i < outputs.size(); ++i)
    LEMMA_RETURN_IF_ERROR(graph.add_output(fmt::format("output {}", i), outputs[i]));
  RunOptions run_options;
  static_cast<EvaluationOptions&>(run_options) = options;
  return run(graph, named, run_options);
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const OperatorRecord& record, const Instance& instance,
                                     std::span<const Tensor> inputs,
                                     const EvaluationOptions& options) {
  if (record.compose != nullptr) return evaluate_composite(record, instance, inputs, options);
  return evaluate(record.define(instance), inputs, options);
}

}  // namespace lemma::interpreter
