#include "verifier/prove_rules.h"

#include <string>

#include <fmt/format.h>

#include "verifier/verify_database.h"

namespace lemma::verifier {

namespace {

/// Why a rule may not be used as it is; empty if it may be.
std::string why_not_usable(const VerifiedRule& rule) {
  if (!is_proved(rule.verdict())) return text(rule.verdict());
  if (!rule.added.empty()) {
    std::string conditions;
    for (const std::string& condition : rule.added)
      conditions += (conditions.empty() ? "" : ", ") + condition;
    return "it is proved only under conditions that it does not state: " + conditions;
  }
  return reason_for_one(rule.proofs);
}

}  // namespace

Result<RuleDatabase> prove_rules(std::vector<Substitution> rules,
                                 const std::filesystem::path& axioms, int threads) {
  RuleNames names;
  for (const Substitution& rule : rules)
    if (!names.insert(rule.name).second)
      return bad_input(fmt::format("two rules have the name '{}'", rule.name));
  VerifyOptions options;
  options.threads = threads;
  LEMMA_ASSIGN_OR_RETURN(const DatabaseVerification verified,
                         verify_candidates(axioms, rules, options));
  std::vector<RoundingClass> rounding;
  for (const VerifiedRule& rule : verified.rules) {
    if (const std::string reason = why_not_usable(rule); !reason.empty())
      return bad_input(fmt::format("rule '{}' is not proved: {}", rule.name, reason));
    const std::string& certificate = std::get<Proved>(rule.verdict()).certificate;
    const auto stated = rounding_class_named(class_of_certificate(certificate));
    rounding.push_back(stated.value_or(RoundingClass::rounding));
  }
  return RuleDatabase(std::move(rules), std::move(rounding));
}

}  // namespace lemma::verifier
