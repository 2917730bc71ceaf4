// egraph_proofs [RULES [N]]: how many shipped rules follow from the axioms by the prover's own saturation
// (verifier/prover/saturate.h) and by that of the search's e-graph (egraph/saturation.h), and in what time. Both start
// from the two sides of each rule's cases, with the axioms alone whose operators the rule has, and then with all. With N, every N-th rule.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <set>

#include "database/derivation.h"
#include "rule_language/rule_cases.h"
#include "rule_language/rule_database.h"
#include "verifier/prover/saturate.h"

namespace lemma {
namespace {

constexpr std::size_t most_cases = 6;  // of a rule

std::set<OperatorId> operators_of(const Substitution& rule) {
  std::set<OperatorId> result;
  for (const RuleTerm& term : rule.terms)
    if (!term.is_input) result.insert(term.op);
  return result;
}

/// Lists of axioms that are tried in turn.
std::vector<std::vector<Substitution>> attempts_for(const Substitution& rule,
                                                    const std::vector<Substitution>& axioms) {
  const std::set<OperatorId> own = operators_of(rule);
  std::vector<Substitution> without_others;
  for (const Substitution& axiom : axioms) {
    const std::set<OperatorId> used = operators_of(axiom);
    if (std::includes(own.begin(), own.end(), used.begin(), used.end()))
      without_others.push_back(axiom);
  }
  return {std::move(without_others), axioms};
}

bool meets_in_closure(const Substitution& rule, const RuleCase& rule_case,
                      const std::vector<Substitution>& axioms) {
  verifier::Closure closure;
  verifier::Premises premises;
  premises.equations_only = rule.bidirectional;
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < rule_case.inputs.size(); ++i) {
    inputs.push_back(*closure.graph().add_input(rule.inputs[i].name, rule_case.inputs[i]));
    if (rule.inputs[i].defined) premises.defined.push_back(inputs.back());
  }
  const auto left = instantiate(rule, rule.left, inputs, rule_case.bindings, closure.graph());
  const auto right = instantiate(rule, rule.right, inputs, rule_case.bindings, closure.graph());
  if (!left || !right) return false;
  std::vector<verifier::Goal> goals;
  for (std::size_t i = 0; i < left->size(); ++i) goals.push_back({(*left)[i], (*right)[i]});
  const std::vector<verifier::DirectedAxiom> directed = verifier::directed(axioms);
  std::vector<const verifier::DirectedAxiom*> pointers;
  for (const verifier::DirectedAxiom& axiom : directed) pointers.push_back(&axiom);
  return verifier::saturate(closure, goals, pointers, premises, {}).reached;
}

bool follows_in_closure(const Substitution& rule, const std::vector<Substitution>& axioms) {
  const auto cases = required_cases(rule);
  if (!cases) return false;
  const std::size_t count = std::min(cases->size(), most_cases);
  for (std::size_t i = 0; i < count; ++i)
    if (!meets_in_closure(rule, (*cases)[i * cases->size() / count], axioms)) return false;
  return count > 0;
}

bool follows_in_egraph(const Substitution& rule, const std::vector<Substitution>& axioms) {
  database::DerivationLimits limits;
  limits.iterations = 12;
  limits.matches = 1500;
  limits.cases = most_cases;
  database::DerivationRules rules(axioms);
  // A chain of refinements shows a claim with `=>`.
  if (!rule.bidirectional) rules = rules.as_refinements();
  return database::derive(rule, rules, database::Start::both_sides, limits).derivable;
}

using Follows = bool (*)(const Substitution& rule, const std::vector<Substitution>& axioms);

void measure(const char* name, Follows follows, const std::vector<Substitution>& rules,
             const std::vector<Substitution>& axioms) {
  const std::clock_t start = std::clock();
  std::size_t proved = 0;
  for (const Substitution& rule : rules)
    for (const std::vector<Substitution>& some : attempts_for(rule, axioms))
      if (follows(rule, some)) {
        ++proved;
        break;
      }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::printf("%s: %zu of %zu rules in %.1f s of processor time\n", name, proved, rules.size(),
              seconds);
  std::fflush(stdout);
}

int run(const std::filesystem::path& folder, std::size_t every) {
  const auto axioms = read_substitutions(folder / "axioms", ".axioms");
  const auto all = read_substitutions(folder / "substitutions", ".rules");
  if (!axioms || !all) {
    std::fprintf(stderr, "%s\n", (axioms ? all : axioms).error().message.c_str());
    return 1;
  }
  std::vector<Substitution> rules;
  for (std::size_t i = 0; i < all->size(); i += every) rules.push_back((*all)[i]);
  measure("prover", follows_in_closure, rules, *axioms);
  measure("e-graph", follows_in_egraph, rules, *axioms);
  return 0;
}

}  // namespace
}  // namespace lemma

int main(int count, char** arguments) {
  return lemma::run(count > 1 ? arguments[1] : "rules",
                    count > 2 ? std::strtoul(arguments[2], nullptr, 10) : 1);
}
