#include "database/decision.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "database/expressions.h"
#include "database/generalize.h"
#include "database/normal_form.h"
#include "facts/partial.h"
#include "verifier/conditions/infer.h"
#include "verifier/index/obligations.h"
#include "verifier/verify_database.h"

namespace lemma::database {
namespace {

using Json = nlohmann::ordered_json;
using Outcome = Decision::Outcome;

void add_rule(const Substitution& rule, const verifier::TwoProofs& proofs, Decision& decision) {
  const auto& proved = std::get<verifier::Proved>(proofs.verdict);
  decision.outcome = Outcome::proved;
  decision.rules.push_back({rule, verifier::proof_record(rule, proved, proofs.index),
                            proved.certificate, verifier::reason_for_one(proofs)});
}

void add_rule(const Substitution& rule, const verifier::Proved& proved, Decision& decision) {
  add_rule(rule, verifier::with_index_proof(rule, proved), decision);
}

/// "undefined" where shapes are at fault, else "values".
std::string class_of(const verifier::Refuted& refuted) {
  return refuted.inputs.empty() ? "definedness" : "values";
}

/// A condition that a size is 1. For the number of groups of a convolution that is a rule worth having;
/// for others it says that there is nothing to compute.
bool is_for_single_elements(const Substitution& rule, const std::vector<std::string>& conditions) {
  std::set<std::string> groups;
  for (const RuleTerm& term : rule.terms)
    for (const auto& [name, value] : term.attributes)
      if (name == "group")
        for (const std::string& variable : names_in(value)) groups.insert(variable);
  return std::any_of(conditions.begin(), conditions.end(), [&groups](const std::string& condition) {
    return condition.ends_with(" == 1") &&
           !groups.contains(condition.substr(0, condition.find(' ')));
  });
}

/// What `lemma rules verify` proves of a rule, in normal form; nothing if it does not prove it.
std::optional<verifier::VerifiedRule> verified_in_normal_form(const Substitution& rule,
                                                              const verifier::AxiomSet& axioms) {
  verifier::VerifiedRule verified = verifier::verify_candidate(rule, axioms);
  if (!verifier::is_proved(verified.verdict())) return std::nullopt;
  auto named = normal_form(verified.rule);
  if (!named) return std::nullopt;
  if (!(*named == verified.rule)) {
    verified.rule = std::move(*named);
    verified.proofs = verifier::prove_twice(verified.rule, axioms);
    if (!verifier::is_proved(verified.verdict())) return std::nullopt;
  }
  return verified;
}

void decide_refuted(const Substitution& candidate, const verifier::Refuted& refuted,
                    const verifier::AxiomSet& axioms, Decision& decision) {
  decision.outcome = Outcome::refuted;
  decision.reason = verifier::text(verifier::Verdict(refuted));
  decision.reason_class = class_of(refuted);
  Substitution forward = candidate;
  forward.bidirectional = false;
  std::vector<Substitution> directions = {forward};
  if (candidate.bidirectional) directions.push_back(reversed(forward));
  for (const Substitution& direction : directions) {
    const auto named = normal_form(direction);
    if (!named) continue;
    // One direction may hold where both do not: the other side is defined for less.
    auto verified = verified_in_normal_form(*named, axioms);
    if (!verified) continue;
    if (is_for_single_elements(*named, verified->added)) {
      decision.reason_class = class_of(refuted) + ", but for sizes of 1";
      continue;
    }
    if (decision.rules.empty()) decision.conditions = verified->added;
    add_rule(verified->rule, verified->proofs, decision);
    if (verified->added.empty()) break;
  }
}

/// Axioms with constants are about f32 alone: a proof that uses one of them in between holds for a
/// rule about f32, which must say so.
std::optional<Substitution> for_f32(const Substitution& candidate) {
  Substitution typed = candidate;
  for (RuleInput& input : typed.inputs)
    if (input.data_type == DataType::undefined) input.data_type = DataType::f32;
  return typed == candidate ? std::nullopt : normal_form(typed);
}

/// The rule for sizes that are not 0: each size n of it is written n + 1. The greatest element of
/// nothing and the mean of nothing obey no law.
std::optional<Substitution> for_sizes_above_zero(Substitution rule) {
  std::set<std::string> sizes;
  for (const RuleInput& input : rule.inputs)
    for (const RuleExpression& item : input.shape)
      if (const auto name = name_of(item)) sizes.insert(*name);
  if (sizes.empty()) return std::nullopt;
  visit_expressions(rule, [&sizes](RuleExpression& e) {
    if (const auto name = name_of(e); name && sizes.contains(*name))
      e = sum(variable(*name + "_less_1"), literal(1));
  });
  return normal_form(rule);
}

/// What is tried where the candidate is `Unknown`: less, which its proof may need.
Generalized generalize_narrower(const Substitution& candidate, const verifier::Unknown& unknown,
                                const verifier::AxiomSet& axioms) {
  const bool is_about_types = unknown.reason.starts_with("the certificate: ");
  const auto narrower = is_about_types ? for_f32(candidate) : for_sizes_above_zero(candidate);
  if (!narrower) return {{}, unknown, {}};
  Generalized general = generalize(*narrower, axioms);
  general.steps.insert(general.steps.begin(),
                       is_about_types ? "for f32 alone" : "for sizes above 0");
  return general;
}

/// The claim that holds, by index proofs: an equation for inputs that are defined where that is needed,
/// or refinements. The candidate itself where there is no index proof: other proofs are tried then.
std::vector<Substitution> claims_of(const Substitution& candidate) {
  const auto with_defined = [](Substitution rule, const std::set<std::string>& defined) {
    for (RuleInput& input : rule.inputs) input.defined = defined.contains(input.name);
    return rule;
  };
  const verifier::Obligations obligations = verifier::obligations_of(candidate);
  if (!candidate.bidirectional)
    return {obligations.forward.proved ? with_defined(candidate, obligations.forward.defined)
                                       : candidate};
  if (const auto equation = obligations.equation()) return {with_defined(candidate, *equation)};
  Substitution forward = candidate;
  forward.bidirectional = false;
  std::vector<Substitution> result;
  if (obligations.forward.proved)
    result.push_back(with_defined(forward, obligations.forward.defined));
  if (obligations.backward.proved)
    result.push_back(with_defined(reversed(forward), obligations.backward.defined));
  return result.empty() ? std::vector{candidate} : result;
}

/// Generalizes a candidate by its directions: where a side may be undefined, an equality may hold
/// from the other side only.
Generalized generalize_directions(const Substitution& candidate, const verifier::AxiomSet& axioms) {
  Generalized result;
  const bool is_partial =
      std::any_of(candidate.terms.begin(), candidate.terms.end(),
                  [](const RuleTerm& term) { return !term.is_input && may_be_undefined(term.op); });
  if (!candidate.bidirectional || !is_partial) return result;
  Substitution forward = candidate;
  forward.bidirectional = false;
  for (const Substitution& direction : {forward, reversed(forward)}) {
    const auto named = normal_form(direction);
    if (!named) continue;
    Generalized general = generalize(*named, axioms);
    for (GeneralRule& rule : general.rules) result.rules.push_back(std::move(rule));
    if (!general.rules.empty()) result.steps = std::move(general.steps);
  }
  if (!result.rules.empty())
    result.steps.insert(result.steps.begin(), "from one side to the other");
  return result;
}

}  // namespace

/// One claim about a candidate.
Decision decide_claim(const Substitution& candidate, const verifier::AxiomSet& axioms) {
  Decision decision;
  Generalized general = generalize(candidate, axioms);
  if (const auto* unknown = std::get_if<verifier::Unknown>(&general.verdict);
      unknown != nullptr && general.rules.empty())
    if (Generalized narrower = generalize_narrower(candidate, *unknown, axioms);
        !narrower.rules.empty())
      general = std::move(narrower);
  if (general.rules.empty() && std::holds_alternative<verifier::Unknown>(general.verdict))
    if (Generalized directed = generalize_directions(candidate, axioms); !directed.rules.empty())
      general = std::move(directed);
  decision.steps = std::move(general.steps);
  for (const GeneralRule& rule : general.rules) add_rule(rule.rule, rule.proved, decision);
  if (!general.rules.empty()) return decision;
  if (const auto* refuted = std::get_if<verifier::Refuted>(&general.verdict))
    decide_refuted(candidate, *refuted, axioms, decision);
  else
    decision.reason = verifier::text(general.verdict);
  return decision;
}

namespace {

/// A candidate that generalizing has left unknown, as `lemma rules verify` decides it: by both proofs under
/// conditions, else by its index proof alone, else under conditions by one proof; and each direction for itself if both do
/// not hold.
void decide_unknown(const Substitution& candidate, const verifier::AxiomSet& axioms,
                    Decision& decision) {
  auto verified = verified_in_normal_form(candidate, axioms);
  if (verified && is_for_single_elements(candidate, verified->added)) verified.reset();
  if (!verified || !verified->proofs.has_both()) {
    const auto proofs = verifier::with_index_proof(candidate, verifier::Unknown{decision.reason});
    if (verifier::is_proved(proofs.verdict)) {
      decision.reason.clear();
      return add_rule(candidate, proofs, decision);
    }
  }
  if (verified) {
    if (verified->added.empty()) decision.reason.clear();
    decision.conditions = verified->added;
    return add_rule(verified->rule, verified->proofs, decision);
  }
  if (!candidate.bidirectional) return;
  Substitution forward = candidate;
  forward.bidirectional = false;
  for (const Substitution& direction : {forward, reversed(forward)}) {
    const auto named = normal_form(direction);
    if (!named) continue;
    verified = verified_in_normal_form(*named, axioms);
    if (!verified || is_for_single_elements(*named, verified->added)) continue;
    if (decision.rules.empty()) decision.conditions = verified->added;
    add_rule(verified->rule, verified->proofs, decision);
  }
}

}  // namespace

Decision decide(const Substitution& candidate, const verifier::AxiomSet& axioms) {
  std::optional<Decision> all;
  for (const Substitution& claim : claims_of(candidate)) {
    const auto named = normal_form(claim);
    if (!named) continue;
    Decision decision = decide_claim(*named, axioms);
    if (!all || (all->rules.empty() && !decision.rules.empty())) {
      all = std::move(decision);
      continue;
    }
    std::move(decision.rules.begin(), decision.rules.end(), std::back_inserter(all->rules));
  }
  if (!all) all = decide_claim(candidate, axioms);
  if (all->outcome == Outcome::unknown) {
    decide_unknown(candidate, axioms, *all);
    all->is_narrow = all->outcome == Outcome::proved;
  }
  return std::move(*all);
}

Decision decide_as_it_is(const Substitution& rule, const verifier::AxiomSet& axioms) {
  Decision decision;
  const verifier::TwoProofs proofs = verifier::prove_twice(rule, axioms);
  if (verifier::is_proved(proofs.verdict))
    add_rule(rule, proofs, decision);
  else
    decision.reason = verifier::text(proofs.verdict);
  if (verifier::is_refuted(proofs.verdict)) decision.outcome = Outcome::refuted;
  return decision;
}

std::string to_text(const Decision& decision) {
  Json rules = Json::array();
  for (const DecidedRule& rule : decision.rules)
    rules.push_back({{"rule", text(rule.rule)},
                     {"record", text(rule.record)},
                     {"certificate", rule.certificate},
                     {"reason", rule.reason}});
  return Json({{"outcome", static_cast<int>(decision.outcome)},
               {"reason", decision.reason},
               {"class", decision.reason_class},
               {"conditions", decision.conditions},
               {"steps", decision.steps},
               {"narrow", decision.is_narrow},
               {"rules", rules}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Decision> parse_decision(const std::string& contents) {
  const Json json = Json::parse(contents, nullptr, false);
  if (!json.is_object()) return internal_error("a decision of the journal is damaged");
  Decision decision;
  decision.outcome = static_cast<Outcome>(json.value("outcome", 2));
  decision.reason = json.value("reason", "");
  decision.reason_class = json.value("class", "");
  decision.conditions = json.value("conditions", std::vector<std::string>{});
  decision.steps = json.value("steps", std::vector<std::string>{});
  decision.is_narrow = json.value("narrow", false);
  for (const Json& entry : json.value("rules", Json::array())) {
    DecidedRule rule;
    LEMMA_ASSIGN_OR_RETURN(auto parsed, parse_substitutions(entry.value("rule", ""), "journal"));
    if (parsed.size() != 1) return internal_error("a decision of the journal is damaged");
    rule.rule = std::move(parsed[0]);
    rule.rule.line = 0;
    LEMMA_ASSIGN_OR_RETURN(rule.record, parse_proof_record(entry.value("record", "")));
    rule.certificate = entry.value("certificate", "");
    rule.reason = entry.value("reason", "");
    decision.rules.push_back(std::move(rule));
  }
  return decision;
}

}  // namespace lemma::database
