#include "check/traced_run.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "facts/partial.h"
#include "interpreter/random.h"
#include "ir/expand.h"
#include "ir/specialize.h"

namespace lemma {

namespace {

using interpreter::Domain;
using interpreter::NamedTensor;
using interpreter::Tensor;

constexpr std::uint64_t replacement_runs = 10;

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

/// A tensor of the run's domain; to_domain() rounds to the type's own format and back.
Result<Tensor> with_elements(const Tensor& tensor, const std::vector<double>& elements) {
  if (tensor.domain() == Domain::native)
    return Tensor::from_reals(tensor.data_type(), tensor.sizes(), elements);
  Tensor result = Tensor::uninitialized(tensor.data_type(), tensor.sizes(), tensor.domain());
  std::memcpy(result.writable_bytes().data(), elements.data(), elements.size() * sizeof(double));
  return result;
}

class Tracer {
 public:
  Tracer(const Graph& graph, const TraceOptions& options)
      : graph_(graph), options_(options), values_(graph.value_count()) {}

  Result<TracedRun> run(std::vector<Tensor> inputs) {
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      std::vector<Tensor> outputs;
      if (node.kind == NodeKind::input) {
        outputs.push_back(std::move(inputs[node.payload]));
      } else {
        LEMMA_ASSIGN_OR_RETURN(outputs, compute(node));
      }
      for (std::uint32_t k = 0; k < node.output_count; ++k) {
        LEMMA_RETURN_IF_ERROR(look_at(node, outputs[k]));
        values_[node.output(k).v] = std::move(outputs[k]);
      }
    }
    for (const GraphOutput& output : graph_.outputs())
      run_.outputs.push_back(values_[output.value.v]);
    return std::move(run_);
  }

 private:
  Result<std::vector<Tensor>> compute(const Node& node) const {
    if (node.kind == NodeKind::constant) {
      LEMMA_ASSIGN_OR_RETURN(Tensor tensor,
                             to_domain(Tensor::of(graph_.constant(node)), options_.domain));
      return std::vector<Tensor>{std::move(tensor)};
    }
    if (node.kind != NodeKind::operation) return unsupported("an opaque node cannot be run");
    std::vector<Tensor> operands;
    for (const ValueId input : node.inputs)
      operands.push_back(input.is_none() ? Tensor() : values_[input.v]);
    const std::vector<TensorType> types = graph_.input_types(node);
    interpreter::EvaluationOptions options;
    options.domain = options_.domain;
    options.threads = options_.threads;
    options.deadline = options_.deadline;
    return interpreter::evaluate(graph_.op(node), {types, node.attributes, node.output_count},
                                 operands, options);
  }

  /// Takes the figures of a value and replaces what is undefined in it.
  Result<void> look_at(const Node& node, Tensor& value) {
    ++number_;
    if (!is_computable(value.data_type())) return {};
    std::vector<double> elements = value.reals();
    for (const double element : elements) {
      if (std::isfinite(element)) run_.largest = std::max(run_.largest, std::abs(element));
      const double same = std::isnan(element) ? std::nan("") : element;
      run_.fingerprint =
          interpreter::random_word(run_.fingerprint, 1, std::bit_cast<std::uint64_t>(same));
    }
    if (!is_real(value.data_type()) || all_finite(elements)) return {};
    const bool infinities_are_undefined =
        node.kind == NodeKind::operation && (operands_are_finite(node) || is_partial(node.op));
    bool changed = false;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (std::isfinite(elements[i])) continue;
      if (!std::isnan(elements[i])) {
        if (!infinities_are_undefined) continue;
        if (!is_partial(node.op)) run_.overflowed = true;
      }
      run_.has_undefined = changed = true;
      if (options_.replacements) elements[i] = replacement(i);
    }
    if (!changed || !options_.replacements) return {};
    LEMMA_ASSIGN_OR_RETURN(value, with_elements(value, elements));
    return {};
  }

  /// All large and positive, all large and negative, all between 0 and 1, all between -1 and 0, and
  /// then mixed: whatever a comparison asks, it does not get one answer.
  double replacement(std::size_t element) const {
    const std::uint64_t run = *options_.replacements;
    const std::uint64_t word = interpreter::random_word(run, number_, element);
    const double unit = static_cast<double>(word >> 11) * 0x1p-53;
    const double sign = (run < 4 ? run : word) % 2 == 0 ? 1 : -1;
    const bool large = run < 4 ? run < 2 : word % 3 == 0;
    return sign * (large ? 1e6 * (1 + unit) : unit);
  }

  bool operands_are_finite(const Node& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [this](ValueId input) {
      return input.is_none() || !is_real(values_[input.v].data_type()) ||
             all_finite(values_[input.v].reals());
    });
  }

  bool is_partial(OperatorId op) {
    const auto [known, added] = partial_.try_emplace(op, false);
    if (added) known->second = may_be_undefined(op);
    return known->second;
  }

  const Graph& graph_;
  const TraceOptions& options_;
  std::vector<Tensor> values_;
  std::map<OperatorId, bool> partial_;
  std::uint64_t number_ = 0;  // of the value
  TracedRun run_;
};

}  // namespace

Result<TracedRun> trace(const Graph& graph, std::span<const NamedTensor> inputs,
                        const TraceOptions& options) {
  std::vector<Tensor> ordered;
  std::vector<TensorType> types;
  for (const NodeId id : graph.inputs()) {
    const std::string& name = graph.input_name(graph.node(id));
    const auto given = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const NamedTensor& input) { return input.name == name; });
    if (given == inputs.end()) return bad_input("no tensor for input '" + name + "'");
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, to_domain(given->value, options.domain));
    types.push_back(tensor.type());
    ordered.push_back(std::move(tensor));
  }
  LEMMA_ASSIGN_OR_RETURN(const DimensionBindings bindings, interpreter::bind_symbols(graph, types));
  LEMMA_ASSIGN_OR_RETURN(const Graph concrete, specialize(graph, bindings, types));
  LEMMA_ASSIGN_OR_RETURN(const Graph expanded, expand_composites(concrete));
  return Tracer(expanded, options).run(std::move(ordered));
}

Result<std::vector<std::vector<bool>>> defined_elements(const Graph& graph,
                                                        std::span<const NamedTensor> inputs,
                                                        const TraceOptions& options) {
  std::vector<std::vector<bool>> defined;
  std::vector<std::vector<double>> first;
  for (std::uint64_t i = 0; i < replacement_runs; ++i) {
    TraceOptions replacing = options;
    replacing.replacements = i;
    LEMMA_ASSIGN_OR_RETURN(const TracedRun run, trace(graph, inputs, replacing));
    for (std::size_t k = 0; k < run.outputs.size(); ++k) {
      std::vector<double> elements = run.outputs[k].reals();
      if (i == 0) {
        defined.emplace_back(elements.size(), true);
        // An output that is itself undefined was replaced, and so is another one each time.
        first.push_back(std::move(elements));
        continue;
      }
      for (std::size_t j = 0; j < elements.size(); ++j)
        if (elements[j] != first[k][j]) defined[k][j] = false;
    }
    if (!run.has_undefined) break;
  }
  return defined;
}

}  // namespace lemma
