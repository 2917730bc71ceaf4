// A concrete instance of a shipped rule is made general again, until the rule follows from it.

#include "database/generalise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "database/derivation.h"
#include "database/parallel.h"
#include "ir/rule_database.h"
#include "tests/database/concrete.h"
#include "verifier/verify_database.h"

namespace lemma::database {
namespace {

const verifier::AxiomSet& axioms() {
  static const auto loaded = verifier::load_axioms("rules");
  return loaded->set;
}

std::vector<Substitution> shipped() {
  auto rules = read_substitutions("rules/substitutions", ".rules");
  EXPECT_TRUE(rules);
  return *rules;
}

struct Attempt {
  std::string outcome;  // "covered", "instance", "unproved", "narrower"
  std::string general;  // what it became
};

Attempt generalise_instance(const Substitution& rule, const DerivationRules& commutativity) {
  const auto one = typical_case(rule);
  const auto instance = one ? concrete_instance(rule, *one, 2) : std::nullopt;
  if (!instance) return {"no instance", ""};
  const Generalised found = generalise(*instance, axioms());
  if (found.rules.empty()) return {"unproved", verifier::text(found.verdict) + text(*instance)};
  DerivationRules rules = commutativity;
  std::string general;
  for (const GeneralRule& one_rule : found.rules) {
    general += text(one_rule.rule);
    Substitution wide = one_rule.rule;
    for (RuleGroup& group : wide.groups) group.maximum = 8;
    rules.add(wide);
  }
  const Derivation derivation = derive(rule, rules, Start::both_sides);
  return {derivation.derivable ? "covered" : "narrower", general + derivation.stopped};
}

TEST(Generalise, shipped_rules_come_back_from_an_instance) {
  const std::vector<Substitution> rules = shipped();
  std::vector<Attempt> attempts(rules.size());
  Pool pool(0);
  ASSERT_TRUE(pool.for_each(rules.size(), [&](std::size_t i) -> Result<void> {
    attempts[i] = generalise_instance(rules[i], {});
    return {};
  }));
  std::size_t covered = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    covered += attempts[i].outcome == "covered" ? 1 : 0;
    if (attempts[i].outcome != "covered")
      std::cout << rules[i].name << ": " << attempts[i].outcome << "\n"
                << attempts[i].general << "\n";
  }
  std::cout << covered << " of " << rules.size() << "\n";
}

}  // namespace
}  // namespace lemma::database
