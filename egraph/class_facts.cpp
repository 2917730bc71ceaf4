// Facts of classes: what their nodes show.

#include <algorithm>
#include <array>
#include <utility>

#include <absl/hash/hash.h>

#include "egraph/egraph.h"
#include "facts/opaque_facts.h"

namespace lemma {
namespace {

/// Bounds that get narrower for ever (x = x / 2 for x = 0) stay as they are after some times.
constexpr std::uint8_t most_narrowings = 8;

std::size_t hash_of(const std::vector<ValueFacts>& facts) {
  std::size_t hash = facts.size();
  for (const ValueFacts& value_facts : facts)
    hash = absl::HashOf(hash, value_facts.defined, value_facts.nonzero, value_facts.plus_infinity,
                        value_facts.minus_infinity, value_facts.lower, value_facts.upper);
  return hash;
}

bool same_but_bounds(const ValueFacts& a, const ValueFacts& b) {
  return a.defined == b.defined && a.nonzero == b.nonzero && a.plus_infinity == b.plus_infinity &&
         a.minus_infinity == b.minus_infinity;
}

}  // namespace

FactsId EGraph::intern(std::vector<ValueFacts> facts) {
  std::vector<std::uint32_t>& bucket = facts_by_hash_[hash_of(facts)];
  for (const std::uint32_t i : bucket)
    if (facts_[i] == facts) return {i};
  bucket.push_back(static_cast<std::uint32_t>(facts_.size()));
  facts_.push_back(std::move(facts));
  return {bucket.back()};
}

const OperatorFacts& EGraph::operator_facts(FormId form) {
  if (operator_facts_.size() <= form.v) operator_facts_.resize(form.v + 1);
  std::unique_ptr<OperatorFacts>& entry = operator_facts_[form.v];
  if (!entry) {
    const Form& operation = forms_[form.v];
    std::vector<TensorType> types;
    for (const TypeId operand : operation.operands)
      types.push_back(operand == absent_type ? TensorType{} : types_[operand.v].front());
    const Attributes& attributes = attributes_[operation.node.payload];
    entry = std::make_unique<OperatorFacts>(
        record(operation.node.op), Instance{types, attributes, operation.node.output_count});
  }
  return *entry;
}

bool EGraph::may_read_outside(FormId form) {
  return forms_[form.v].node.kind == ENodeKind::operation &&
         operator_facts(form).may_read_outside();
}

/// An opaque operator may tell anything from anything.
bool EGraph::observes(FormId form) {
  const ENodeKind kind = forms_[form.v].node.kind;
  if (kind != ENodeKind::operation) return kind == ENodeKind::opaque;
  if (form_observes_.size() <= form.v) form_observes_.resize(form.v + 1);
  std::optional<bool>& known = form_observes_[form.v];
  if (!known) known = operator_facts(form).observes();
  return *known;
}

FactsId EGraph::facts_of(FormId form, std::span<const FactsId> operands,
                         OperandIdentities identities, Reads reads) {
  const ENode node = forms_[form.v].node;
  if (node.kind == ENodeKind::projection)
    return intern(std::vector<ValueFacts>{facts_[operands[0].v][node.payload]});
  // Which operands are one value, as the position of the first like it.
  InferenceKey key = {form.v, static_cast<std::uint32_t>(reads)};
  absl::InlinedVector<std::uint32_t, 4> first;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    std::uint32_t same = 0;
    while (identities[same] != identities[i]) ++same;
    first.push_back(same);
    key.push_back(operands[i].v);
    key.push_back(same);
  }
  const auto entry = facts_by_key_.find(key);
  if (entry != facts_by_key_.end()) return entry->second;
  std::vector<ValueFacts> given;
  for (const FactsId operand : operands) given.push_back(facts_[operand.v].front());
  std::vector<ValueFacts> results = operator_facts(form).outputs(given, first, reads);
  results.resize(node.output_count);
  const FactsId result = intern(std::move(results));
  facts_by_key_.emplace(std::move(key), result);
  return result;
}

/// The facts of a node, from those that its children have now.
FactsId EGraph::facts_of(ENodeId id) {
  const ENode node = this->node(id);
  const FormId form = this->form(id);
  const std::vector<TensorType>& types = types_[forms_[form.v].type.v];
  if (node.kind == ENodeKind::input) return facts_of_inputs_[node.payload];
  if (node.kind == ENodeKind::constant)
    return intern(std::vector<ValueFacts>{facts_of_constant(constants_[node.payload])});
  absl::InlinedVector<FactsId, 4> operands;
  absl::InlinedVector<std::uint32_t, 4> identities;
  const FactsId nothing = intern(std::vector<ValueFacts>{ValueFacts()});
  bool finite = true;
  for (const ClassId child : children(id)) {
    operands.push_back(child.is_none() ? nothing : facts_id(child));
    identities.push_back(child.is_none() ? child.v : find(child).v);
    finite = finite && (child.is_none() || facts_[operands.back().v].front().finite());
  }
  if (node.kind != ENodeKind::opaque) {
    const bool original = adding_graph_ || id.v < original_id_limit_;
    return facts_of(form, operands, identities, original ? Reads::succeed : Reads::must_be_shown);
  }
  // What it gives is an input as good as any, but it may hand an infinity on.
  std::vector<ValueFacts> results;
  for (const TensorType& type : types) {
    results.push_back(facts_of_opaque_output(opaques_[node.payload].name, type.data_type, finite));
  }
  return intern(std::move(results));
}

void EGraph::learn(ClassId canonical, FactsId more) {
  TensorLanguage::Data& own = data(canonical);
  if (own.facts == more) return;
  const std::vector<ValueFacts>& before = facts_[own.facts.v];
  std::vector<ValueFacts> after;
  bool narrows_only = true;
  for (std::size_t k = 0; k < before.size(); ++k) {
    after.push_back(both(before[k], facts_[more.v][k]));
    narrows_only = narrows_only && same_but_bounds(before[k], after[k]);
  }
  if (after == before) return;
  if (narrows_only && own.narrowings >= most_narrowings) return;
  if (narrows_only) ++own.narrowings;
  own.facts = intern(std::move(after));
  facts_changed_.push_back(canonical);
}

void EGraph::propagate_facts() {
  while (!facts_changed_.empty()) {
    for (const ClassId id : engine::take_canonical(*this, facts_changed_)) {
      // Matches that these facts have kept out are looked at again.
      touch(parents(id));
      touch(nodes(id));
      for (const ENodeId parent : parents(id)) learn(find(parent.founded()), facts_of(parent));
    }
  }
}

/// Everything below an observer down to what is defined and finite.
void EGraph::find_observed() {
  if (observers_.empty() && observed_roots_.empty()) return;
  observation_is_stale_ = false;
  observed_.assign(id_count(), 0);
  std::vector<ENodeId> stack = observers_;
  const auto observe = [&](ClassId id) {
    const std::vector<ValueFacts>& known = facts_[data(id).facts.v];
    const bool harmless = std::all_of(
        known.begin(), known.end(),
        [](const ValueFacts& value_facts) { return value_facts.defined && value_facts.finite(); });
    if (harmless || std::exchange(observed_[id.v], 1) != 0) return;
    const std::vector<ENodeId>& members = nodes(id);
    stack.insert(stack.end(), members.begin(), members.end());
  };
  for (const ClassId root : observed_roots_) observe(find(root));
  while (!stack.empty()) {
    const ENodeId id = stack.back();
    stack.pop_back();
    for (const ClassId child : children(id))
      if (!child.is_none()) observe(find(child));
  }
}

}  // namespace lemma
