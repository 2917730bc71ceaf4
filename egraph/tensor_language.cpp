// What the engine asks of tensors: what classes know, and which may be equal.

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "egraph/egraph.h"

template class lemma::engine::EGraph<lemma::TensorLanguage>;

namespace lemma {

static_assert(engine::Language<TensorLanguage> && engine::OwnAnalysis<TensorLanguage>);

TensorLanguage::Data TensorLanguage::found(EGraph& egraph, ENodeId id) {
  const ENode& node = egraph.node(id);
  if (egraph.observes(egraph.form(id))) egraph.observers_.push_back(id);
  Data result;
  result.type = egraph.type_of(egraph.form(id));
  result.weight_only = egraph.weight_only(id);
  if (node.kind == ENodeKind::constant) result.constant = node.payload;
  result.facts = egraph.facts_of(id);
  return result;
}

void TensorLanguage::adopt(EGraph& egraph, ClassId home, ENodeId id) {
  if (egraph.observes(egraph.form(id))) egraph.observers_.push_back(id);
  Data& kept = egraph.data(home);
  const bool weights = egraph.weight_only(id);
  if (kept.weight_only != weights) egraph.weight_changed_.push_back(home);
  kept.weight_only = kept.weight_only || weights;
  if (!egraph.observed_.empty())
    egraph.observation_is_stale_ = egraph.observation_is_stale_ || egraph.is_observed(home);
  egraph.learn(home, egraph.facts_of(id));
}

void TensorLanguage::united(EGraph& egraph, ClassId kept, ClassId gone, const Data& known) {
  if (!egraph.observed_.empty() && (egraph.is_seen(kept) || egraph.is_seen(gone)))
    egraph.observation_is_stale_ = true;
  Data& own = egraph.data(kept);
  if (own.weight_only != known.weight_only) egraph.weight_changed_.push_back(kept);
  own.weight_only = own.weight_only || known.weight_only;
  own.constant = std::min(own.constant, known.constant);
  if (own.facts == known.facts) return;
  egraph.learn(kept, known.facts);
  egraph.facts_changed_.push_back(kept);  // the parents of one of the two know less
}

void TensorLanguage::restore(EGraph& egraph) {
  egraph.propagate_weight_only();
  egraph.propagate_facts();
  egraph.find_observed();
}

Result<bool> EGraph::unite(ClassId a, ClassId b) {
  a = find(a);
  b = find(b);
  if (a == b) return false;
  const TypeId type = data(std::min(a, b)).type, other = data(std::max(a, b)).type;
  if (type != other)
    return internal_error(fmt::format("values of type {} and {} cannot be equal",
                                      text(types_[type.v][0]), text(types_[other.v][0])));
  // What congruence unites later has equal types: equal operators, attributes and operand types.
  return engine::EGraph<TensorLanguage>::unite(a, b);
}

void EGraph::propagate_weight_only() {
  while (!weight_changed_.empty()) {
    const ClassId id = find(weight_changed_.back());
    weight_changed_.pop_back();
    touch(parents(id));
    touch(nodes(id));
    for (const ENodeId parent : parents(id)) {
      const ClassId above = find(parent.founded());
      if (data(above).weight_only || !weight_only(parent)) continue;
      data(above).weight_only = true;
      weight_changed_.push_back(above);
    }
  }
}

Result<void> EGraph::check_invariants() const {
  LEMMA_RETURN_IF_ERROR(engine::EGraph<TensorLanguage>::check_invariants());
  for (std::uint32_t i = 0; i < id_count(); ++i) {
    const ClassId own = find(ClassId{i});
    if (!node({i}).duplicate && weight_only(ENodeId{i}) && !weight_only(own))
      return internal_error(fmt::format("class {} is not marked as weight-only", own.v));
  }
  return {};
}

}  // namespace lemma
