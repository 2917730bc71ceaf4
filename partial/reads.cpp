#include "partial/reads.h"

#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ir/definition.h"
#include "ir/graph.h"
#include "partial/rule_sizes.h"
#include "rule_language/substitution_use.h"

namespace lemma::partial {
namespace {

using Kind = ExpressionKind;

std::string symbol_of(VariableId variable) { return fmt::format("_v{}", variable.v); }

/// An index as a polynomial over sizes and the variables of the definition; nothing if it is none.
std::optional<Dimension> polynomial(const Definition& definition, ExpressionId id) {
  const ExpressionNode& node = definition.node(id);
  const auto operand = [&](std::size_t k) { return polynomial(definition, node.operands[k]); };
  switch (node.kind) {
    case Kind::integer_constant: return Dimension(node.integer);
    case Kind::extent: return node.extent;
    case Kind::index: return Dimension::symbol(symbol_of(node.variable));
    case Kind::add:
    case Kind::subtract:
    case Kind::multiply:
    case Kind::floor_divide: break;
    default: return std::nullopt;
  }
  const auto a = operand(0), b = operand(1);
  if (!a || !b) return std::nullopt;
  const Dimension result = node.kind == Kind::add        ? *a + *b
                           : node.kind == Kind::subtract ? *a - *b
                           : node.kind == Kind::multiply ? *a * *b
                                                         : floor_div(*a, *b);
  return result.is_valid() ? std::optional(result) : std::nullopt;
}

bool mentions(const Dimension& value, const std::string& symbol) {
  std::map<std::string, int> used;
  collect_symbols(value, used);
  return used.contains(symbol);
}

/// What a symbol is multiplied by in a value that is affine in it.
std::optional<Dimension> factor_of(const Dimension& value, const std::string& symbol) {
  const Dimension factor =
      substitute(value, {{symbol, Dimension(1)}}) - substitute(value, {{symbol, Dimension(0)}});
  const Dimension rest = value - factor * Dimension::symbol(symbol);
  if (mentions(factor, symbol) || mentions(rest, symbol)) return std::nullopt;
  return factor;
}

/// Least and greatest index for all values of the reductions' variables.
std::optional<Reach> reach_of(const Definition& definition, const Dimension& index,
                              const std::string& along) {
  const auto factor = factor_of(index, along);
  if (!factor) return std::nullopt;
  Reach reach{*factor, substitute(index, {{along, Dimension(0)}}), {}};
  reach.greatest = reach.least;
  for (std::uint32_t v = 0; v < definition.variable_extents().size(); ++v) {
    const std::string symbol = symbol_of({v});
    if (!mentions(reach.least, symbol)) continue;
    const auto step = factor_of(reach.least, symbol);
    if (!step || lower_bound(*step).value_or(-1) < 0) return std::nullopt;
    reach.least = substitute(reach.least, {{symbol, Dimension(0)}});
    reach.greatest = substitute(reach.greatest, {{symbol, definition.extent(VariableId{v}) - 1}});
  }
  return reach;
}

/// The application of a term's operator to operands of symbolic sizes.
struct Application {
  Graph graph;
  NodeId node;
};

std::optional<Application> application_of(const Substitution& rule, TermId term) {
  const RuleBindings bindings = symbols_of(rule);
  Application result;
  const auto inputs = add_rule_inputs(rule, bindings, result.graph);
  if (!inputs) return std::nullopt;
  const auto values = instantiate(rule, std::vector<TermId>{term}, *inputs, bindings, result.graph);
  if (!values) return std::nullopt;
  result.node = result.graph.producer(values->front());
  return result;
}

}  // namespace

std::optional<std::vector<ReadAxis>> reads_along(const Substitution& rule, TermId term,
                                                 std::size_t output_axis) {
  if (rule.terms[term.v].is_input) return std::nullopt;
  const OperatorRecord& op = record(rule.terms[term.v].op);
  const auto application = application_of(rule, term);
  if (!application || op.define == nullptr) return std::nullopt;
  const Node& applied = application->graph.node(application->node);
  const std::vector<TensorType> types = application->graph.input_types(applied);
  const Definition definition = op.define({types, applied.attributes, applied.output_count});
  const std::string along = symbol_of(definition.outputs().front().axes[output_axis]);
  std::vector<char> seen(types.size(), 0);
  std::vector<ReadAxis> result;
  for (const ExpressionNode& node : definition.nodes()) {
    if (node.kind != Kind::read) continue;
    if (std::exchange(seen[node.input], 1) != 0) return std::nullopt;
    for (std::size_t axis = 0; axis < node.operands.size(); ++axis) {
      const auto index = polynomial(definition, node.operands[axis]);
      if (!index) return std::nullopt;
      if (!mentions(*index, along)) continue;
      const auto reach = reach_of(definition, *index, along);
      if (!reach) return std::nullopt;
      result.push_back({node.input, axis, (*types[node.input].shape)[axis], *reach});
    }
  }
  return result;
}

}  // namespace lemma::partial
