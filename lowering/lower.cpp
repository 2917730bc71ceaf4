#include "lowering/lower.h"

#include <algorithm>

namespace lemma::lowering {

using Kind = ExpressionKind;

Result<LoweredOutput> lower(const Definition& definition, const DefinedOutput& output,
                            std::vector<InputView> inputs, Domain domain,
                            const std::vector<std::int64_t>& parts) {
  LoweredOutput result{TermGraph(domain, std::move(inputs)), 0, {}, {}, DataType::undefined};
  Environment environment;
  auto add_variable = [&](std::int64_t extent) -> Result<Linear> {
    if (extent == 1) return Linear::of(0);
    LEMMA_ASSIGN_OR_RETURN(const LoopVariable variable, result.graph.variable(extent));
    result.axes.push_back(variable);
    return Linear::atom(variable);
  };
  for (std::size_t i = 0; i < output.axes.size(); ++i) {
    const auto extent = definition.extent(output.axes[i]).constant();
    if (!extent) return internal_error("the size of an output is not constant");
    result.sizes.push_back(*extent);
    const std::int64_t part = parts.empty() ? 1 : parts[i];
    LEMMA_ASSIGN_OR_RETURN(Linear position, add_variable(*extent / part));
    if (part != 1) {
      LEMMA_ASSIGN_OR_RETURN(const Linear remainder, add_variable(part));
      position = combine(remainder, position, part);
    }
    bind(environment, output.axes[i].v, result.graph.linear(position));
  }
  result.type = definition.node(output.value).type;
  LEMMA_ASSIGN_OR_RETURN(result.root,
                         translate(result.graph, definition, output.value, environment));
  return result;
}

std::vector<std::int64_t> find_parts(const LoweredOutput& terms) {
  std::vector<std::int64_t> parts(terms.sizes.size(), 1);
  bool any = false;
  std::size_t next = 0;
  for (std::size_t i = 0; i < terms.sizes.size(); ++i) {
    if (terms.sizes[i] == 1) continue;
    const LoopVariable variable = terms.axes[next++];
    for (TermNumber id = 0; id < terms.graph.size(); ++id) {
      const Term& term = terms.graph.term(id);
      if (term.divisor > 1 && term.linear == Linear::atom(variable) &&
          terms.sizes[i] % term.divisor == 0) {
        parts[i] = term.divisor;
        any = true;
      }
    }
  }
  if (!any) parts.clear();
  return parts;
}

std::optional<std::uint32_t> copied_input(const LoweredOutput& output) {
  const auto count = [](const Sizes& sizes) {
    std::int64_t product = 1;
    for (const std::int64_t size : sizes) product *= size;
    return product;
  };
  const Term& root = output.graph.term(output.root);
  if (root.kind != Kind::read || root.may_be_undefined) return std::nullopt;
  if (count(output.graph.inputs()[root.input].sizes) != count(output.sizes)) return std::nullopt;
  Linear position;
  for (const LoopVariable v : output.axes)
    position = combine(scale(position, output.graph.extent(v)), Linear::atom(v));
  if (!(output.graph.address(root) == position)) return std::nullopt;
  return root.input;
}

Kind step_of(Kind reduction) {
  switch (reduction) {
    case Kind::sum: return Kind::add;
    case Kind::product: return Kind::multiply;
    case Kind::minimum_over: return Kind::minimum;
    default: return Kind::maximum;
  }
}

Result<std::uint64_t> neutral_element(Kind reduction, DataType type, Domain domain) {
  if (reduction == Kind::sum) return constant_lane(0, 0, type, domain);
  if (reduction == Kind::product) return constant_lane(1, 1, type, domain);
  DefinitionBuilder builder;
  const ExpressionNode& bound = builder.node(
      (reduction == Kind::minimum_over ? builder.highest(type) : builder.lowest(type)).id());
  return constant_lane(bound.real, bound.integer, type, domain);
}

bool reduces_along_lanes(const TermGraph& graph, std::int64_t elements) {
  if (elements > 64) return false;
  for (TermNumber id = 0; id < graph.size(); ++id) {
    const Term& term = graph.term(id);
    if (is_reduction(term.kind) &&
        graph.extent(term.bound.back()) >= std::max<std::int64_t>(32, 4 * elements))
      return true;
  }
  return false;
}

}  // namespace lemma::lowering
