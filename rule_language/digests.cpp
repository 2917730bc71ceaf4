#include "rule_language/digests.h"

#include <map>

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
  std::map<std::string_view, OperatorId> operators;
  std::map<std::string, const Substitution*> axioms;
  for (const Substitution* rule : used) {
    if (rule->is_axiom) axioms[rule->name] = rule;
    for (const RuleTerm& term : rule->terms)
      if (!term.is_input) operators.emplace(record(term.op).name, term.op);
  }
  std::vector<std::string> result;
  for (const auto& [name, op] : operators)
    result.push_back(fmt::format("operator {} {}", name, of_operator(op)));
  for (const auto& [name, axiom] : axioms)
    result.push_back(fmt::format("axiom {} {}", name, of_substitution(*axiom)));
  return result;
}

}  // namespace lemma
