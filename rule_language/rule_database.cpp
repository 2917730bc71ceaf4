#include "rule_language/rule_database.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "rule_language/kept_proofs.h"
#include "rule_language/rule_roles.h"

namespace lemma {

Result<std::string> read_text_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return bad_input(fmt::format("cannot read '{}'", file.string()));
  std::ostringstream contents;
  contents << stream.rdbuf();
  if (stream.bad()) return bad_input(fmt::format("cannot read '{}'", file.string()));
  return std::move(contents).str();
}

Result<std::vector<std::filesystem::path>> files_with_extension(const std::filesystem::path& folder,
                                                                std::string_view extension) {
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::directory_iterator i(folder, error), end; !error && i != end;
       i.increment(error))
    if (i->path().extension() == extension) files.push_back(i->path());
  if (error)
    return bad_input(
        fmt::format("cannot read the folder '{}': {}", folder.string(), error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

Result<CertificateTable> read_certificates(const std::filesystem::path& folder) {
  LEMMA_ASSIGN_OR_RETURN(const auto packs, files_with_extension(folder, pack_extension));
  CertificateTable result;
  for (const std::filesystem::path& pack : packs) {
    LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(pack));
    for (CertificateSection& section : certificates_of(contents)) {
      const auto [known, inserted] = result.try_emplace(section.rule, section);
      if (!inserted) known->second.text += section.text;
    }
  }
  return result;
}

Result<std::vector<Substitution>> read_substitutions(const std::filesystem::path& folder,
                                                     std::string_view extension) {
  LEMMA_ASSIGN_OR_RETURN(const auto files, files_with_extension(folder, extension));
  std::vector<Substitution> result;
  for (const std::filesystem::path& file : files) {
    LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> more,
                           parse_substitutions(contents, file.string()));
    std::move(more.begin(), more.end(), std::back_inserter(result));
  }
  std::map<std::string, int> count;
  for (const Substitution& substitution : result)
    if (++count[substitution.name] > 1)
      return bad_input(
          fmt::format("{}: two substitutions are named '{}'", folder.string(), substitution.name));
  return result;
}

namespace {

/// "a (why), b (why), and 7 more".
class Refusals {
 public:
  void add(const std::string& name, const std::string& reason) {
    if (++count_ <= named) text_ += fmt::format("{}{} ({})", count_ == 1 ? "" : ", ", name, reason);
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    return count_ <= named ? text_ : fmt::format("{}, and {} more", text_, count_ - named);
  }

 private:
  static constexpr std::size_t named = 20;
  std::size_t count_ = 0;
  std::string text_;
};

std::string command(const std::filesystem::path& directory) {
  return fmt::format("run lemma rules verify --rules {} --write", directory.string());
}

/// Records that cannot be read.
template <typename T>
Result<T> or_command(const std::filesystem::path& directory, Result<T> records) {
  if (!records) records.error().message += fmt::format(": {} --axioms", command(directory));
  return records;
}

/// What rules are compared with.
struct ProvedAxioms {
  AxiomRecordTable records;
  std::map<std::string, std::string, std::less<>> unproved;  // with the reason
  RoundingTable rounding;
};

Result<ProvedAxioms> read_proved_axioms(const std::filesystem::path& directory,
                                        std::span<const Substitution> rules) {
  ProvedAxioms result;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> axioms,
                         read_substitutions(directory / "axioms", ".axioms"));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<AxiomRecord> records,
                         or_command(directory, read_axiom_records(directory / "axioms.proofs")));
  result.records = table_of(records);
  prepare_meanings(axioms, rules);
  result.unproved = axioms_without_proof(axioms, result.records);
  // A record whose axiom is gone proves nothing.
  std::map<std::string, const Substitution*, std::less<>> present;
  for (const Substitution& axiom : axioms) {
    present[axiom.name] = &axiom;
    if (!axiom.is_axiom) result.unproved[axiom.name] = "a rule among the axioms";
  }
  std::erase_if(result.records,
                [&present](const auto& entry) { return !present.contains(entry.first); });
  LEMMA_ASSIGN_OR_RETURN(result.rounding, read_rounding_table(directory));
  return result;
}

/// Why the certificate in the folder's packs is not the one on record.
std::string certificate_misfit(const ProofRecord& record, const CertificateTable& certificates,
                               const RoundingTable& rounding) {
  const auto certificate = certificates.find(record.rule);
  if (certificate == certificates.end()) return "its certificate is missing";
  if (record.certificate != certificate_digest(certificate->second.text))
    return "its certificate is not the one that was recorded";
  if (class_of_certificate(certificate->second.text) != name(worst_of(record.axioms, rounding)))
    return "axioms.rounding gives it another class than its certificate";
  return "";
}

/// Rules and their records, one by one.
class Comparison {
 public:
  Comparison(const std::vector<ProofRecord>& records, const ProvedAxioms& axioms,
             CertificateTable certificates)
      : axioms_(axioms), certificates_(std::move(certificates)) {
    for (const ProofRecord& record : records) records_[record.rule] = &record;
  }

  /// Empty if all fits, and there are both proofs or one may be missing.
  std::string refusal(const Substitution& rule, bool both) const {
    if (rule.is_axiom) return "an axiom among the rules";
    const ProofRecord* record = record_of(rule);
    if (record == nullptr) return "no record";
    if (std::string reason = misfit(*record, rule, axioms_.records, axioms_.unproved);
        !reason.empty())
      return reason;
    const bool certificate = !record->certificate.empty(), index = !record->index.empty();
    if (!certificate && (both || !index)) return "it has no certificate";
    if (!index && both) return "it has no index proof";
    return certificate ? certificate_misfit(*record, certificates_, axioms_.rounding) : "";
  }

  const ProofRecord* record_of(const Substitution& rule) const {
    const auto entry = records_.find(rule.name);
    return entry == records_.end() ? nullptr : entry->second;
  }

  /// Of a rule that is not refused.
  KeptProof kept(const Substitution& rule) const {
    const auto certificate = certificates_.find(rule.name);
    return {*record_of(rule), certificate == certificates_.end() ? "" : certificate->second.text,
            ""};
  }

 private:
  const ProvedAxioms& axioms_;
  CertificateTable certificates_;
  std::map<std::string, const ProofRecord*, std::less<>> records_;
};

Result<void> none_refused(const std::filesystem::path& directory, const ProvedAxioms& axioms,
                          const Refusals& rules) {
  Refusals of_axioms;
  for (const auto& [name, reason] : axioms.unproved) of_axioms.add(name, reason);
  if (of_axioms.empty() && rules.empty()) return {};
  std::string message = fmt::format("{}: not proved: {}", directory.string(), command(directory));
  if (!of_axioms.empty()) message += ": axioms " + of_axioms.text();
  if (!rules.empty()) message += ": rules " + rules.text();
  return bad_input(std::move(message));
}

}  // namespace

Result<std::vector<AxiomRecord>> read_axiom_records(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::vector<AxiomRecord>{};
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  return parse_axiom_file(contents, file.string());
}

Result<std::vector<ProofRecord>> read_proof_records(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return std::vector<ProofRecord>{};
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  return parse_proof_file(contents, file.string());
}

Result<std::map<std::string, KeptProof, std::less<>>> read_kept_proofs(
    const std::filesystem::path& directory) {
  std::map<std::string, KeptProof, std::less<>> result;
  const std::filesystem::path shipped = directory / "substitutions",
                              apart = directory / "one_proof";
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> rules,
                         read_substitutions(shipped, ".rules"));
  LEMMA_ASSIGN_OR_RETURN(const ProvedAxioms axioms, read_proved_axioms(directory, rules));
  const auto keep = [&](const std::vector<Substitution>& of_folder,
                        const std::filesystem::path& folder, bool both) -> Result<void> {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ProofRecord> records,
                           read_proof_records(folder.string() + ".proofs"));
    LEMMA_ASSIGN_OR_RETURN(CertificateTable certificates, read_certificates(folder));
    const Comparison comparison(records, axioms, std::move(certificates));
    for (const Substitution& rule : of_folder)
      if (comparison.refusal(rule, both).empty()) result[rule.name] = comparison.kept(rule);
    return {};
  };
  LEMMA_RETURN_IF_ERROR(keep(rules, shipped, true));
  std::error_code error;
  if (!axioms.unproved.empty() || !std::filesystem::exists(apart, error)) return result;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> others,
                         read_substitutions(apart, ".rules"));
  LEMMA_ASSIGN_OR_RETURN(const Reasons reasons, read_reasons(apart / "reasons"));
  LEMMA_RETURN_IF_ERROR(keep(others, apart, false));
  for (const Substitution& rule : others)
    if (const auto reason = reasons.find(rule.name); reason != reasons.end())
      if (const auto entry = result.find(rule.name); entry != result.end())
        entry->second.reason = reason->second;
  return result;
}

Result<RuleDatabase> load_rules(const std::filesystem::path& directory) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules,
                         read_substitutions(directory / "substitutions", ".rules"));
  LEMMA_ASSIGN_OR_RETURN(const ProvedAxioms axioms, read_proved_axioms(directory, rules));
  LEMMA_ASSIGN_OR_RETURN(
      const std::vector<ProofRecord> records,
      or_command(directory, read_proof_records(directory / "substitutions.proofs")));
  LEMMA_ASSIGN_OR_RETURN(CertificateTable certificates,
                         read_certificates(directory / "substitutions"));
  const Comparison comparison(records, axioms, std::move(certificates));
  std::vector<RoundingClass> rounding;
  Refusals refused;
  for (const Substitution& rule : rules) {
    if (const std::string reason = comparison.refusal(rule, true); !reason.empty())
      refused.add(rule.name, reason);
    else
      rounding.push_back(worst_of(comparison.record_of(rule)->axioms, axioms.rounding));
  }
  LEMMA_RETURN_IF_ERROR(none_refused(directory, axioms, refused));
  return RuleDatabase(std::move(rules), std::move(rounding));
}

Result<RuleDatabase> load_rules(std::span<const std::filesystem::path> directories) {
  RuleDatabase all;
  for (const std::filesystem::path& directory : directories) {
    LEMMA_ASSIGN_OR_RETURN(const RuleDatabase database, load_rules(directory));
    LEMMA_RETURN_IF_ERROR(all.add(database, directory.string()));
  }
  return all;
}

Result<std::vector<OneProofRule>> load_one_proof_rules(const std::filesystem::path& directory) {
  const std::filesystem::path folder = directory / "one_proof";
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return std::vector<OneProofRule>{};
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules, read_substitutions(folder, ".rules"));
  LEMMA_ASSIGN_OR_RETURN(const ProvedAxioms axioms, read_proved_axioms(directory, rules));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ProofRecord> records,
                         or_command(directory, read_proof_records(directory / "one_proof.proofs")));
  LEMMA_ASSIGN_OR_RETURN(const Reasons reasons, read_reasons(folder / "reasons"));
  LEMMA_ASSIGN_OR_RETURN(CertificateTable certificates, read_certificates(folder));
  const Comparison comparison(records, axioms, std::move(certificates));
  std::vector<OneProofRule> result;
  Refusals refused;
  for (Substitution& rule : rules) {
    std::string reason = comparison.refusal(rule, false);
    const auto given = reasons.find(rule.name);
    if (reason.empty() && given == reasons.end()) reason = "no reason is given";
    if (!reason.empty()) {
      refused.add(rule.name, reason);
      continue;
    }
    const ProofRecord& record = *comparison.record_of(rule);
    result.push_back({std::move(rule), record, given->second});
  }
  LEMMA_RETURN_IF_ERROR(none_refused(directory, axioms, refused));
  return result;
}

std::string reasons_text(const Reasons& reasons) {
  std::string result;
  for (const auto& [rule, reason] : reasons) result += fmt::format("{}: {}\n", rule, reason);
  return result;
}

Result<Reasons> read_reasons(const std::filesystem::path& file) {
  Reasons result;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return result;
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  std::istringstream lines(contents);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos)
      return bad_input(fmt::format("{}: '{}' is no line 'RULE: REASON'", file.string(), line));
    result[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return result;
}

// ---- RuleDatabase -------------------------------------------------------------------------------

RuleDatabase RuleDatabase::without_proof(std::vector<Substitution> rules, RoundingClass rounding) {
  std::vector<RoundingClass> classes(rules.size(), rounding);
  RuleDatabase result(std::move(rules), std::move(classes));
  for (const Substitution& rule : result.rules_) result.unproved_.insert(rule.name);
  return result;
}

RuleNames RuleDatabase::bitwise() const {
  RuleNames result;
  for (std::size_t i = 0; i < rules_.size(); ++i)
    if (rounding_[i] == RoundingClass::bitwise) result.insert(rules_[i].name);
  return result;
}

RuleDatabase RuleDatabase::up_to(RoundingClass worst) const {
  std::size_t next = 0;  // selected() asks in order
  return selected([&](const Substitution&) { return rounding_[next++] <= worst; });
}

RuleDatabase RuleDatabase::selected(
    const std::function<bool(const Substitution&)>& is_wanted) const {
  RuleDatabase result;
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (!is_wanted(rules_[i])) continue;
    result.rules_.push_back(rules_[i]);
    result.rounding_.push_back(rounding_[i]);
    if (unproved_.contains(rules_[i].name)) result.unproved_.insert(rules_[i].name);
  }
  return result;
}

RuleDatabase RuleDatabase::with_suggested_roles() const {
  RuleDatabase result = *this;
  result.rules_ = with_roles(rules_);
  return result;
}

Result<void> RuleDatabase::add(const RuleDatabase& others, const std::string& place) {
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < rules_.size(); ++i) known.emplace(rules_[i].name, i);
  std::vector<std::size_t> is_new;
  for (std::size_t i = 0; i < others.rules_.size(); ++i) {
    const Substitution& rule = others.rules_[i];
    const auto same = known.find(rule.name);
    if (same == known.end())
      is_new.push_back(i);
    else if (text(rules_[same->second]) != text(rule))
      return bad_input(fmt::format(
          "{}: rule '{}' is another one than the one of this name before it: give it another "
          "name, or build the one folder over the other (lemma rules build --over)",
          place, rule.name));
    else if (!others.unproved_.contains(rule.name) && unproved_.erase(rule.name) != 0)
      rounding_[same->second] = others.rounding_[i];
  }
  for (const std::size_t i : is_new) {
    rules_.push_back(others.rules_[i]);
    rounding_.push_back(others.rounding_[i]);
    if (others.unproved_.contains(rules_.back().name)) unproved_.insert(rules_.back().name);
  }
  return {};
}

}  // namespace lemma
