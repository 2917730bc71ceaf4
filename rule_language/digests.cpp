#include "rule_language/digests.h"

#include <set>

#include <fmt/format.h>

#include "base/sha256.h"
#include "facts/operator_section.h"
#include "rule_language/operator_meaning.h"

namespace lemma {

const std::string& Digests::of_substitution(const Substitution& substitution) {
  std::string& digest = substitutions_[&substitution];
  if (digest.empty()) digest = sha256(text(substitution));
  return digest;
}

const std::string& Digests::of_operator(OperatorId op) {
  std::string& digest = operators_[op];
  if (digest.empty()) digest = sha256(operator_section(op, meaning_digest(op)));
  return digest;
}

std::vector<std::string> Digests::lines_about(std::span<const Substitution* const> used) {
  std::set<OperatorId> operators;  // in the order of names
  std::map<std::string, const Substitution*> axioms;
  for (const Substitution* rule : used) {
    if (rule->is_axiom) axioms[rule->name] = rule;
    for (const RuleTerm& term : rule->terms)
      if (!term.is_input) operators.insert(term.op);
  }
  std::vector<std::string> result;
  for (const OperatorId op : operators)
    result.push_back(fmt::format("operator {} {}", record(op).name, of_operator(op)));
  for (const auto& [name, axiom] : axioms)
    result.push_back(fmt::format("axiom {} {}", name, of_substitution(*axiom)));
  return result;
}

}  // namespace lemma
