#include "verifier/write_proofs.h"

#include <fstream>
#include <set>

#include <fmt/format.h>

#include "facts/operator_section.h"
#include "ir/operator_registration.h"
#include "outputs/files.h"
#include "outputs/folder_update.h"
#include "rule_language/operator_meaning.h"
#include "verifier/rule_files.h"

namespace lemma::verifier {
namespace {

namespace fs = std::filesystem;

bool has_both(const RuleProofs& proofs) {
  return !proofs.record.certificate.empty() && !proofs.record.index.empty();
}

bool has_one(const RuleProofs& proofs) {
  return proofs.record.certificate.empty() != proofs.record.index.empty();
}

using Chosen = bool (*)(const RuleProofs&);

/// A pack beside each file of rules, for those of its rules that have a certificate; no others.
Result<void> write_packs(const fs::path& folder, const RuleProofTable& rules, Chosen chosen) {
  std::error_code error;
  if (!fs::exists(folder, error)) return {};
  LEMMA_ASSIGN_OR_RETURN(const auto files, files_with_extension(folder, ".rules"));
  std::vector<std::pair<std::string, std::string>> packs;
  std::set<fs::path> kept;
  for (const fs::path& file : files) {
    LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
    LEMMA_ASSIGN_OR_RETURN(const auto in_order, parse_substitutions(contents, file.string()));
    std::string pack;
    for (const Substitution& rule : in_order)
      if (const auto entry = rules.find(rule.name); entry != rules.end() && chosen(entry->second))
        pack += entry->second.certificate;
    if (pack.empty()) continue;
    const fs::path name = fs::path(file.filename()).replace_extension(pack_extension);
    packs.emplace_back(name.string(), std::move(pack));
    kept.insert(folder / name);
  }
  LEMMA_RETURN_IF_ERROR(write_files_atomically(folder, packs));
  LEMMA_ASSIGN_OR_RETURN(const auto there, files_with_extension(folder, pack_extension));
  for (const fs::path& pack : there)
    if (!kept.contains(pack)) fs::remove(pack, error);
  if (!error) return {};
  return bad_input(fmt::format("cannot tidy '{}': {}", folder.string(), error.message()));
}

constexpr std::string_view outside_heading = "# Operators from outside\n";

/// The sections of the operators from outside in the file operators.md beside the rules, which the second checker reads. A file
/// of another one's stays, and so does one where there are no such operators.
Result<void> write_outside_sections(const fs::path& directory) {
  if (all_operators().size() == own_operators().size()) return {};
  std::map<std::string, OperatorId, std::less<>> outside;
  for (const auto& [folder, extension] :
       {std::pair("axioms", ".axioms"), {"substitutions", ".rules"}}) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> rules,
                           read_substitutions(directory / folder, extension));
    for (const Substitution& rule : rules)
      for (const RuleTerm& term : rule.terms)
        if (!term.is_input && !origin_of(record(term.op).name).empty())
          outside.emplace(record(term.op).name, term.op);
  }
  const fs::path file = directory / "operators.md";
  std::error_code error;
  if (outside.empty()) return {};
  if (fs::exists(file, error)) {
    LEMMA_ASSIGN_OR_RETURN(const std::string before, read_text_file(file));
    if (!before.starts_with(outside_heading)) return {};
  }
  std::string text = fmt::format(
      "{}\nWritten by `lemma rules verify --write` from the records of a library "
      "(docs/outside_operators.md).\n",
      outside_heading);
  for (const auto& [name, op] : outside) text += "\n" + operator_section(op, meaning_digest(op));
  return write_file_atomically(file, text);
}

/// The records in the order of the rules in the files.
Result<std::string> records_text(const fs::path& folder, const RuleProofTable& rules,
                                 Chosen chosen) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> in_order,
                         read_substitutions(folder, ".rules"));
  std::vector<ProofRecord> records;
  for (const Substitution& rule : in_order)
    if (const auto entry = rules.find(rule.name); entry != rules.end() && chosen(entry->second))
      records.push_back(entry->second.record);
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
    fs::remove(folder, error);  // unless rules without any proof are in it
    return {};
  }
  LEMMA_RETURN_IF_ERROR(write_file_atomically(folder / "reasons", reasons_text(reasons)));
  LEMMA_ASSIGN_OR_RETURN(const std::string records, records_text(folder, rules, has_one));
  return write_file_atomically(directory / "one_proof.proofs", records);
}

}  // namespace

Result<void> write_proofs_into(const fs::path& directory, const RuleProofTable& rules,
                               const std::vector<AxiomRecord>& axioms) {
  const fs::path substitutions = directory / "substitutions", apart = directory / "one_proof";
  std::set<std::string> both, single_proof;
  for (const auto& [name, proofs] : rules) {
    if (has_both(proofs)) both.insert(name);
    if (has_one(proofs)) single_proof.insert(name);
  }
  LEMMA_RETURN_IF_ERROR(move_rules(substitutions, apart, single_proof));
  LEMMA_RETURN_IF_ERROR(move_rules(apart, substitutions, both));
  LEMMA_RETURN_IF_ERROR(write_packs(substitutions, rules, has_both));
  LEMMA_RETURN_IF_ERROR(write_packs(apart, rules, has_one));
  LEMMA_RETURN_IF_ERROR(
      write_file_atomically(directory / "axioms.proofs", axiom_file_text(axioms)));
  LEMMA_RETURN_IF_ERROR(write_one_proof(directory, rules));
  LEMMA_ASSIGN_OR_RETURN(const std::string records, records_text(substitutions, rules, has_both));
  return write_file_atomically(directory / "substitutions.proofs", records);
}

Result<void> write_proofs(const fs::path& directory, const RuleProofTable& rules,
                          const std::vector<AxiomRecord>& axioms) {
  LEMMA_ASSIGN_OR_RETURN(FolderUpdate update, FolderUpdate::begin(directory));
  LEMMA_RETURN_IF_ERROR(write_proofs_into(update.copy(), rules, axioms));
  return update.publish();
}

Result<void> write_proofs(const fs::path& directory, const DatabaseVerification& verification) {
  RuleProofTable rules;
  for (const VerifiedRule& rule : verification.rules)
    if (const auto* proved = std::get_if<Proved>(&rule.verdict()))
      rules[rule.name] = {rule.record, proved->certificate, reason_for_one(rule.proofs)};
  LEMMA_ASSIGN_OR_RETURN(FolderUpdate update, FolderUpdate::begin(directory));
  LEMMA_RETURN_IF_ERROR(write_proofs_into(update.copy(), rules, verification.axiom_records()));
  LEMMA_RETURN_IF_ERROR(write_outside_sections(update.copy()));
  return update.publish();
}

namespace {

Result<void> add_misfits(const fs::path& records_file, const fs::path& folder,
                         std::vector<std::pair<std::string, std::string>>& result) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ProofRecord> records, read_proof_records(records_file));
  if (records.empty()) return {};
  LEMMA_ASSIGN_OR_RETURN(const CertificateTable certificates, read_certificates(folder));
  for (const ProofRecord& record : records) {
    if (record.certificate.empty()) continue;
    const auto certificate = certificates.find(record.rule);
    if (certificate == certificates.end())
      result.emplace_back(record.rule, "there is no certificate");
    else if (record.certificate != certificate_digest(certificate->second.text))
      result.emplace_back(record.rule, "the certificate is not the one that was recorded");
  }
  return {};
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> certificate_misfits(
    const fs::path& directory) {
  std::vector<std::pair<std::string, std::string>> result;
  LEMMA_RETURN_IF_ERROR(
      add_misfits(directory / "substitutions.proofs", directory / "substitutions", result));
  LEMMA_RETURN_IF_ERROR(
      add_misfits(directory / "one_proof.proofs", directory / "one_proof", result));
  return result;
}

Result<void> write_certificates(const fs::path& folder, const DatabaseVerification& verification) {
  LEMMA_RETURN_IF_ERROR(make_folder(folder));
  std::vector<std::pair<std::string, std::string>> files;
  std::string rules, pack;
  for (const VerifiedRule& rule : verification.rules) {
    const auto* proved = std::get_if<Proved>(&rule.verdict());
    if (proved == nullptr) continue;
    rules += (rules.empty() ? "" : "\n") + text_with_roles(rule.rule);
    pack += proved->certificate;
  }
  files.emplace_back("proved.rules", rules);
  if (!pack.empty()) files.emplace_back(fmt::format("proved{}", pack_extension), pack);
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
