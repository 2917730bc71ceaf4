#include "verifier/verify_database.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "verifier/conditions/infer.h"
#include "verifier/prover/prove.h"

namespace lemma::verifier {

ProofRecord proof_record(const Substitution& rule, const Proved& proved, const AxiomSet& axioms) {
  std::map<std::string, const Substitution*, std::less<>> table;
  for (const Substitution& axiom : axioms.axioms()) table[axiom.name] = &axiom;
  std::vector<const Substitution*> used;
  for (const std::string& name : proved.axioms) used.push_back(table.at(name));
  ProofRecord record;
  record.rule = rule.name;
  record.rule_digest = text_digest(text(rule));
  record.axioms_digest = axioms_digest(used);
  record.cases = proved.instances;
  for (const RuleGroup& group : rule.groups)
    record.groups.push_back(fmt::format("{}:{}..{}", group.name, group.minimum, group.maximum));
  record.axioms = proved.axioms;
  if (!proved.certificate.empty()) record.certificate = certificate_digest(proved.certificate);
  return record;
}

namespace {

/// As they are, or under conditions.
enum class Claim { as_given, conditional };

VerifiedRule verify_rule(const Substitution& rule, const AxiomSet& axioms, Claim claim) {
  const auto begin = std::chrono::steady_clock::now();
  VerifiedRule result;
  result.name = rule.name;
  result.rule = rule;
  if (rule.is_axiom) {
    result.verdict = Unknown{"an axiom among the rules"};
  } else if (claim == Claim::as_given) {
    result.verdict = prove(rule, axioms);
  } else {
    ConditionedRule found = prove_under_conditions(rule, axioms);
    result.rule = std::move(found.rule);
    result.added = std::move(found.added);
    result.verdict = std::move(found.verdict);
    result.unconditional = std::move(found.unconditional);
  }
  if (const auto* proved = std::get_if<Proved>(&result.verdict))
    result.record = proof_record(result.rule, *proved, axioms);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

/// Calls work(i) for 0 <= i < count, on several threads; they are handed out one by one.
template <typename Work>
void on_threads(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto work_off = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  const int available = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> workers;
  for (int i = 1; i < (threads > 0 ? threads : available); ++i) workers.emplace_back(work_off);
  work_off();
  for (std::thread& worker : workers) worker.join();
}

std::vector<VerifiedRule> verify_rules(const std::vector<Substitution>& rules,
                                       const AxiomSet& axioms, Claim claim, int threads) {
  std::vector<VerifiedRule> results(rules.size());
  on_threads(rules.size(), threads,
             [&](std::size_t i) { results[i] = verify_rule(rules[i], axioms, claim); });
  return results;
}

/// Axioms without an index proof are taken out, and named in the result.
Result<void> prove_axioms(const std::filesystem::path& directory, const VerifyOptions& options,
                          std::vector<Substitution>& axioms, DatabaseVerification& result) {
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(const std::vector<AxiomRecord> records,
                         read_axiom_records(directory / "axioms.proofs"));
  result.index_proofs = verify_axioms(axioms, records, {options.threads, options.reprove_axioms});
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

/// A file is there in full or as it was before.
Result<void> replace_file(const std::filesystem::path& target, const std::string& contents) {
  std::filesystem::path draft = target;
  draft += ".new";
  {
    std::ofstream stream(draft, std::ios::binary | std::ios::trunc);
    stream << contents;
    stream.flush();
    if (!stream) return bad_input(fmt::format("cannot write '{}'", draft.string()));
  }
  std::error_code error;
  std::filesystem::rename(draft, target, error);
  if (error)
    return bad_input(fmt::format("cannot replace '{}': {}", target.string(), error.message()));
  return {};
}

}  // namespace

std::size_t DatabaseVerification::proved() const {
  return static_cast<std::size_t>(
      std::count_if(rules.begin(), rules.end(),
                    [](const VerifiedRule& rule) { return is_proved(rule.verdict); }));
}

std::size_t DatabaseVerification::refuted() const {
  return static_cast<std::size_t>(
      std::count_if(rules.begin(), rules.end(),
                    [](const VerifiedRule& rule) { return is_refuted(rule.verdict); }));
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
  std::vector<std::string> found;
  if (objections) {
    LEMMA_ASSIGN_OR_RETURN(found, objections(axioms));
  } else {
    found.resize(axioms.size());
    on_threads(axioms.size(), options.threads,
               [&](std::size_t i) { found[i] = objection_to(axioms[i]); });
  }
  AxiomSet set(std::move(axioms), found, std::move(rounding));
  result.axioms = set.axioms().size();
  result.refused_axioms.insert(result.refused_axioms.end(), set.refused().begin(),
                               set.refused().end());
  return set;
}

Result<DatabaseVerification> verify(const std::filesystem::path& directory,
                                    const std::vector<Substitution>& rules, Claim claim,
                                    const VerifyOptions& options) {
  DatabaseVerification result;
  LEMMA_ASSIGN_OR_RETURN(const AxiomSet set, usable_axioms(directory, options, result));
  result.rules = verify_rules(rules, set, claim, options.threads);
  return result;
}

}  // namespace

Result<LoadedAxioms> load_axioms(const std::filesystem::path& directory, int threads,
                                 const Objections& objections) {
  VerifyOptions options;
  options.threads = threads;
  DatabaseVerification result;
  LEMMA_ASSIGN_OR_RETURN(AxiomSet set, usable_axioms(directory, options, result, objections));
  return LoadedAxioms{std::move(set), std::move(result.refused_axioms)};
}

Result<DatabaseVerification> verify_database(const std::filesystem::path& directory,
                                             const VerifyOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules,
                         read_substitutions(directory / "substitutions", ".rules"));
  std::vector<Substitution> chosen;
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (i % options.shards == options.shard) chosen.push_back(std::move(rules[i]));
  return verify(directory, chosen, Claim::as_given, options);
}

Result<DatabaseVerification> verify_candidates(const std::filesystem::path& directory,
                                               const std::vector<Substitution>& candidates,
                                               const VerifyOptions& options) {
  return verify(directory, candidates, Claim::conditional, options);
}

std::string proof_file_text(const DatabaseVerification& verification) {
  std::vector<ProofRecord> records;
  for (const VerifiedRule& rule : verification.rules)
    if (is_proved(rule.verdict)) records.push_back(rule.record);
  return lemma::proof_file_text(records);
}

namespace {

/// Certificates of rules that are not there any more, or not proved.
Result<void> remove_others(const std::filesystem::path& folder,
                           const std::set<std::string>& names) {
  std::error_code error;
  std::vector<std::filesystem::path> others;
  for (std::filesystem::directory_iterator i(folder, error), end; !error && i != end;
       i.increment(error))
    if (i->path().extension() == ".certificate" && !names.contains(i->path().stem().string()))
      others.push_back(i->path());
  for (const std::filesystem::path& other : others) std::filesystem::remove(other, error);
  if (error)
    return bad_input(fmt::format("cannot tidy '{}': {}", folder.string(), error.message()));
  return {};
}

}  // namespace

Result<void> write_certificates(const std::filesystem::path& folder,
                                const DatabaseVerification& verification) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return bad_input(fmt::format("cannot make '{}': {}", folder.string(), error.message()));
  std::string rules;
  for (const VerifiedRule& rule : verification.rules) {
    const auto* proved = std::get_if<Proved>(&rule.verdict);
    if (proved == nullptr) continue;
    rules += (rules.empty() ? "" : "\n") + text(rule.rule);
    LEMMA_RETURN_IF_ERROR(replace_file(folder / (rule.name + ".certificate"), proved->certificate));
  }
  return replace_file(folder / "proved.rules", rules);
}

Result<void> write_counterexamples(const std::filesystem::path& folder,
                                   const DatabaseVerification& verification) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return bad_input(fmt::format("cannot make '{}': {}", folder.string(), error.message()));
  for (const VerifiedRule& rule : verification.rules) {
    const auto* refuted = std::get_if<Refuted>(&rule.verdict);
    if (refuted == nullptr && !rule.added.empty())
      refuted = std::get_if<Refuted>(&rule.unconditional);
    if (refuted != nullptr)
      LEMMA_RETURN_IF_ERROR(
          replace_file(folder / (rule.name + ".counterexample"), refuted->record));
  }
  return {};
}

Result<std::vector<std::pair<std::string, std::string>>> certificate_misfits(
    const std::filesystem::path& directory) {
  const std::filesystem::path file = directory / "substitutions.proofs";
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ProofRecord> records,
                         parse_proof_file(contents, file.string()));
  std::vector<std::pair<std::string, std::string>> result;
  for (const ProofRecord& record : records) {
    const auto certificate =
        read_text_file(directory / "certificates" / (record.rule + ".certificate"));
    if (!certificate)
      result.emplace_back(record.rule, certificate.error().message);
    else if (record.certificate != certificate_digest(*certificate))
      result.emplace_back(record.rule, "the certificate is not the one that was recorded");
  }
  return result;
}

Result<void> write_proofs(const std::filesystem::path& directory,
                          const DatabaseVerification& verification) {
  const std::filesystem::path folder = directory / "certificates";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return bad_input(fmt::format("cannot make '{}': {}", folder.string(), error.message()));
  std::set<std::string> names;
  for (const VerifiedRule& rule : verification.rules) {
    const auto* proved = std::get_if<Proved>(&rule.verdict);
    if (proved == nullptr) continue;
    names.insert(rule.name);
    LEMMA_RETURN_IF_ERROR(replace_file(folder / (rule.name + ".certificate"), proved->certificate));
  }
  std::vector<AxiomRecord> axioms;
  for (const VerifiedAxiom& axiom : verification.index_proofs)
    if (axiom.proof.proved) axioms.push_back(axiom.record);
  LEMMA_RETURN_IF_ERROR(replace_file(directory / "axioms.proofs", axiom_file_text(axioms)));
  LEMMA_RETURN_IF_ERROR(
      replace_file(directory / "substitutions.proofs", proof_file_text(verification)));
  return remove_others(folder, names);
}

}  // namespace lemma::verifier
