#include "backend/emit/vector_reduction.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backend/pairs.h"
#include "lowering/regions.h"
#include "lowering/sum_of_products.h"

namespace lemma::backend {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

namespace {

/// Whether loops alone decide where it reads.
bool is_linear(const lowering::TermGraph& graph, TermNumber read) {
  const lowering::Linear address = graph.address(graph.term(read));
  return std::all_of(address.terms.begin(), address.terms.end(),
                     [](const auto& term) { return term.first < lowering::first_term_atom; });
}

/// Whether it reads an element of the type, inside its tensor, at a place that loops alone decide.
bool is_plain_read(const lowering::TermGraph& graph, TermNumber id, DataType type) {
  const Term& read = graph.term(id);
  if (read.kind != ExpressionKind::read || read.type != type ||
      graph.inputs()[read.input].type != type)
    return false;
  for (std::size_t axis = 0; axis < read.indices.size(); ++axis)
    if (!graph.is_inside(read, axis)) return false;
  return is_linear(graph, id);
}

/// Neighbours are loaded as integers of 32 bits each.
std::optional<VectorReduction> of_pairs(const LoweredOutput& nest, const ElementBlock& block,
                                        const PairSum& pairs) {
  const LoopVariable lane = nest.axes[block.lane_axis];
  for (const std::size_t i : {0U, 1U}) {
    const TermNumber across = pairs.factors[i], down = pairs.factors[1 - i];
    if (!is_linear(nest.graph, across) || !is_linear(nest.graph, down)) return std::nullopt;
    const std::int64_t step = step_in_pairs(nest, across, lane);
    if ((nest.graph.term(down).depends & lowering::set_of(lane)) == 0 && (step == 1 || step == 2))
      return VectorReduction{across, down, step, pairs.elements};
  }
  return std::nullopt;
}

/// The product and its guards, where the sum is of products that are there or not.
struct GuardedProduct {
  std::array<TermNumber, 2> factors = {};
  std::vector<TermNumber> guards;
};

std::optional<GuardedProduct> guarded_product(const lowering::TermGraph& graph,
                                              const Term& reduction) {
  if (const auto product = lowering::summed_product(graph, reduction))
    return GuardedProduct{*product, {}};
  const Term& select = graph.term(reduction.operands[0]);
  if (reduction.kind != ExpressionKind::sum || select.kind != ExpressionKind::select)
    return std::nullopt;
  const Term &product = graph.term(select.operands[1]), &zero = graph.term(select.operands[2]);
  if (product.kind != ExpressionKind::multiply || zero.kind != ExpressionKind::real_constant ||
      zero.bits != 0)
    return std::nullopt;
  constexpr std::int64_t limit = std::int64_t{1} << 30;
  GuardedProduct result{{product.operands[0], product.operands[1]},
                        lowering::conditions_of(graph, select.operands[0])};
  for (const TermNumber id : result.guards) {
    const Term& guard = graph.term(id);
    if (guard.kind == ExpressionKind::equal || !lowering::compares_linear(graph, guard) ||
        !graph.range(lowering::difference(graph, guard)).within(-limit, limit))
      return std::nullopt;
  }
  return result;
}

}  // namespace

std::optional<VectorReduction> find_vector_reduction(const LoweredOutput& nest,
                                                     const ElementBlock& block, TermNumber id) {
  const lowering::TermGraph& graph = nest.graph;
  const Term& reduction = graph.term(id);
  if (!is_reduction(reduction.kind)) return std::nullopt;
  if (const auto pairs = find_pair_sum(nest, id)) return of_pairs(nest, block, *pairs);
  if (!lowering::is_scalar_type(reduction.lanes) || reduction.kind == ExpressionKind::product)
    return std::nullopt;
  const LoopVariable lane = nest.axes[block.lane_axis];
  const auto is_in_lanes = [&](TermNumber operand) {
    return (graph.term(operand).depends & lowering::set_of(lane)) != 0;
  };
  VectorReduction result{reduction.operands[0], std::nullopt, 1, 1};
  if (const auto product = guarded_product(graph, reduction)) {
    result = {product->factors[0], product->factors[1], 1, 1, product->guards};
    if (!is_in_lanes(result.across)) std::swap(result.across, *result.down);
    if (is_in_lanes(*result.down) || !is_plain_read(graph, *result.down, reduction.type))
      return std::nullopt;
  }
  if (!is_plain_read(graph, result.across, reduction.type)) return std::nullopt;
  result.step = graph.address(graph.term(result.across)).coefficient(lane);
  constexpr std::int64_t most_step = 4;
  if (result.step < 1 || result.step > most_step) return std::nullopt;
  return result;
}

}  // namespace lemma::backend
