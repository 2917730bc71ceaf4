#include "backend/pairs.h"

#include "lowering/sum_of_products.h"

namespace lemma::backend {

using lowering::Term;
using lowering::TermNumber;

namespace {

/// Elements of a group of the type; 0 for types of which there are none.
std::int64_t elements_of_group(DataType type) {
  switch (type) {
    case DataType::i16: return 2;
    case DataType::u8:
    case DataType::i8: return 4;
    default: return 0;
  }
}

/// What is read, perhaps in a wider type.
TermNumber without_casts(const lowering::TermGraph& graph, TermNumber id) {
  while (graph.term(id).kind == ExpressionKind::cast && is_integer(graph.term(id).type))
    id = graph.term(id).operands[0];
  return id;
}

/// Whether everything but the element of a group goes from group to group.
bool steps_through_groups(const lowering::Linear& address, const PairSum& sum) {
  if (address.coefficient(sum.element) != 1 || address.constant % sum.elements != 0) return false;
  for (const auto& [atom, factor] : address.terms)
    if (atom != sum.element && factor % sum.elements != 0) return false;
  return true;
}

}  // namespace

std::optional<PairSum> find_pair_sum(const lowering::LoweredOutput& nest, TermNumber id) {
  const lowering::TermGraph& graph = nest.graph;
  const Term& sum = graph.term(id);
  if (!is_reduction(sum.kind)) return std::nullopt;
  const auto product = lowering::summed_product(graph, sum);
  if (!product || (sum.type != DataType::i16 && sum.type != DataType::i32)) return std::nullopt;
  PairSum pairs;
  pairs.element = sum.bound.back();
  pairs.elements = graph.extent(pairs.element);
  DataType types[2] = {};
  for (const std::size_t side : {0U, 1U}) {
    pairs.factors[side] = without_casts(graph, (*product)[side]);
    const Term& read = graph.term(pairs.factors[side]);
    types[side] = read.type;
    if (read.kind != ExpressionKind::read || read.may_be_undefined ||
        elements_of_group(read.type) != pairs.elements ||
        !steps_through_groups(graph.address(read), pairs))
      return std::nullopt;
  }
  if (pairs.elements == 4 && types[0] == types[1]) return std::nullopt;
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
  const Term& term = nest.graph.term(read);
  const std::int64_t step = nest.graph.address(term).coefficient(variable);
  const std::int64_t elements = elements_of_group(term.type);
  return elements != 0 && step % elements == 0 ? step / elements : 0;
}

}  // namespace lemma::backend
