#include "plans/relations/verification.h"

#include <algorithm>

#include <fmt/format.h>

#include "check/sampled_check.h"
#include "made_operators/per_device.h"

namespace lemma::plans {

namespace {

std::string named(const Graph& graph, ValueId value) {
  const NodeId id = graph.producer(value);
  const Node& node = graph.node(id);
  if (node.kind == NodeKind::input) return fmt::format("input '{}'", graph.input_name(node));
  if (node.kind == NodeKind::constant)
    return fmt::format("constant '{}'", graph.suggested_name(value));
  const OperatorRecord& op = graph.op(node);
  const std::string_view name =
      made_operators::is_per_device(op) ? record(made_operators::local_operator(op)).name : op.name;
  const std::string& suggested = graph.suggested_name(value);
  return suggested.empty() ? fmt::format("{} (node {})", name, id.v)
                           : fmt::format("{} '{}'", name, suggested);
}

bool is_satisfied(const Graph& single, const Program& program, const Relations& relations,
                  std::size_t output) {
  const auto& relation = relations.of[program.graph.outputs()[output].value.v];
  if (!relation || !relation->window.empty() ||
      !(relation->placement == program.outputs[output].placement))
    return false;
  const auto wanted =
      std::find_if(single.outputs().begin(), single.outputs().end(),
                   [&](const GraphOutput& o) { return o.name == program.outputs[output].name; });
  return wanted != single.outputs().end() && wanted->value == relation->single;
}

std::string described(const Graph& single, const Program& program, const Relations& relations,
                      ValueId operand) {
  const auto& relation = relations.of[operand.v];
  const std::string name = named(program.graph, operand);
  if (!relation) return fmt::format("{}: no value of the single-device model", name);
  return fmt::format("{}: {} of the single-device model, {}", name, named(single, relation->single),
                     place_text(single, program, *relation));
}

/// Values behind which a related one stands are of no interest: what is computed from them is right.
std::optional<Divergence> divergence(const Graph& single, const Program& program,
                                     const Relations& relations) {
  const Graph& graph = program.graph;
  std::vector<bool> leads_to_related(graph.value_count(), false);
  const std::vector<NodeId> nodes = graph.live_nodes();
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
    const Node& node = graph.node(*id);
    bool related = false;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      related = related || relations.of[node.output(i).v] || leads_to_related[node.output(i).v];
    if (!related) continue;
    for (const ValueId operand : node.inputs)
      if (!operand.is_none()) leads_to_related[operand.v] = true;
  }
  const auto at = [&](ValueId value) {
    Divergence result{named(graph, value), {}};
    for (const ValueId operand : graph.node(graph.producer(value)).inputs)
      if (!operand.is_none())
        result.operands.push_back(described(single, program, relations, operand));
    return result;
  };
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::input || node.kind == NodeKind::constant) continue;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const ValueId value = node.output(i);
      // What is computed from constants alone is related to nothing.
      const bool reads_related =
          std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId operand) {
            return !operand.is_none() && (relations.of[operand.v] || leads_to_related[operand.v]);
          });
      if (!relations.of[value.v] && !leads_to_related[value.v] && reads_related) return at(value);
    }
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    if (!is_satisfied(single, program, relations, i)) {
      const ValueId value = graph.outputs()[i].value;
      Divergence result{fmt::format("output '{}'", program.outputs[i].name),
                        {described(single, program, relations, value)}};
      return result;
    }
  return std::nullopt;
}

}  // namespace

std::string place_text(const Graph& single, const Program& program, const Relation& relation) {
  if (program.mesh.rank() > 0) return text(relation.placement, program.mesh);
  const auto& shape = single.type(relation.single).shape;
  const auto sizes = shape ? constant_sizes(*shape) : std::nullopt;
  return sizes ? text(relation.window, *sizes) : "all";
}

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::proved: return "proved";
    case Verdict::refuted: return "refuted";
    case Verdict::unknown: break;
  }
  return "unknown";
}

Verification verify(const Graph& single, const Program& program) {
  Verification result;
  result.relations = relate(single, program);
  for (const NodeId id : program.graph.live_nodes()) {
    const Node& node = program.graph.node(id);
    if (node.kind == NodeKind::input || node.kind == NodeKind::constant) continue;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      ++result.values;
      const auto& relation = result.relations.of[node.output(i).v];
      if (!relation) continue;
      ++result.related;
      for (const std::size_t claim : relation->claims)
        if (result.relations.claims[claim].needs_defined_inputs) ++result.for_defined_inputs;
    }
  }
  bool is_proved = program.outputs.size() == single.outputs().size();
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    is_proved = is_proved && is_satisfied(single, program, result.relations, i);
  if (is_proved) {
    result.verdict = Verdict::proved;
    return result;
  }
  result.divergence = divergence(single, program, result.relations);
  const auto whole = as_one_graph(single, program);
  if (!whole) {
    result.reason = whole.error().message;
    return result;
  }
  const auto compared = compare_on_random_inputs(single, *whole, {});
  if (!compared) {
    result.reason = compared.error().message;
  } else if (!compared->passed) {
    result.verdict = Verdict::refuted;
    result.counterexample = compared->difference;
  }
  return result;
}

}  // namespace lemma::plans
