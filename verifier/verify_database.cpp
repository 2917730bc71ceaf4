#include "verifier/verify_database.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/sha256.h"
#include "rule_language/kept_proofs.h"
#include "system/clock.h"
#include "system/parallel.h"
#include "verifier/conditions/infer.h"
#include "verifier/prover/prove.h"

namespace lemma::verifier {

ProofRecord proof_record(const Substitution& rule, const Proved& proved, const IndexProof& index) {
  ProofRecord record;
  record.rule = rule.name;
  record.text = sha256(text(rule));
  if (!proved.certificate.empty()) record.certificate = certificate_digest(proved.certificate);
  if (index.proved) record.index = index_proof_digest(rule);
  record.cases = proved.instances;
  for (const RuleGroup& group : rule.groups)
    record.groups.push_back(fmt::format("{}:{}..{}", group.name, group.minimum, group.maximum));
  record.axioms = proved.axioms;
  return record;
}

TwoProofs with_index_proof(const Substitution& rule, Verdict verdict) {
  TwoProofs result{std::move(verdict), {}, ""};
  if (is_refuted(result.verdict)) return result;
  if (const auto* unknown = std::get_if<Unknown>(&result.verdict))
    result.no_certificate = unknown->reason;
  else if (std::get<Proved>(result.verdict).certificate.empty())
    result.no_certificate = "no instance with known sizes meets its conditions";
  const auto* proved_by_axioms = std::get_if<Proved>(&result.verdict);
  const bool keeps_bits =
      proved_by_axioms != nullptr &&
      class_of_certificate(proved_by_axioms->certificate) == name(RoundingClass::bitwise);
  result.index = prove_by_index(rule, {.keeps_bits = keeps_bits});
  if (result.index.proved && !is_proved(result.verdict)) {
    Proved proved;
    proved.instances = result.index.cases;
    result.verdict = proved;
  }
  return result;
}

TwoProofs prove_twice(const Substitution& rule, const AxiomSet& axioms) {
  return with_index_proof(rule, prove(rule, axioms));
}

std::string reason_for_one(const TwoProofs& proofs) {
  if (proofs.has_both()) return "";
  std::string reason = proofs.has_certificate() ? "no index proof: " + proofs.index.reason
                                                : "no certificate: " + proofs.no_certificate;
  std::replace(reason.begin(), reason.end(), '\n', ';');
  return reason;
}

namespace {

/// How rules are claimed: as they are, or under conditions.
enum class Claim { as_given, conditional };

VerifiedRule verify_rule(const Substitution& rule, const AxiomSet& axioms, Claim claim) {
  const auto begin = std::chrono::steady_clock::now();
  VerifiedRule result;
  result.name = rule.name;
  result.rule = rule;
  if (rule.is_axiom) {
    result.proofs.verdict = Unknown{"an axiom among the rules"};
  } else if (claim == Claim::as_given) {
    Verdict verdict = prove(rule, axioms);
    const double before = thread_processor_seconds();
    result.proofs = with_index_proof(rule, std::move(verdict));
    result.index_seconds = thread_processor_seconds() - before;
  } else {
    ConditionedRule conditioned = prove_under_conditions(rule, axioms);
    result.rule = std::move(conditioned.rule);
    result.added = std::move(conditioned.added);
    const double before = thread_processor_seconds();
    result.proofs = with_index_proof(result.rule, std::move(conditioned.verdict));
    result.index_seconds = conditioned.index_seconds + thread_processor_seconds() - before;
    result.unconditional = std::move(conditioned.unconditional);
  }
  if (const auto* proved = std::get_if<Proved>(&result.verdict()))
    result.record = proof_record(result.rule, *proved, result.proofs.index);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

using KeptProofs = std::map<std::string, KeptProof, std::less<>>;

/// A rule whose record fits, as its proofs left it.
VerifiedRule as_recorded(const Substitution& rule, const KeptProof& kept) {
  VerifiedRule result;
  result.name = rule.name;
  result.rule = rule;
  result.record = kept.record;
  result.is_recorded = true;
  Proved proved;
  proved.axioms = kept.record.axioms;
  proved.instances = kept.record.cases;
  proved.certificate = kept.certificate;
  result.proofs.verdict = std::move(proved);
  result.proofs.index.proved = !kept.record.index.empty();
  constexpr std::string_view of_index = "no index proof: ", of_certificate = "no certificate: ";
  if (kept.reason.starts_with(of_certificate))
    result.proofs.no_certificate = kept.reason.substr(of_certificate.size());
  else if (kept.reason.starts_with(of_index))
    result.proofs.index.reason = kept.reason.substr(of_index.size());
  return result;
}

std::vector<VerifiedRule> verify_rules(const std::vector<Substitution>& rules,
                                       const AxiomSet& axioms, const KeptProofs& kept, Claim claim,
                                       int threads) {
  std::vector<VerifiedRule> results(rules.size());
  parallel_for(rules.size(), threads, [&](std::size_t i) {
    const auto known = kept.find(rules[i].name);
    results[i] = known != kept.end() ? as_recorded(rules[i], known->second)
                                     : verify_rule(rules[i], axioms, claim);
  });
  return results;
}

/// Axioms without an index proof are taken out, and named in the result.
Result<void> prove_axioms(const std::filesystem::path& directory, const VerifyOptions& options,
                          std::vector<Substitution>& axioms, DatabaseVerification& result) {
  const auto begin = std::chrono::steady_clock::now();
  std::vector<AxiomRecord> records;  // not even read if all is proved anew
  if (!options.reprove_axioms) {
    auto known = read_axiom_records(directory / "axioms.proofs");
    if (!known) {
      known.error().message += ": run lemma rules verify --axioms --write";
      return tl::unexpected<Error>(std::move(known.error()));
    }
    records = std::move(*known);
  }
  LEMMA_ASSIGN_OR_RETURN(const RoundingTable rounding, read_rounding_table(directory));
  result.index_proofs =
      verify_axioms(axioms, records, {options.threads, options.reprove_axioms, &rounding});
  std::vector<Substitution> proved;
  for (std::size_t i = 0; i < axioms.size(); ++i) {
    const IndexProof& proof = result.index_proofs[i].proof;
    if (proof.proved)
      proved.push_back(std::move(axioms[i]));
    else
      result.refused_axioms.emplace_back(axioms[i].name, "no index proof: " + proof.reason);
  }
  axioms = std::move(proved);
  result.index_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return {};
}

}  // namespace

VerifiedRule verify_candidate(const Substitution& rule, const AxiomSet& axioms) {
  return verify_rule(rule, axioms, Claim::conditional);
}

std::vector<AxiomRecord> DatabaseVerification::axiom_records() const {
  std::vector<AxiomRecord> result;
  for (const VerifiedAxiom& axiom : index_proofs)
    if (axiom.proof.proved) result.push_back(axiom.record);
  return result;
}

std::size_t DatabaseVerification::proved() const {
  return static_cast<std::size_t>(
      std::count_if(rules.begin(), rules.end(),
                    [](const VerifiedRule& rule) { return is_proved(rule.verdict()); }));
}

std::size_t DatabaseVerification::proved_twice() const {
  return static_cast<std::size_t>(std::count_if(
      rules.begin(), rules.end(), [](const VerifiedRule& rule) { return rule.proofs.has_both(); }));
}

std::size_t DatabaseVerification::recorded() const {
  return static_cast<std::size_t>(std::count_if(
      rules.begin(), rules.end(),
      [](const VerifiedRule& rule) { return rule.is_recorded && is_proved(rule.verdict()); }));
}

std::optional<RoundingClass> DatabaseVerification::class_of(const VerifiedRule& rule) const {
  if (!rule.proofs.has_certificate()) return std::nullopt;
  return worst_of(rule.record.axioms, rounding);
}

std::vector<std::pair<std::string, std::vector<std::string>>>
DatabaseVerification::axioms_without_class() const {
  std::map<std::string, std::vector<std::string>> missing;
  for (const VerifiedAxiom& axiom : index_proofs)
    if (!rounding.contains(axiom.name)) missing[axiom.name];
  if (missing.empty()) return {};
  for (const VerifiedRule& rule : rules) {
    if (class_of(rule) != RoundingClass::rounding) continue;
    std::vector<std::string> with_class, without;
    for (const std::string& axiom : rule.record.axioms)
      (missing.contains(axiom) ? without : with_class).push_back(axiom);
    if (worst_of(with_class, rounding) == RoundingClass::rounding) continue;
    for (const std::string& axiom : without) missing[axiom].push_back(rule.name);
  }
  return {missing.begin(), missing.end()};
}

bool DatabaseVerification::complete() const {
  const bool all = std::all_of(rules.begin(), rules.end(), [this](const VerifiedRule& rule) {
    return of_folder && !rule.is_apart ? rule.proofs.has_both() : is_proved(rule.verdict());
  });
  return all && refused_axioms.empty();
}

double DatabaseVerification::rule_index_seconds() const {
  double sum = 0;
  for (const VerifiedRule& rule : rules) sum += rule.index_seconds;
  return sum;
}

std::size_t DatabaseVerification::refuted() const {
  return static_cast<std::size_t>(
      std::count_if(rules.begin(), rules.end(),
                    [](const VerifiedRule& rule) { return is_refuted(rule.verdict()); }));
}

namespace {

Result<AxiomSet> usable_axioms(const std::filesystem::path& directory, const VerifyOptions& options,
                               DatabaseVerification& result, const Objections& objections = {}) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> axioms,
                         read_substitutions(directory / "axioms", ".axioms"));
  for (const Substitution& axiom : axioms)
    if (!axiom.is_axiom)
      return bad_input(fmt::format("'{}' stands among the axioms, but is a rule", axiom.name));
  LEMMA_RETURN_IF_ERROR(prove_axioms(directory, options, axioms, result));
  LEMMA_ASSIGN_OR_RETURN(RoundingTable rounding, read_rounding_table(directory));
  std::vector<std::string> reasons;
  if (objections) {
    LEMMA_ASSIGN_OR_RETURN(reasons, objections(axioms));
  } else {
    reasons.resize(axioms.size());
    parallel_for(axioms.size(), options.threads,
                 [&](std::size_t i) { reasons[i] = objection_to(axioms[i]); });
  }
  result.rounding = rounding;
  AxiomSet set(std::move(axioms), reasons, std::move(rounding));
  result.axioms = set.axioms().size();
  result.refused_axioms.insert(result.refused_axioms.end(), set.refused().begin(),
                               set.refused().end());
  return set;
}

/// Evaluates the axioms that new proofs use, and those whose own proofs are new, and takes back the proofs that use one
/// which is refuted. The records of all axioms fit; evaluating them is a net under those, and most meet no rule.
void evaluate_used_axioms(const AxiomSet& set, int threads, DatabaseVerification& result) {
  std::set<std::string, std::less<>> used;
  for (const VerifiedAxiom& axiom : result.index_proofs)
    if (!axiom.recorded) used.insert(axiom.name);
  for (const VerifiedRule& rule : result.rules)
    if (!rule.is_recorded) used.insert(rule.record.axioms.begin(), rule.record.axioms.end());
  std::vector<const Substitution*> axioms;
  for (const Substitution& axiom : set.axioms())
    if (used.contains(axiom.name)) axioms.push_back(&axiom);
  std::vector<std::string> objections(axioms.size());
  parallel_for(axioms.size(), threads,
               [&](std::size_t i) { objections[i] = objection_to(*axioms[i]); });
  for (std::size_t i = 0; i < axioms.size(); ++i) {
    if (objections[i].empty()) continue;
    result.refused_axioms.emplace_back(axioms[i]->name, objections[i]);
    --result.axioms;
    for (VerifiedRule& rule : result.rules) {
      const std::vector<std::string>& names = rule.record.axioms;
      if (std::find(names.begin(), names.end(), axioms[i]->name) == names.end()) continue;
      rule.proofs = {
          Unknown{fmt::format("its proof uses the axiom {}, which is refused", axioms[i]->name)},
          {},
          "an axiom of it is refused"};
      rule.record = {};
      rule.is_recorded = false;
    }
  }
}

/// `kept`: records that are believed.
Result<DatabaseVerification> verify(const std::filesystem::path& directory,
                                    const std::vector<Substitution>& rules, Claim claim,
                                    const VerifyOptions& options, const KeptProofs& kept = {}) {
  DatabaseVerification result;
  const bool evaluates_used_only =
      (claim == Claim::conditional || !kept.empty()) && !options.reprove_axioms;
  Objections none;
  if (evaluates_used_only)
    none = [](const std::vector<Substitution>& axioms) {
      return std::vector<std::string>(axioms.size());
    };
  LEMMA_ASSIGN_OR_RETURN(const AxiomSet set, usable_axioms(directory, options, result, none));
  result.rules = verify_rules(rules, set, kept, claim, options.threads);
  if (evaluates_used_only) evaluate_used_axioms(set, options.threads, result);
  const std::vector<AxiomRecord> proved = result.axiom_records();
  const AxiomRecordTable records = table_of(proved);
  for (VerifiedRule& rule : result.rules)
    if (is_proved(rule.verdict()))
      rule.record.digest = sealed_digest(rule.record, rule.rule, records);
  return result;
}

}  // namespace

Result<LoadedAxioms> load_axioms(const std::filesystem::path& directory, int threads,
                                 const Objections& objections) {
  VerifyOptions options;
  options.threads = threads;
  DatabaseVerification result;
  LEMMA_ASSIGN_OR_RETURN(AxiomSet set, usable_axioms(directory, options, result, objections));
  return LoadedAxioms{std::move(set), result.axiom_records(), std::move(result.refused_axioms)};
}

Result<DatabaseVerification> verify_database(const std::filesystem::path& directory,
                                             const VerifyOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules,
                         read_substitutions(directory / "substitutions", ".rules"));
  const std::size_t shipped = rules.size();
  std::error_code error;
  if (std::filesystem::exists(directory / "one_proof", error)) {
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> apart,
                           read_substitutions(directory / "one_proof", ".rules"));
    std::move(apart.begin(), apart.end(), std::back_inserter(rules));
  }
  std::vector<Substitution> chosen;
  std::vector<bool> is_apart;
  for (std::size_t i = options.shard; i < rules.size(); i += options.shards) {
    chosen.push_back(std::move(rules[i]));
    is_apart.push_back(i >= shipped);
  }
  KeptProofs kept;
  if (options.keep_records && !options.reprove_axioms) {
    LEMMA_ASSIGN_OR_RETURN(kept, read_kept_proofs(directory));
  }
  LEMMA_ASSIGN_OR_RETURN(DatabaseVerification result,
                         verify(directory, chosen, Claim::as_given, options, kept));
  for (std::size_t i = 0; i < is_apart.size(); ++i) result.rules[i].is_apart = is_apart[i];
  result.of_folder = true;
  return result;
}

Result<DatabaseVerification> verify_candidates(const std::filesystem::path& directory,
                                               const std::vector<Substitution>& candidates,
                                               const VerifyOptions& options) {
  return verify(directory, candidates, Claim::conditional, options);
}

}  // namespace lemma::verifier
