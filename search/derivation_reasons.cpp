// Which uses of a derivation are needed.

#include <fmt/format.h>

#include "rule_language/quotients.h"
#include "search/congruence.h"
#include "search/derivation.h"
#include "search/kept_operands.h"
#include "search/term_facts.h"

namespace lemma {
namespace {

using Use = Derivation::Use;

using Inputs = std::map<ValueId, ValueFacts>;

/// The equations among the first `count` uses, as far as the checker would take them, and what the terms
/// themselves say.
void merge_equations(Graph& terms, const Inputs& inputs, const std::vector<Use>& uses,
                     std::uint32_t count, Congruence& congruence) {
  for (std::uint32_t i = 0; i < count; ++i) {
    if (uses[i].refinement) continue;
    if (uses[i].is_of_copies()) {
      congruence.merge(uses[i].use.inputs[0], uses[i].use.inputs[1], i);
      continue;
    }
    // A use that the checker would refuse is left out: then it is no reason for anything.
    const auto sides = sides_of(terms, uses[i].use);
    if (!sides) continue;
    for (std::size_t k = 0; k < sides->left.size(); ++k)
      congruence.merge(sides->left[k], sides->right[k], i);
  }
  const std::vector<ValueId> kept = kept_operands(terms, inputs);
  for (std::uint32_t i = 0; i < kept.size(); ++i)
    if (!kept[i].is_none()) congruence.merge({i}, kept[i]);
}

/// Collects the reasons from the first value of a pair to the second one: equations, replacements,
/// alike operations.
class Collector {
 public:
  Collector(Graph& terms, const Inputs& inputs, const std::vector<Use>& uses,
            std::set<std::uint32_t>& result)
      : terms_(terms), congruence_(terms), result_(result) {
    merge_equations(terms, inputs, uses, static_cast<std::uint32_t>(uses.size()), congruence_);
    for (std::uint32_t i = 0; i < uses.size(); ++i) {
      if (!uses[i].refinement) continue;
      if (const auto sides = sides_of(terms, uses[i].use)) refinements_.push_back({i, *sides});
    }
  }

  bool lead(ValueId a, ValueId b) {
    if (a.is_none() || b.is_none()) return a == b;
    if (a == b) return true;
    if (const auto known = known_.find({a, b}); known != known_.end()) return known->second;
    const bool result = by_equations(a, b) || by_refinement(a, b) || by_operands(a, b);
    known_[{a, b}] = result;
    return result;
  }

 private:
  struct Refinement {
    std::uint32_t use = 0;
    Sides sides;
  };

  bool by_equations(ValueId a, ValueId b) {
    if (!congruence_.equal(a, b)) return false;
    for (const std::uint32_t use : congruence_.reasons(a, b)) result_.insert(use);
    return true;
  }

  bool by_refinement(ValueId a, ValueId b) {
    for (const Refinement& refinement : refinements_)
      for (std::size_t k = 0; k < refinement.sides.left.size(); ++k)
        if (congruence_.equal(refinement.sides.left[k], a) &&
            congruence_.equal(refinement.sides.right[k], b)) {
          result_.insert(refinement.use);
          return by_equations(refinement.sides.left[k], a) &&
                 by_equations(refinement.sides.right[k], b);
        }
    return false;
  }

  bool by_operands(ValueId a, ValueId b) {
    const Node &x = terms_.node(terms_.producer(a)), &y = terms_.node(terms_.producer(b));
    if (x.kind != NodeKind::operation || y.kind != NodeKind::operation || x.op != y.op ||
        x.attributes != y.attributes || x.output_count != y.output_count ||
        terms_.output_index(a) != terms_.output_index(b) || x.inputs.size() != y.inputs.size())
      return false;
    for (std::size_t i = 0; i < x.inputs.size(); ++i)
      if (!lead(x.inputs[i], y.inputs[i])) return false;
    return true;
  }

  const Graph& terms_;
  Congruence congruence_;
  std::vector<Refinement> refinements_;
  std::set<std::uint32_t>& result_;
  std::map<std::pair<ValueId, ValueId>, bool> known_;
};

}  // namespace

Result<void> Derivation::collect(std::span<const Pair> pairs, std::set<std::uint32_t>& uses) {
  Collector collector(terms_, input_facts_, uses_, uses);
  for (const auto& [name, before, after] : pairs)
    if (!collector.lead(before, after))
      return internal_error(fmt::format("nothing says why the output '{}' is the same", name));
  return {};
}

namespace {

/// What a use asks of a value.
struct Obligation {
  ValueId value;
  bool defined = false, finite = false;

  bool met_by(const ValueFacts& facts) const {
    return (facts.defined || !defined) && (facts.finite() || !finite);
  }
};

std::vector<Obligation> obligations_of(Graph& terms, const Use& use) {
  if (use.is_of_copies()) return {};
  const Substitution& rule = *use.use.substitution;
  std::vector<Obligation> result;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i)
    result.push_back({use.use.inputs[i], rule.inputs[i].defined, true});
  const bool adds = adds_more_quotients(use.backward ? reversed(rule) : rule);
  if ((rule.bidirectional || use.refinement) && !adds) return result;
  if (const auto sides = sides_of(terms, use.use))
    for (const ValueId left : sides->left) result.push_back({left, true, false});
  return result;
}

}  // namespace

/// Facts follow from the terms themselves nearly always. Where they do not, another term of the class
/// shows them, and why both are equal is needed too: by earlier uses.
void Derivation::add_obligations(std::set<std::uint32_t>& uses) {
  std::vector<std::uint32_t> waiting(uses.begin(), uses.end());
  std::vector<std::vector<Obligation>> wanted(uses_.size());
  for (const std::uint32_t use : waiting) wanted[use] = obligations_of(terms_, uses_[use]);
  // Reads of the original succeed; whether those of other terms do is for the checker to decide.
  TermFacts facts(terms_, input_facts_, Reads::succeed);
  while (!waiting.empty()) {
    const std::uint32_t use = waiting.back();
    waiting.pop_back();
    for (const Obligation& obligation : wanted[use]) {
      if (obligation.met_by(facts.of(obligation.value))) continue;
      Congruence earlier(terms_);
      merge_equations(terms_, input_facts_, uses_, use, earlier);
      for (std::uint32_t other = 0; other < terms_.value_count(); ++other) {
        if (!earlier.equal({other}, obligation.value) || !obligation.met_by(facts.of({other})))
          continue;
        for (const std::uint32_t reason : earlier.reasons({other}, obligation.value))
          if (uses.insert(reason).second) {
            wanted[reason] = obligations_of(terms_, uses_[reason]);
            waiting.push_back(reason);
          }
        break;
      }
    }
  }
}

std::vector<std::uint32_t> Derivation::classes() {
  Congruence congruence(terms_);
  merge_equations(terms_, input_facts_, uses_, static_cast<std::uint32_t>(uses_.size()),
                  congruence);
  std::vector<std::uint32_t> result(terms_.value_count());
  for (std::uint32_t i = 0; i < result.size(); ++i) result[i] = congruence.class_of({i});
  return result;
}

Result<std::set<std::uint32_t>> Derivation::reasons(std::span<const Pair> pairs) {
  std::set<std::uint32_t> result;
  LEMMA_RETURN_IF_ERROR(collect(pairs, result));
  add_obligations(result);
  return result;
}

}  // namespace lemma
