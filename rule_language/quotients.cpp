#include "rule_language/quotients.h"

#include <algorithm>
#include <span>
#include <vector>

#include "facts/partial.h"

namespace lemma {
namespace {

/// Results of partial functions that are added up on one side. A sum along an axis counts twice: there it
/// takes only one to have infinities of both signs.
std::size_t added_quotients(const Substitution& rule, std::span<const TermId> roots) {
  std::vector<Adding> above(rule.terms.size(), Adding::none);  // what adds up the term
  std::vector<char> needed(rule.terms.size(), 0);
  for (const TermId root : roots) needed[root.v] = 1;
  std::size_t count = 0;
  // Operands come before their users.
  for (std::size_t i = rule.terms.size(); i-- > 0;) {
    const RuleTerm& term = rule.terms[i];
    if (needed[i] == 0 || term.is_input) continue;
    if (may_be_undefined_by_elements(term.op)) count += static_cast<std::size_t>(above[i]);
    const Adding here = std::max(above[i], adding_of(term.op));
    for (const TermId operand : term.operands) {
      if (operand.is_none()) continue;
      needed[operand.v] = 1;
      above[operand.v] = std::max(above[operand.v], here);
    }
  }
  return count;
}

}  // namespace

bool adds_more_quotients(const Substitution& rule) {
  return added_quotients(rule, rule.right) > added_quotients(rule, rule.left);
}

}  // namespace lemma
