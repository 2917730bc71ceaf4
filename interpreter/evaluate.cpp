#include "interpreter/evaluate.h"

#include <memory>
#include <new>

#include <fmt/format.h>

#include "interpreter/contraction.h"
#include "interpreter/elements.h"
#include "interpreter/evaluate_algorithm.h"
#include "interpreter/run.h"
#include "lowering/lower.h"

namespace lemma::interpreter {

namespace {

Result<void> check_inputs(std::span<const Tensor> inputs, Domain domain) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (is_real(inputs[i].data_type()) && inputs[i].domain() != domain)
      return internal_error(fmt::format("input {} is a tensor of the domain {}, not {}", i,
                                        name(inputs[i].domain()), name(domain)));
  return {};
}

/// Memory that holds what was computed ahead of the rest, and the bytes of all inputs.
struct Operands {
  std::vector<const std::byte*> bytes;
  std::vector<std::unique_ptr<std::byte[]>> computed;
};

/// Replaces sums of products by their values. Returns whether all of the output is one such sum
/// and is in `out` already.
Result<bool> compute_contractions(LoweredOutput& terms, Operands& operands, std::byte* out,
                                  const EvaluationOptions& options) {
  while (auto contraction =
             find_contraction(terms.graph, terms.root, terms.axes, options.in_order)) {
    const Term sum = terms.graph.term(contraction->sum);
    std::vector<LoopVariable> axes;
    Sizes sizes;
    std::vector<Linear> indices;
    for (const LoopVariable v : terms.axes) {
      if ((sum.depends & set_of(v)) == 0) continue;
      axes.push_back(v);
      sizes.push_back(terms.graph.extent(v));
      indices.push_back(Linear::atom(v));
    }
    const bool is_all = contraction->sum == terms.root && axes == terms.axes &&
                        element_access(terms.type, options.domain).is_lane_format;
    const auto size = static_cast<std::size_t>(element_count(sizes)) * lane_size(sum.lanes);
    std::unique_ptr<std::byte[]> memory(is_all ? nullptr : new std::byte[size]);
    LEMMA_ASSIGN_OR_RETURN(const bool computed,
                           evaluate_contraction(terms.graph, *contraction, axes, operands.bytes,
                                                is_all ? out : memory.get(), options));
    if (!computed) return false;
    if (is_all) return true;
    const std::uint32_t input = terms.graph.add_input({sum.type, sizes, true});
    terms.graph.replace_by_read(contraction->sum, input, std::move(indices));
    operands.bytes.push_back(memory.get());
    operands.computed.push_back(std::move(memory));
  }
  return false;
}

/// The reductions that an algorithm computes without going through all terms for each element become reads of their values.
void compute_algorithms(LoweredOutput& terms, Operands& operands,
                        const EvaluationOptions& options) {
  const std::vector<LoopVariable> all_axes = terms.axes;
  for (const TermNumber id : evaluated_reductions(terms.graph, terms.root)) {
    const auto algorithm = lowering::find_algorithm(terms.graph, id, all_axes);
    if (!algorithm) continue;
    const Term reduction = terms.graph.term(id);
    std::vector<LoopVariable> axes;
    Sizes sizes;
    std::vector<Linear> indices;
    for (const LoopVariable v : all_axes) {
      if ((reduction.depends & set_of(v)) == 0) continue;
      axes.push_back(v);
      sizes.push_back(terms.graph.extent(v));
      indices.push_back(Linear::atom(v));
    }
    const auto size = static_cast<std::size_t>(element_count(sizes)) * lane_size(reduction.lanes);
    std::unique_ptr<std::byte[]> memory(new std::byte[size]);
    if (!evaluate_algorithm(terms.graph, id, *algorithm, axes, operands.bytes, memory.get(),
                            options))
      continue;
    const std::uint32_t input = terms.graph.add_input({reduction.type, sizes, true});
    terms.graph.replace_by_read(id, input, std::move(indices));
    operands.bytes.push_back(memory.get());
    operands.computed.push_back(std::move(memory));
  }
}

/// Sizes multiply to a number of bytes that some machine may have.
Result<void> check_size(const Sizes& sizes) {
  constexpr std::int64_t limit = std::int64_t{1} << 44;  // elements of at most 8 bytes
  bool is_empty = false;
  for (const std::int64_t size : sizes) is_empty = is_empty || size == 0;
  std::int64_t count = 1;
  for (const std::int64_t size : sizes)
    if (!is_empty && (__builtin_mul_overflow(count, size, &count) || count > limit))
      return unsupported(fmt::format("a tensor of the sizes [{}]", fmt::join(sizes, ", ")));
  return {};
}

Result<Tensor> evaluate_output(const Definition& definition, const DefinedOutput& output,
                               std::span<const Tensor> inputs, const EvaluationOptions& options) {
  std::vector<InputView> views;
  for (const Tensor& input : inputs) views.push_back({input.data_type(), input.sizes(), false});
  LEMMA_ASSIGN_OR_RETURN(LoweredOutput terms, lower(definition, output, views, options.domain));
  LEMMA_RETURN_IF_ERROR(check_size(terms.sizes));
  Operands operands;
  for (const Tensor& input : inputs) operands.bytes.push_back(input.bytes().data());
  if (!options.plain) {
    if (const auto input = copied_input(terms)) return inputs[*input].with_sizes(terms.sizes);
  }
  Tensor result = Tensor::uninitialized(terms.type, terms.sizes, options.domain);
  std::byte* out = result.writable_bytes().data();
  if (!options.plain && result.element_count() != 0) {
    if (const auto parts = find_parts(terms); !parts.empty()) {
      LEMMA_ASSIGN_OR_RETURN(terms,
                             lower(definition, output, std::move(views), options.domain, parts));
    }
    compute_algorithms(terms, operands, options);
    LEMMA_ASSIGN_OR_RETURN(const bool finished,
                           compute_contractions(terms, operands, out, options));
    if (finished) return result;
  }
  const Destination destination = {terms.axes, out, element_access(terms.type, options.domain)};
  LEMMA_RETURN_IF_ERROR(
      evaluate_elements(terms.graph, terms.root, operands.bytes, destination, options));
  return result;
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const Definition& definition, std::span<const Tensor> inputs,
                                     const EvaluationOptions& options) {
  LEMMA_RETURN_IF_ERROR(check_inputs(inputs, options.domain));
  std::vector<Tensor> outputs;
  try {
    for (const DefinedOutput& output : definition.outputs()) {
      LEMMA_ASSIGN_OR_RETURN(Tensor tensor, evaluate_output(definition, output, inputs, options));
      outputs.push_back(std::move(tensor));
    }
  } catch (const std::bad_alloc&) {
    return unsupported("there is not enough memory");
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
