#include "database/compose.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "database/normal_form.h"
#include "ir/operator.h"

namespace lemma::database {
namespace {

/// The rule in its direction from a node with several outputs to one of its outputs; nothing if no
/// side is such a node.
std::optional<Substitution> from_node(const Substitution& rule) {
  if (rule.left.size() != 1) return std::nullopt;
  if (rule.terms[rule.left[0].v].output_count > 1) return rule;
  if (!rule.bidirectional || rule.terms[rule.right[0].v].output_count < 2) return std::nullopt;
  return reversed(rule);
}

/// What the node is, whichever of its outputs is meant. The left side names all variables, so that
/// rules about one node have the same names in normal form.
std::string node_text(Substitution rule) {
  for (RuleTerm& term : rule.terms)
    if (&term == &rule.terms[rule.left[0].v]) term.output = 0;
  rule.bidirectional = false;
  rule.right = rule.left;
  return claim_text(rule);
}

/// Adds the terms below `id` of one rule to another over the same inputs.
TermId copy_term(const Substitution& from, TermId id, Substitution& to) {
  std::vector<TermId> copies(from.terms.size(), TermId::none());
  for (std::uint32_t i = 0; i <= id.v; ++i) {
    RuleTerm term = from.terms[i];
    for (TermId& operand : term.operands)
      if (!operand.is_none()) operand = copies[operand.v];
    const auto known = std::find_if(to.terms.begin(), to.terms.end(), [&term](const RuleTerm& t) {
      return t.is_input && term.is_input && t.input == term.input;
    });
    if (known != to.terms.end()) {
      copies[i] = {static_cast<std::uint32_t>(known - to.terms.begin())};
      continue;
    }
    to.terms.push_back(std::move(term));
    copies[i] = {static_cast<std::uint32_t>(to.terms.size() - 1)};
  }
  return copies[id.v];
}

std::optional<Substitution> composed(const std::vector<const Substitution*>& parts) {
  Substitution result = *parts[0];
  result.bidirectional = false;
  result.left.clear();
  result.right.clear();
  bool computes = false;
  for (const Substitution* part : parts) {
    computes = computes || !part->terms[part->right[0].v].is_input;
    result.right.push_back(copy_term(*part, part->left[0], result));
    result.left.push_back(copy_term(*part, part->right[0], result));
  }
  if (!computes) return std::nullopt;
  return normal_form(result);
}

}  // namespace

std::vector<Substitution> several_outputs(const std::vector<Substitution>& rules) {
  std::map<std::string, std::vector<Substitution>> by_node;
  std::vector<std::string> order;
  for (const Substitution& rule : rules) {
    auto from_here = from_node(rule);
    if (!from_here) continue;
    from_here->bidirectional = false;
    auto named = normal_form(*from_here);
    if (!named) continue;
    std::string key = node_text(*named);
    std::vector<Substitution>& parts = by_node[key];
    if (parts.empty()) order.push_back(key);
    parts.push_back(std::move(*named));
  }
  std::vector<Substitution> result;
  for (const std::string& key : order) {
    const std::vector<Substitution>& parts = by_node.at(key);
    const RuleTerm& node = parts[0].terms[parts[0].left[0].v];
    std::vector<const Substitution*> chosen(node.output_count, nullptr);
    for (const Substitution& part : parts) {
      const RuleTerm& term = part.terms[part.left[0].v];
      if (term.output < chosen.size() && chosen[term.output] == nullptr)
        chosen[term.output] = &part;
    }
    if (std::find(chosen.begin(), chosen.end(), nullptr) != chosen.end()) continue;
    if (auto rule = composed(chosen)) result.push_back(std::move(*rule));
  }
  return result;
}

std::vector<Substitution> commutative_operators(const std::vector<Substitution>& candidates) {
  std::set<OperatorId> operators;
  for (const Substitution& rule : candidates)
    for (const RuleTerm& term : rule.terms)
      if (!term.is_input && record(term.op).has(commutative) && term.operands.size() == 2)
        operators.insert(term.op);
  std::vector<Substitution> result;
  for (const OperatorId op : operators) {
    const std::string_view name = record(op).name;
    for (const std::string_view type : {"", "bool"}) {
      const auto rule = parse_substitutions(
          fmt::format("rule r\n  x : {1}[n]\n  y : {1}[n]\n  {0}(x, y) = {0}(y, x)\n", name, type),
          "operators");
      const auto named = rule ? normal_form(rule->front()) : std::nullopt;
      if (named) result.push_back(*named);
    }
  }
  return result;
}

}  // namespace lemma::database
