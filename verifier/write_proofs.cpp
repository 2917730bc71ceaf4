#include "verifier/write_proofs.h"

#include <fstream>
#include <set>

#include <fmt/format.h>

#include "ir/files.h"
#include "verifier/rule_files.h"

namespace lemma::verifier {
namespace {

namespace fs = std::filesystem;

Result<void> remove_files(const fs::path& folder, std::string_view extension,
                          const std::set<std::string>& kept) {
  std::error_code error;
  if (!fs::exists(folder, error)) return {};
  std::vector<fs::path> others;
  for (fs::directory_iterator i(folder, error), end; !error && i != end; i.increment(error))
    if (i->path().extension() == extension && !kept.contains(i->path().stem().string()))
      others.push_back(i->path());
  for (const fs::path& other : others) fs::remove(other, error);
  if (error)
    return bad_input(fmt::format("cannot tidy '{}': {}", folder.string(), error.message()));
  return {};
}

bool has_both(const RuleProofs& proofs) {
  return !proofs.record.certificate.empty() && !proofs.record.index.empty();
}

bool has_one(const RuleProofs& proofs) {
  return proofs.record.certificate.empty() != proofs.record.index.empty();
}

using Chosen = bool (*)(const RuleProofs&);

Result<void> write_chosen_certificates(const fs::path& folder, const RuleProofTable& rules,
                                       Chosen chosen) {
  std::set<std::string> names;
  for (const auto& [name, proofs] : rules)
    if (chosen(proofs) && !proofs.certificate.empty()) names.insert(name);
  if (!names.empty()) LEMMA_RETURN_IF_ERROR(make_folder(folder));
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& name : names)
    files.emplace_back(name + ".certificate", rules.at(name).certificate);
  LEMMA_RETURN_IF_ERROR(write_files_atomically(folder, files));
  return remove_files(folder, ".certificate", names);
}

/// In the order of the rules in the files.
Result<std::string> records_text(const fs::path& folder, const RuleProofTable& rules,
                                 Chosen chosen) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> in_order,
                         read_substitutions(folder, ".rules"));
  std::vector<ProofRecord> records;
  for (const Substitution& rule : in_order)
    if (const auto found = rules.find(rule.name); found != rules.end() && chosen(found->second))
      records.push_back(found->second.record);
  return proof_file_text(records);
}

Result<void> write_one_proof(const fs::path& directory, const RuleProofTable& rules) {
  Reasons reasons;
  for (const auto& [name, proofs] : rules)
    if (has_one(proofs)) reasons[name] = proofs.reason;
  std::error_code error;
  const fs::path folder = directory / "one_proof";
  if (reasons.empty()) {
    fs::remove(directory / "one_proof.proofs", error);
    fs::remove(folder / "reasons", error);
    fs::remove(folder / "certificates", error);
    fs::remove(folder, error);  // unless rules without any proof are in it
    return {};
  }
  LEMMA_RETURN_IF_ERROR(write_file_atomically(folder / "reasons", reasons_text(reasons)));
  LEMMA_ASSIGN_OR_RETURN(const std::string records, records_text(folder, rules, has_one));
  return write_file_atomically(directory / "one_proof.proofs", records);
}

}  // namespace

Result<void> write_proofs(const fs::path& directory, const RuleProofTable& rules,
                          const std::vector<AxiomRecord>& axioms) {
  const fs::path substitutions = directory / "substitutions", apart = directory / "one_proof";
  std::set<std::string> both, one;
  for (const auto& [name, proofs] : rules) {
    if (has_both(proofs)) both.insert(name);
    if (has_one(proofs)) one.insert(name);
  }
  LEMMA_RETURN_IF_ERROR(move_rules(substitutions, apart, one));
  LEMMA_RETURN_IF_ERROR(move_rules(apart, substitutions, both));
  LEMMA_RETURN_IF_ERROR(write_chosen_certificates(directory / "certificates", rules, has_both));
  LEMMA_RETURN_IF_ERROR(write_chosen_certificates(apart / "certificates", rules, has_one));
  LEMMA_RETURN_IF_ERROR(
      write_file_atomically(directory / "axioms.proofs", axiom_file_text(axioms)));
  LEMMA_RETURN_IF_ERROR(write_one_proof(directory, rules));
  LEMMA_ASSIGN_OR_RETURN(const std::string records, records_text(substitutions, rules, has_both));
  return write_file_atomically(directory / "substitutions.proofs", records);
}

Result<void> write_proofs(const fs::path& directory, const DatabaseVerification& verification) {
  RuleProofTable rules;
  for (const VerifiedRule& rule : verification.rules)
    if (const auto* proved = std::get_if<Proved>(&rule.verdict()))
      rules[rule.name] = {rule.record, proved->certificate, reason_for_one(rule.proofs)};
  return write_proofs(directory, rules, verification.axiom_records());
}

namespace {

Result<void> add_misfits(const fs::path& records_file, const fs::path& certificates,
                         std::vector<std::pair<std::string, std::string>>& result) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ProofRecord> records, read_proof_records(records_file));
  for (const ProofRecord& record : records) {
    if (record.certificate.empty()) continue;
    const auto certificate = read_text_file(certificates / (record.rule + ".certificate"));
    if (!certificate)
      result.emplace_back(record.rule, certificate.error().message);
    else if (record.certificate != certificate_digest(*certificate))
      result.emplace_back(record.rule, "the certificate is not the one that was recorded");
  }
  return {};
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> certificate_misfits(
    const fs::path& directory) {
  std::vector<std::pair<std::string, std::string>> result;
  LEMMA_RETURN_IF_ERROR(
      add_misfits(directory / "substitutions.proofs", directory / "certificates", result));
  LEMMA_RETURN_IF_ERROR(add_misfits(directory / "one_proof.proofs",
                                    directory / "one_proof" / "certificates", result));
  return result;
}

Result<void> write_certificates(const fs::path& folder, const DatabaseVerification& verification) {
  LEMMA_RETURN_IF_ERROR(make_folder(folder));
  std::vector<std::pair<std::string, std::string>> files;
  std::string rules;
  for (const VerifiedRule& rule : verification.rules) {
    const auto* proved = std::get_if<Proved>(&rule.verdict());
    if (proved == nullptr) continue;
    rules += (rules.empty() ? "" : "\n") + text(rule.rule);
    if (rule.proofs.has_certificate())
      files.emplace_back(rule.name + ".certificate", proved->certificate);
  }
  files.emplace_back("proved.rules", rules);
  return write_files_atomically(folder, files);
}

Result<void> write_counterexamples(const fs::path& folder,
                                   const DatabaseVerification& verification) {
  LEMMA_RETURN_IF_ERROR(make_folder(folder));
  std::vector<std::pair<std::string, std::string>> files;
  for (const VerifiedRule& rule : verification.rules) {
    const auto* refuted = std::get_if<Refuted>(&rule.verdict());
    if (refuted == nullptr && !rule.added.empty())
      refuted = std::get_if<Refuted>(&rule.unconditional);
    if (refuted != nullptr) files.emplace_back(rule.name + ".counterexample", refuted->record);
  }
  return write_files_atomically(folder, files);
}

}  // namespace lemma::verifier
