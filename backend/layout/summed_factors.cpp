#include "backend/layout/summed_factors.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "backend/layout/short_rows.h"

namespace lemma::backend {

using lowering::Linear;
using Kind = ExpressionKind;

const DefinedOutput& output_of(const Computation& computation) {
  return computation.definition.outputs()[computation.output];
}

std::optional<Expression> nothing(ExpressionId, const std::vector<Expression>&) {
  return std::nullopt;
}

Definition without_unreached(const Definition& definition) {
  return copied_output(definition, 0, [](DefinitionBuilder&) -> Replace { return nothing; });
}

std::vector<bool> variables_below(const Definition& definition, ExpressionId root) {
  std::vector<bool> result(definition.variable_extents().size(), false);
  const std::vector<bool> is_reached = reachable_expressions(definition, root);
  for (std::size_t i = 0; i <= root.v; ++i)
    if (is_reached[i] && definition.nodes()[i].kind == Kind::index)
      result[definition.nodes()[i].variable.v] = true;
  return result;
}

namespace {

constexpr double least_i16 = -32768, greatest_i16 = 32767;

std::optional<SummedProduct> product_of(const Computation& computation, ExpressionId sum,
                                        const WholeNumbers& ranges) {
  constexpr double least_products = 4096;
  const Definition& definition = computation.definition;
  const ExpressionNode& node = definition.node(sum);
  if (node.kind != Kind::sum) return std::nullopt;
  SummedProduct result{sum, node.operands[0]};
  if (definition.node(result.product).kind != Kind::multiply) return std::nullopt;
  double terms = 1, most = 1, elements = 1;
  for (const VariableId v : node.bound) terms *= static_cast<double>(definition.extent(v).offset());
  for (const VariableId v : output_of(computation).axes)
    elements *= static_cast<double>(definition.extent(v).offset());
  for (const ExpressionId operand : definition.node(result.product).operands) {
    const auto range = range_of(computation, operand, ranges);
    if (!range && node.type == DataType::f32) result.is_scaled = true;
    if (result.is_scaled) continue;
    if (!range || range->low < least_i16 || range->high > greatest_i16) return std::nullopt;
    most *= std::max(std::abs(range->low), std::abs(range->high));
  }
  if (result.is_scaled && elements * terms >= least_products) return result;
  const bool is_exact = node.type == DataType::i32 ||
                        (node.type == DataType::f64 && terms * most < 0x1p31) ||
                        (node.type == DataType::f32 && terms * most <= 0x1p24);
  if (!is_exact || elements * terms < least_products) return std::nullopt;
  return result;
}

/// Whether the index is k and a multiple of the elements of a group.
bool steps_through_groups(const Computation& whole, ExpressionId index, VariableId k,
                          std::int64_t elements) {
  lowering::TermGraph terms(lowering::Domain::native, whole.views);
  lowering::Environment environment;
  std::optional<lowering::LoopVariable> loop;
  for (std::uint32_t v = 0; v < whole.definition.variable_extents().size(); ++v) {
    const auto variable = terms.variable(whole.definition.variable_extents()[v].offset());
    if (!variable) return false;
    if (v == k.v) loop = *variable;
    lowering::bind(environment, v, terms.linear(Linear::atom(*variable)));
  }
  const auto term = lowering::translate(terms, whole.definition, index, environment);
  if (!term) return false;
  const Linear form = terms.form(*term);
  if (form.coefficient(*loop) != 1 || form.constant % elements != 0) return false;
  return std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& entry) {
    return entry.first == *loop || entry.second % elements == 0;
  });
}

std::optional<FactorTensor> factor_of_read(const Computation& whole, const ExpressionNode& node,
                                           VariableId k, std::int64_t elements) {
  std::optional<std::size_t> axis;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (!variables_below(whole.definition, node.operands[i])[k.v]) continue;
    if (axis || !steps_through_groups(whole, node.operands[i], k, elements)) return std::nullopt;
    axis = i;
  }
  if (!axis) return std::nullopt;
  FactorTensor factor;
  factor.axis = *axis;
  factor.indices = node.operands;
  DefinitionBuilder builder;
  std::vector<Expression> axes;
  for (const std::int64_t size : whole.views[node.input].sizes)
    axes.push_back(builder.variable(size));
  builder.output(axes, builder.read(0, node.type, axes));
  factor.computation.operands = {whole.operands[node.input]};
  factor.computation.views = {whole.views[node.input]};
  factor.computation.definition = std::move(builder).finish();
  return factor;
}

/// The variables of a product so that those that change fastest are the last: k, and the last axis, which goes along lanes.
std::vector<VariableId> in_reading_order(const Computation& whole, VariableId k) {
  const DefinedOutput& output = output_of(whole);
  std::vector<VariableId> variables;
  if (!output.axes.empty()) variables.assign(output.axes.begin(), output.axes.end() - 1);
  for (const ExpressionNode& node : whole.definition.nodes())
    if (is_reduction(node.kind) &&
        std::find(node.bound.begin(), node.bound.end(), k) != node.bound.end())
      for (const VariableId v : node.bound)
        if (v != k) variables.push_back(v);
  variables.push_back(k);
  if (!output.axes.empty()) variables.push_back(output.axes.back());
  return variables;
}

std::optional<FactorTensor> factor_of_expression(const Computation& whole, ExpressionId id,
                                                 VariableId k) {
  const Definition& definition = whole.definition;
  const std::vector<bool> is_reached = reachable_expressions(definition, id);
  for (std::size_t i = 0; i <= id.v; ++i) {
    if (!is_reached[i] || definition.nodes()[i].kind != Kind::read) continue;
    for (const ExpressionId index : definition.nodes()[i].operands) {
      const Kind kind = definition.node(index).kind;
      if (kind != Kind::index && kind != Kind::integer_constant) return std::nullopt;
    }
  }
  FactorTensor factor;
  factor.computation.operands = whole.operands;
  factor.computation.views = whole.views;
  DefinitionBuilder builder;
  std::vector<Expression> axes;
  std::map<std::uint32_t, Expression> variables;
  std::map<std::uint32_t, ExpressionId> places;  // of variables
  for (std::uint32_t i = 0; i <= id.v; ++i)
    if (is_reached[i] && definition.nodes()[i].kind == Kind::index)
      places.emplace(definition.nodes()[i].variable.v, ExpressionId{i});
  if (!places.contains(k.v)) return std::nullopt;
  for (const VariableId v : in_reading_order(whole, k)) {
    const auto place = places.find(v.v);
    if (place == places.end()) continue;
    if (v == k) factor.axis = axes.size();
    axes.push_back(builder.variable(definition.extent(v)));
    variables.emplace(v.v, axes.back());
    factor.indices.push_back(place->second);
  }
  if (axes.size() != places.size()) return std::nullopt;
  const Expression value = DefinitionCopier(builder, definition, variables, nothing).copy(id);
  builder.output(axes, value);
  factor.computation.definition = std::move(builder).finish();
  forget_unread(factor.computation);
  return factor;
}

}  // namespace

std::optional<SummedProduct> find_product(const Computation& computation,
                                          const WholeNumbers& ranges) {
  const Definition& definition = computation.definition;
  const std::vector<bool> is_reached =
      reachable_expressions(definition, output_of(computation).value);
  std::optional<SummedProduct> result;
  for (std::uint32_t i = 0; i < is_reached.size(); ++i) {
    if (!is_reached[i] || !is_reduction(definition.nodes()[i].kind)) continue;
    if (result) return std::nullopt;
    result = product_of(computation, {i}, ranges);
    if (!result) return std::nullopt;
  }
  return result;
}

std::optional<FactorTensor> factor_of(const Computation& whole, ExpressionId id, VariableId k,
                                      std::int64_t elements) {
  if (auto factor = factor_of_expression(whole, id, k)) return factor;
  const ExpressionNode& node = whole.definition.node(id);
  return node.kind == Kind::read ? factor_of_read(whole, node, k, elements) : std::nullopt;
}

}  // namespace lemma::backend
