#include "report/rule_verdicts.h"

#include <nlohmann/json.hpp>

#include "verifier/conditions/infer.h"

namespace lemma {

using Json = nlohmann::ordered_json;
using verifier::VerifiedRule;

std::string_view verdict_name(const verifier::Verdict& verdict) {
  if (verifier::is_proved(verdict)) return "proved";
  return verifier::is_refuted(verdict) ? "refuted" : "unknown";
}

namespace {

/// Why it is not proved, or why only under conditions.
std::string reason_of(const VerifiedRule& rule) {
  if (!verifier::is_proved(rule.verdict())) return verifier::text(rule.verdict());
  return rule.added.empty() ? "" : "without condition: " + verifier::text(rule.unconditional);
}

/// "certificate,index", one of them, or "".
std::string proofs_of(const VerifiedRule& rule) {
  std::string result = rule.proofs.has_certificate() ? "certificate" : "";
  if (rule.proofs.index.proved) result += result.empty() ? "index" : ",index";
  return result;
}

}  // namespace

std::string verdict_lines(const verifier::DatabaseVerification& verification) {
  std::string lines;
  for (std::size_t i = 0; i < verification.rules.size(); ++i) {
    const VerifiedRule& rule = verification.rules[i];
    const bool proved = verifier::is_proved(rule.verdict());
    Json line({{"index", i},
               {"rule", rule.name},
               {"verdict", verdict_name(rule.verdict())},
               {"proofs", proofs_of(rule)},
               {"condition", verifier::condition_text(rule.rule)},
               {"reason", reason_of(rule)}});
    if (proved && !rule.proofs.has_both()) line["one_proof"] = reason_for_one(rule.proofs);
    if (proved) line["witness"] = std::get<verifier::Proved>(rule.verdict()).witness;
    if (!rule.added.empty()) line["added"] = rule.added;
    if (const auto* refuted = std::get_if<verifier::Refuted>(&rule.verdict()))
      line["counterexample"] = {{"assignment", refuted->assignment},
                                {"inputs", refuted->inputs},
                                {"difference", refuted->difference}};
    lines += line.dump() + "\n";
  }
  return lines;
}

}  // namespace lemma
