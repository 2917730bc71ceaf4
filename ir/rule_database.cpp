#include "ir/rule_database.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "ir/sha256.h"

namespace lemma {
namespace {

constexpr std::string_view file_heading =
    "# Records of proofs, a line a rule: written by `lemma rules verify --write`, not by hand.\n"
    "# A rule is loaded only if its text and those of the axioms have the digests given here.\n";

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : ",") + word;
  return result.empty() ? "-" : result;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <typename T>
Result<T> number(std::string_view text, int base) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size())
    return bad_input(fmt::format("'{}' is not a number", text));
  return value;
}

std::vector<std::string> list(std::string_view text) {
  return text == "-" ? std::vector<std::string>{} : split(text, ',');
}

}  // namespace

std::uint64_t text_digest(std::string_view text) {
  std::uint64_t digest = 0xcbf29ce484222325U;
  for (const char c : text) {
    digest ^= static_cast<unsigned char>(c);
    digest *= 0x100000001b3U;
  }
  return digest;
}

std::string certificate_digest(std::string_view certificate) { return sha256(certificate); }

std::uint64_t axioms_digest(std::span<const Substitution* const> axioms) {
  std::string all;
  for (const Substitution* axiom : axioms) all += text(*axiom) + "\n";
  return text_digest(all);
}

std::string text(const ProofRecord& record) {
  return fmt::format(
      "{} text={:016x} axioms={:016x} cases={} groups={} uses={} certificate={} version={}",
      record.rule, record.rule_digest, record.axioms_digest, record.cases, joined(record.groups),
      joined(record.axioms), record.certificate.empty() ? "-" : record.certificate, record.version);
}

Result<ProofRecord> parse_proof_record(std::string_view line) {
  const std::vector<std::string> words = split(line, ' ');
  std::map<std::string, std::string, std::less<>> fields;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == std::string::npos) return bad_input(fmt::format("'{}' is no field", words[i]));
    fields[words[i].substr(0, equals)] = words[i].substr(equals + 1);
  }
  for (const char* name : {"version", "text", "axioms", "cases", "groups", "uses"})
    if (!fields.contains(name)) return bad_input(fmt::format("the field '{}' is missing", name));
  ProofRecord record;
  record.rule = words[0];
  LEMMA_ASSIGN_OR_RETURN(record.rule_digest, number<std::uint64_t>(fields["text"], 16));
  LEMMA_ASSIGN_OR_RETURN(record.axioms_digest, number<std::uint64_t>(fields["axioms"], 16));
  LEMMA_ASSIGN_OR_RETURN(record.cases, number<std::size_t>(fields["cases"], 10));
  LEMMA_ASSIGN_OR_RETURN(record.version, number<int>(fields["version"], 10));
  record.groups = list(fields["groups"]);
  record.axioms = list(fields["uses"]);
  if (fields.contains("certificate") && fields["certificate"] != "-")
    record.certificate = fields["certificate"];  // older versions had none, and are refused
  return record;
}

std::string proof_file_text(std::span<const ProofRecord> records) {
  std::string result(file_heading);
  for (const ProofRecord& record : records) result += text(record) + "\n";
  return result;
}

Result<std::vector<ProofRecord>> parse_proof_file(std::string_view contents,
                                                  std::string_view file) {
  std::vector<ProofRecord> records;
  std::size_t number_of_line = 0;
  for (std::size_t begin = 0; begin < contents.size();) {
    const std::size_t end = std::min(contents.find('\n', begin), contents.size());
    const std::string_view line = contents.substr(begin, end - begin);
    begin = end + 1;
    ++number_of_line;
    if (line.empty() || line.front() == '#') continue;
    auto record = parse_proof_record(line);
    if (!record)
      return with_context(fmt::format("{}:{}", file, number_of_line), std::move(record.error()));
    records.push_back(std::move(*record));
  }
  return records;
}

Result<std::string> read_text_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return bad_input(fmt::format("cannot read '{}'", file.string()));
  std::ostringstream contents;
  contents << stream.rdbuf();
  if (stream.bad()) return bad_input(fmt::format("cannot read '{}'", file.string()));
  return std::move(contents).str();
}

Result<std::vector<Substitution>> read_substitutions(const std::filesystem::path& folder,
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

using AxiomTable = std::map<std::string, const Substitution*, std::less<>>;

/// Why the record does not prove the rule; empty if it does.
std::string misfit(const Substitution& rule, const ProofRecord& record, const AxiomTable& axioms) {
  if (record.version != proof_version) return "proved by another version of the verifier";
  if (record.rule_digest != text_digest(text(rule))) return "changed since it was proved";
  std::vector<const Substitution*> used;
  for (const std::string& name : record.axioms) {
    const auto found = axioms.find(name);
    if (found == axioms.end()) return fmt::format("its axiom '{}' is gone", name);
    used.push_back(found->second);
  }
  if (record.axioms_digest != axioms_digest(used)) return "an axiom changed since it was proved";
  return "";
}

}  // namespace

Result<RuleDatabase> load_rules(const std::filesystem::path& directory) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> axioms,
                         read_substitutions(directory / "axioms", ".axioms"));
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules,
                         read_substitutions(directory / "substitutions", ".rules"));
  const std::filesystem::path proofs = directory / "substitutions.proofs";
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(proofs));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ProofRecord> records,
                         parse_proof_file(contents, proofs.string()));
  AxiomTable axiom_table;
  for (const Substitution& axiom : axioms) axiom_table[axiom.name] = &axiom;
  std::map<std::string, const ProofRecord*, std::less<>> record_table;
  for (const ProofRecord& record : records) record_table[record.rule] = &record;
  LEMMA_ASSIGN_OR_RETURN(const RoundingTable rounding_table, read_rounding_table(directory));
  std::vector<RoundingClass> rounding;
  std::string unproved;
  for (const Substitution& rule : rules) {
    const auto found = record_table.find(rule.name);
    const std::string reason = rule.is_axiom ? "an axiom among the rules"
                               : found == record_table.end()
                                   ? "no record"
                                   : misfit(rule, *found->second, axiom_table);
    if (!reason.empty())
      unproved += fmt::format("{}{} ({})", unproved.empty() ? "" : ", ", rule.name, reason);
    else
      rounding.push_back(worst_of(found->second->axioms, rounding_table));
  }
  if (!unproved.empty())
    return bad_input(
        fmt::format("{}: not proved: run lemma rules verify: {}", directory.string(), unproved));
  return RuleDatabase(std::move(rules), std::move(rounding));
}

std::vector<Substitution> RuleDatabase::up_to(RoundingClass worst) const {
  std::vector<Substitution> result;
  for (std::size_t i = 0; i < rules_.size(); ++i)
    if (rounding_[i] <= worst) result.push_back(rules_[i]);
  return result;
}

}  // namespace lemma
