#include "interpreter/run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "ir/constant_expression.h"
#include "ir/expand.h"
#include "ir/live_values.h"
#include "ir/specialize.h"

namespace lemma::interpreter {

namespace {

/// The value of the only unknown symbol of a*N + b = size; nothing if the dimension is not of that
/// form or there is no solution.
std::optional<std::pair<std::string, std::int64_t>> solve(const Dimension& dimension,
                                                          std::int64_t size) {
  std::map<std::string, int> symbols;
  collect_symbols(dimension, symbols);
  if (symbols.size() != 1 || dimension.terms().size() != 1) return std::nullopt;
  const std::string& name = symbols.begin()->first;
  const std::int64_t factor = dimension.terms().front().coefficient;
  const std::int64_t value = (size - dimension.offset()) / factor;
  if (value < 0 || !substitute(dimension, {{name, value}}).is(size)) return std::nullopt;
  return std::pair{name, value};
}

/// a*N + b for one symbol N.
bool is_linear(const Dimension& dimension) {
  std::map<std::string, int> symbols;
  collect_symbols(dimension, symbols);
  if (symbols.size() != 1 || dimension.terms().size() != 1) return false;
  const Dimension slope = dimension.terms().front().coefficient;
  return (dimension - slope * Dimension::symbol(symbols.begin()->first)).is_constant();
}

struct Equation {
  std::size_t input, axis;
  Dimension dimension;
  std::int64_t size;
};

std::string place(const Graph& graph, const Equation& equation) {
  return fmt::format("axis {} of input '{}' ({})", equation.axis,
                     graph.input_name(graph.node(graph.inputs()[equation.input])),
                     equation.dimension.text());
}

Result<std::vector<Equation>> equations_of(const Graph& graph, std::span<const TensorType> types) {
  std::vector<Equation> equations;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Node& node = graph.node(graph.inputs()[i]);
    const TensorType& declared = graph.type(node.output());
    const std::string& name = graph.input_name(node);
    if (declared.data_type != DataType::undefined && declared.data_type != types[i].data_type)
      return bad_input(
          fmt::format("input '{}' is {}, not {}", name, text(types[i]), text(declared)));
    if (!declared.shape) continue;
    if (declared.shape->size() != types[i].shape->size())
      return bad_input(
          fmt::format("input '{}' is {}, not {}", name, text(types[i]), text(declared)));
    for (std::size_t axis = 0; axis < declared.shape->size(); ++axis)
      equations.push_back({i, axis, (*declared.shape)[axis], (*types[i].shape)[axis].offset()});
  }
  return equations;
}

}  // namespace

std::optional<std::vector<TensorType>> input_types(const Graph& graph,
                                                   std::span<const NamedTensor> inputs) {
  std::vector<TensorType> types;
  for (const NodeId id : graph.inputs()) {
    const std::string& name = graph.input_name(graph.node(id));
    const auto input = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const NamedTensor& tensor) { return tensor.name == name; });
    if (input == inputs.end()) return std::nullopt;
    types.push_back(input->value.type());
  }
  return types;
}

Result<DimensionBindings> bind_symbols(const Graph& graph, std::span<const TensorType> types) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Equation> equations, equations_of(graph, types));
  DimensionBindings bindings;
  // Each round solves what depends on one unknown symbol; a symbol is found in at least one round.
  for (bool changed = true; changed;) {
    changed = false;
    for (const Equation& equation : equations) {
      const Dimension known = substitute(equation.dimension, bindings);
      if (known.is_constant()) continue;
      if (auto solution = solve(known, equation.size)) {
        bindings.emplace(solution->first, solution->second);
        changed = true;
      }
    }
  }
  for (const Equation& equation : equations) {
    const Dimension known = substitute(equation.dimension, bindings);
    if (is_linear(known))
      return bad_input(
          fmt::format("{} cannot have the size {}", place(graph, equation), equation.size));
    if (!known.is_constant())
      return unsupported(fmt::format("the size {} of {} does not determine its symbols",
                                     equation.size, place(graph, equation)));
    if (!known.is(equation.size))
      return bad_input(fmt::format("{} has the size {}, not {}", place(graph, equation),
                                   equation.size, known.text()));
  }
  return bindings;
}

namespace {

Result<std::vector<Tensor>> ordered_inputs(const Graph& graph, std::span<const NamedTensor> inputs,
                                           Domain domain) {
  std::vector<Tensor> ordered;
  for (const NodeId id : graph.inputs()) {
    const std::string& name = graph.input_name(graph.node(id));
    auto given = std::find_if(inputs.begin(), inputs.end(),
                              [&](const NamedTensor& tensor) { return tensor.name == name; });
    if (given == inputs.end()) return bad_input(fmt::format("no tensor for input '{}'", name));
    auto tensor = to_domain(given->value, domain);
    if (!tensor) return with_context(fmt::format("input '{}'", name), std::move(tensor.error()));
    ordered.push_back(std::move(*tensor));
  }
  for (const NamedTensor& tensor : inputs) {
    auto has_name = [&](NodeId id) { return graph.input_name(graph.node(id)) == tensor.name; };
    if (std::none_of(graph.inputs().begin(), graph.inputs().end(), has_name))
      return bad_input(fmt::format("the graph has no input '{}'", tensor.name));
  }
  return ordered;
}

/// Declared types equal to the actual ones: nothing to specialize.
bool is_concrete(const Graph& graph) {
  for (const NodeId id : graph.live_nodes())
    for (const TensorType& type : graph.output_types(graph.node(id)))
      if (!type.shape || !is_constant(*type.shape)) return false;
  return true;
}

/// NaN where there is an infinity.
Tensor without_infinities(Tensor tensor) {
  if (!is_real(tensor.data_type()) || tensor.domain() != Domain::f64) return tensor;
  std::vector<double> values = tensor.reals();
  if (std::none_of(values.begin(), values.end(), [](double value) { return std::isinf(value); }))
    return tensor;
  for (double& value : values)
    if (std::isinf(value)) value = std::numeric_limits<double>::quiet_NaN();
  Tensor result = Tensor::uninitialized(tensor.data_type(), tensor.sizes(), Domain::f64);
  std::memcpy(result.writable_bytes().data(), values.data(), values.size() * sizeof(double));
  return result;
}

/// Runs the nodes of a graph with concrete types and without composite operators in order.
class Runner {
 public:
  Runner(const Graph& graph, const RunOptions& options)
      : graph_(graph), options_(options), live_(graph.live_nodes()), values_(graph, live_) {}

  Result<std::vector<Tensor>> run(std::vector<Tensor> inputs) {
    for (const NodeId id : live_) {
      const Node& node = graph_.node(id);
      auto outputs = compute(node, inputs);
      if (!outputs) return with_context(describe(id), std::move(outputs.error()));
      if (options_.infinities_are_undefined)
        for (Tensor& output : *outputs) output = without_infinities(std::move(output));
      values_.set(node, std::move(*outputs));
    }
    return values_.outputs();
  }

 private:
  std::string describe(NodeId id) const {
    const Node& node = graph_.node(id);
    std::string text = fmt::format("node {}", id.v);
    if (node.kind == NodeKind::operation) text += fmt::format(" ({})", graph_.op(node).name);
    const std::string& name = graph_.suggested_name(node.output());
    return name.empty() ? text : text + fmt::format(" '{}'", name);
  }

  /// Beyond the element types, the number that a definition means.
  Result<Tensor> constant(const Constant& constant) const {
    if (constant.is_symbolic()) return unsupported("a real parameter of a proof has no value");
    const Definition* exact = constant.exact();
    if (options_.domain == Domain::native || exact == nullptr)
      return to_domain(Tensor::of(constant), options_.domain);
    LEMMA_ASSIGN_OR_RETURN(Tensor result, to_domain(Tensor::of(constant), Domain::f64));
    const double number = constant_value(*exact, exact->outputs()[0].value).value_or(0);
    std::memcpy(result.writable_bytes().data(), &number, sizeof number);
    return to_domain(result, options_.domain);
  }

  Result<std::vector<Tensor>> compute(const Node& node, std::vector<Tensor>& inputs) {
    switch (node.kind) {
      case NodeKind::input: return std::vector<Tensor>{std::move(inputs[node.payload])};
      case NodeKind::constant: {
        LEMMA_ASSIGN_OR_RETURN(Tensor tensor, constant(graph_.constant(node)));
        return std::vector<Tensor>{std::move(tensor)};
      }
      case NodeKind::opaque: {
        const OpaqueOperator& opaque = graph_.opaque(node);
        return unsupported(fmt::format("{} cannot be run: {}", opaque.name, opaque.reason));
      }
      case NodeKind::operation: break;
    }
    std::vector<Tensor> operands;
    for (const ValueId input : node.inputs)
      operands.push_back(input.is_none() ? Tensor() : values_[input]);
    const std::vector<TensorType> types = graph_.input_types(node);
    return evaluate(graph_.op(node), {types, node.attributes, node.output_count}, operands,
                    options_);
  }

  const Graph& graph_;
  const RunOptions& options_;
  std::vector<NodeId> live_;
  LiveValues<Tensor> values_;
};

}  // namespace

Result<std::vector<Tensor>> run(const Graph& graph, std::span<const NamedTensor> inputs,
                                const RunOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> ordered,
                         ordered_inputs(graph, inputs, options.domain));
  std::vector<TensorType> types;
  for (const Tensor& tensor : ordered) types.push_back(tensor.type());
  LEMMA_ASSIGN_OR_RETURN(const DimensionBindings bindings, bind_symbols(graph, types));
  Graph concrete = graph;
  if (!is_concrete(graph)) {
    LEMMA_ASSIGN_OR_RETURN(concrete, specialize(graph, bindings, types));
  }
  LEMMA_ASSIGN_OR_RETURN(const Graph expanded, expand_composites(concrete));
  return Runner(expanded, options).run(std::move(ordered));
}

}  // namespace lemma::interpreter
