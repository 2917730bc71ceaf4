#include "backend/pairs.h"

#include "lowering/sum_of_products.h"

namespace lemma::backend {

using lowering::Term;
using lowering::TermNumber;

std::optional<PairSum> find_pair_sum(const lowering::LoweredOutput& nest, TermNumber id) {
  const lowering::TermGraph& graph = nest.graph;
  const Term& sum = graph.term(id);
  if (!is_reduction(sum.kind)) return std::nullopt;
  const auto product = lowering::summed_product(graph, sum);
  if (!product || sum.type != DataType::i16 || graph.extent(sum.bound.back()) != 2)
    return std::nullopt;
  PairSum pairs;
  pairs.element = sum.bound.back();
  for (const std::size_t side : {0U, 1U}) {
    pairs.factors[side] = (*product)[side];
    const Term& read = graph.term(pairs.factors[side]);
    if (read.kind != ExpressionKind::read || read.type != DataType::i16 || read.may_be_undefined)
      return std::nullopt;
    // Everything but the element of the pair goes from pair to pair.
    const lowering::Linear address = graph.address(read);
    if (address.coefficient(pairs.element) != 1 || address.constant % 2 != 0) return std::nullopt;
    for (const auto& [atom, factor] : address.terms)
      if (atom >= lowering::first_term_atom || (atom != pairs.element && factor % 2 != 0))
        return std::nullopt;
  }
  return pairs;
}

bool has_pair_sum(const lowering::LoweredOutput& nest) {
  for (TermNumber id = 0; id < nest.graph.size(); ++id)
    if (find_pair_sum(nest, id)) return true;
  return false;
}

bool is_read_in_pairs(const lowering::LoweredOutput& nest, TermNumber read) {
  for (TermNumber id = read + 1; id < nest.graph.size(); ++id)
    if (const auto pairs = find_pair_sum(nest, id))
      if (pairs->factors[0] == read || pairs->factors[1] == read) return true;
  return false;
}

std::int64_t step_in_pairs(const lowering::LoweredOutput& nest, TermNumber read,
                           lowering::LoopVariable variable) {
  const std::int64_t step = nest.graph.address(nest.graph.term(read)).coefficient(variable);
  return step % 2 == 0 ? step / 2 : 0;
}

}  // namespace lemma::backend
