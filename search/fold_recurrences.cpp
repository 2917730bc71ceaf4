#include "search/fold_recurrences.h"

#include <algorithm>
#include <limits>
#include <set>

#include "egraph/pattern.h"

namespace lemma {
namespace {

bool is_recurrence(const RuleTerm& term) {
  return !term.is_input && record(term.op).has(recurrent);
}

/// How many recurrent operators a side has.
std::size_t recurrences(const Substitution& rule, std::span<const TermId> side) {
  const std::vector<char> needed = needed_terms(rule, side);
  std::vector<const RuleTerm*> found;  // one output of each
  for (std::size_t i = 0; i < needed.size(); ++i) {
    const RuleTerm& term = rule.terms[i];
    if (needed[i] == 0 || !is_recurrence(term)) continue;
    if (std::none_of(found.begin(), found.end(), [&term](const RuleTerm* other) {
          return other->op == term.op && other->operands == term.operands &&
                 other->attributes == term.attributes;
        }))
      found.push_back(&term);
  }
  return found.size();
}

/// One recurrent operator, and nothing else.
bool is_recurrence_alone(const Substitution& rule, std::span<const TermId> side) {
  const std::vector<char> needed = needed_terms(rule, side);
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (needed[i] != 0 && !rule.terms[i].is_input && !is_recurrence(rule.terms[i])) return false;
  return recurrences(rule, side) == 1;
}

/// Whether some term may be an instance of both: operators are the same where both have one.
bool may_be_alike(const Substitution& one, TermId a, const Substitution& other, TermId b) {
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  const RuleTerm &x = one.terms[a.v], &y = other.terms[b.v];
  if (x.is_input || y.is_input) return true;
  if (x.op != y.op || x.operands.size() != y.operands.size()) return false;
  for (std::size_t i = 0; i < x.operands.size(); ++i)
    if (!may_be_alike(one, x.operands[i], other, y.operands[i])) return false;
  return true;
}

/// Not counting inputs; a term that is used twice counts twice.
std::size_t operators_of(const Substitution& rule, TermId id) {
  if (id.is_none() || rule.terms[id.v].is_input) return 0;
  std::size_t result = 1;
  for (const TermId operand : rule.terms[id.v].operands) result += operators_of(rule, operand);
  return result;
}

/// What the rule makes is a term of the left side of one that folds. Both have more than two operators: a smaller one
/// may be anything.
bool prepares(const Substitution& rule, std::span<const Substitution> folding) {
  constexpr std::size_t fewest = 3;
  if (rule.right.size() != 1 || operators_of(rule, rule.right.front()) < fewest) return false;
  return std::any_of(folding.begin(), folding.end(), [&](const Substitution& other) {
    const std::vector<char> parts = needed_terms(other, other.left);
    for (std::uint32_t i = 0; i < parts.size(); ++i)
      if (parts[i] != 0 && operators_of(other, {i}) >= fewest &&
          may_be_alike(rule, rule.right.front(), other, {i}))
        return true;
    return false;
  });
}

/// Rules that are applied to a graph as long as one fits, and none makes a graph that was there before.
class Folder {
 public:
  Folder(FoldedRecurrences& result, const OperatorCosts& costs,
         const std::function<bool()>& interrupted)
      : result_(result), costs_(costs), interrupted_(interrupted) {}

  Result<void> apply(std::span<const Substitution> rules) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<CompiledRule> compiled, compile_rules(rules));
    const auto first = static_cast<std::uint32_t>(result_.rules.size());
    result_.rules.insert(result_.rules.end(), compiled.begin(), compiled.end());
    while (!interrupted_()) {
      // Places are found in order; a few are enough to have one that may be used.
      constexpr std::size_t places = 4;
      const Neighborhood found =
          neighborhood(result_.graph, compiled, costs_, std::numeric_limits<double>::infinity(),
                       {places, false, interrupted_});
      seen_.insert(found.hash);
      const auto next =
          std::find_if(found.neighbors.begin(), found.neighbors.end(),
                       [this](const Neighbor& one) { return !seen_.contains(one.hash); });
      if (next == found.neighbors.end()) break;
      Rewrite rewrite = next->rewrite;
      LEMMA_ASSIGN_OR_RETURN(Graph graph,
                             rewritten(result_.graph, compiled[rewrite.rule], rewrite));
      rewrite.rule += first;
      result_.path.push_back({std::make_shared<const Graph>(std::move(result_.graph)), rewrite});
      result_.graph = std::move(graph);
    }
    return {};
  }

 private:
  FoldedRecurrences& result_;
  const OperatorCosts& costs_;
  const std::function<bool()>& interrupted_;
  std::set<std::uint64_t> seen_;  // hashes of graphs
};

}  // namespace

FoldingRules folding_rules(std::span<const Substitution> rules) {
  FoldingRules result;
  for (const Substitution& rule : rules) {
    if (!rule.search_forward || std::none_of(rule.terms.begin(), rule.terms.end(), is_recurrence))
      continue;
    const bool is_finishing =
        is_recurrence_alone(rule, rule.left) && recurrences(rule, rule.right) == 1;
    (is_finishing ? result.finishing : result.folding).push_back(rule);
  }
  for (const Substitution& rule : rules)
    if (rule.search_forward && std::none_of(rule.terms.begin(), rule.terms.end(), is_recurrence) &&
        prepares(rule, result.folding))
      result.preparing.push_back(rule);
  return result;
}

Result<FoldedRecurrences> fold_recurrences(const Graph& graph, const FoldingRules& rules,
                                           const OperatorCosts& costs,
                                           const std::function<bool()>& interrupted) {
  FoldedRecurrences result{graph, {}, {}};
  Folder folder(result, costs, interrupted);
  LEMMA_RETURN_IF_ERROR(folder.apply(rules.preparing));
  const std::size_t prepared = result.path.size();
  LEMMA_RETURN_IF_ERROR(folder.apply(rules.folding));
  if (result.path.size() == prepared) return FoldedRecurrences{graph, {}, {}};
  LEMMA_RETURN_IF_ERROR(folder.apply(rules.finishing));
  return result;
}

}  // namespace lemma
