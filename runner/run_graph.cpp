#include "runner/run_graph.h"

#include <fmt/format.h>

#include "frontend_onnx/import.h"
#include "frontend_onnx/kept_node.h"
#include "interpreter/interruption.h"
#include "ir/live_values.h"
#include "runner/body_runner.h"
#include "runner/control_flow.h"
#include "runner/drawing.h"
#include "runner/flex_attention.h"

namespace lemma::runner {

namespace {

using interpreter::Tensor;
using Values = std::vector<RunTimeValue>;

/// Larger contents are no parameters of operators (shapes, axes, bounds).
constexpr std::size_t largest_parameter = 4096;

std::string qualified(const KeptNode& node) {
  return node.domain().empty() ? node.name() : fmt::format("{}.{}", node.domain(), node.name());
}

/// Whether the node is newer than what is known: what an operator means in a set that did not exist
/// when its procedure was written is not known.
bool is_newer_than_known(const KeptNode& node) {
  constexpr int newest_set_of_classical_models = 5;  // domain ai.onnx.ml
  return node.domain().empty() ? node.operator_set() > newest_operator_set
                               : node.domain() == "ai.onnx.ml" &&
                                     node.operator_set() > newest_set_of_classical_models;
}

class GraphRunner {
 public:
  GraphRunner(const Graph& graph, const ModelEnvelope& envelope, const RunOptions& options)
      : graph_(graph),
        envelope_(envelope),
        options_(options),
        live_(graph.live_nodes()),
        values_(graph, live_) {}

  Result<Values> run(std::span<const RunTimeValue> inputs) {
    for (const NodeId id : live_) {
      const Node& node = graph_.node(id);
      if (interpreter::is_interrupted(options_)) return interpreter::interruption();
      auto outputs = compute(node, inputs);
      if (!outputs) return with_context(describe(node, id), std::move(outputs.error()));
      if (outputs->size() < node.output_count)
        return bad_input(fmt::format("{} has more outputs than results", describe(node, id)));
      values_.set(node, std::move(*outputs));
    }
    return values_.outputs();
  }

 private:
  std::string describe(const Node& node, NodeId id) const {
    std::string text = fmt::format("node {}", id.v);
    if (node.kind == NodeKind::operation) text += fmt::format(" ({})", graph_.op(node).name);
    if (node.kind == NodeKind::opaque) text += fmt::format(" ({})", graph_.opaque(node).name);
    const std::string& name = graph_.suggested_name(node.output());
    return name.empty() ? text : text + fmt::format(" '{}'", name);
  }

  Result<Values> compute(const Node& node, std::span<const RunTimeValue> inputs) {
    switch (node.kind) {
      case NodeKind::input: return Values{inputs[node.payload]};
      case NodeKind::constant: return Values{graph_.constant(node)};
      case NodeKind::operation: return compute_operation(node);
      case NodeKind::opaque: break;
    }
    Values operands;
    for (const ValueId input : node.inputs)
      operands.push_back(input.is_none() ? RunTimeValue() : values_[input]);
    LEMMA_ASSIGN_OR_RETURN(const KeptNode kept, KeptNode::read(graph_.opaque(node), envelope_));
    Drawing* drawing = options_.drawing;
    const std::uint64_t draws = drawing != nullptr ? drawing->count : 0;
    auto results = compute_opaque(kept, operands, graph_.opaque(node));
    if (drawing != nullptr && drawing->count != draws && &drawing->graph == &graph_)
      drawing->nodes.push_back({graph_.producer(node.output()), procedure_of(kept), operands,
                                kept.attributes(), kept.operator_set()});
    return results;
  }

  static const ProcedureRecord* procedure_of(const KeptNode& node) {
    if (!node.bodies().empty()) return nullptr;
    return find_procedure(node.domain(), node.name(), node.operator_set());
  }

  Result<Values> compute_operation(const Node& node) {
    std::vector<TensorType> types;
    std::vector<Tensor> operands;
    for (const ValueId input : node.inputs) {
      if (input.is_none()) {
        types.emplace_back();
        operands.emplace_back();
        continue;
      }
      const Constant* operand = values_[input].tensor();
      if (operand == nullptr || operand->type() != graph_.type(input))
        return bad_input(fmt::format("an operand is {}, not {}", text(values_[input]),
                                     text(graph_.type(input))));
      types.push_back(operand->type());
      operands.push_back(Tensor::of(*operand));
    }
    LEMMA_ASSIGN_OR_RETURN(
        const std::vector<Tensor> results,
        interpreter::evaluate(graph_.op(node), {types, node.attributes, node.output_count},
                              operands, options_));
    Values values;
    for (const Tensor& result : results) values.emplace_back(result.constant());
    return values;
  }

  Result<Values> compute_opaque(const KeptNode& node, const Values& operands,
                                const OpaqueOperator& op) {
    const std::string& why_opaque = op.reason;
    if (is_newer_than_known(node))
      return unsupported(fmt::format("{} cannot be run: {}", qualified(node), why_opaque));
    const std::size_t own = std::min(node.input_count(), operands.size());
    const std::span<const RunTimeValue> all(operands);
    if (!node.bodies().empty() || is_flex_attention(node))
      return run_bodies({node, op.label, all.first(own), all.subspan(own), envelope_, options_});
    LEMMA_ASSIGN_OR_RETURN(auto computed, compute_alone(node, operands));
    if (computed) return std::move(*computed);
    const ProcedureRecord* procedure = procedure_of(node);
    if (procedure == nullptr)
      return unsupported(fmt::format("{} cannot be run: {}", qualified(node), why_opaque));
    ProcedureCall call{operands, node.attributes(), node.operator_set(), node.output_count()};
    if (procedure->draws()) {
      if (options_.drawing == nullptr)
        return unsupported(fmt::format("{} draws random numbers", qualified(node)));
      call.seed = options_.drawing->seed;
      call.stream = options_.drawing->count++;
    }
    return procedure->run(call);
  }

  Result<Values> run_bodies(const ControlFlowCall& call) {
    if (options_.coverage != nullptr)
      for (const KeptBody& body : call.node.bodies())
        options_.coverage->try_emplace(place_of_body(call, body), false);
    return run_control_flow(call);
  }

  /// The node as an operation on operands of known types and contents; nothing if it is opaque still.
  Result<std::optional<Values>> compute_alone(const KeptNode& node, const Values& operands) {
    std::vector<KnownInput> known;
    Values present;
    for (const RunTimeValue& operand : operands) {
      if (!operand.is_nothing() && operand.tensor() == nullptr) return std::nullopt;
      KnownInput& input = known.emplace_back(type_of(operand), std::nullopt);
      if (operand.is_nothing()) continue;
      if (operand.tensor()->bytes().size() <= largest_parameter) input.contents = *operand.tensor();
      present.push_back(operand);
    }
    LEMMA_ASSIGN_OR_RETURN(const Graph graph, node.alone(known));
    for (const NodeId id : graph.live_nodes())
      if (graph.node(id).kind == NodeKind::opaque) return std::nullopt;
    LEMMA_ASSIGN_OR_RETURN(Values results, run_graph(graph, envelope_, present, options_));
    // Outputs that the node does not name are none of the graph's.
    Values all(node.output_count());
    for (std::size_t i = 0; i < results.size(); ++i)
      all[static_cast<std::size_t>(std::stoul(graph.outputs()[i].name))] = std::move(results[i]);
    return all;
  }

  const Graph& graph_;
  const ModelEnvelope& envelope_;
  const RunOptions& options_;
  std::vector<NodeId> live_;
  LiveValues<RunTimeValue> values_;
};

}  // namespace

Result<Values> run_graph(const Graph& graph, const ModelEnvelope& envelope,
                         std::span<const RunTimeValue> inputs, const RunOptions& options) {
  if (inputs.size() != graph.inputs().size())
    return bad_input(
        fmt::format("{} inputs for a graph of {}", inputs.size(), graph.inputs().size()));
  return GraphRunner(graph, envelope, options).run(inputs);
}

}  // namespace lemma::runner
