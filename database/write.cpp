#include "database/write.h"

#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace lemma::database {
namespace {

using Json = nlohmann::ordered_json;
using Fate = CandidateReport::Fate;
namespace fs = std::filesystem;

/// A file is there in full or as it was before.
Result<void> replace_file(const fs::path& target, const std::string& contents) {
  fs::path draft = target;
  draft += ".new";
  {
    std::ofstream stream(draft, std::ios::binary | std::ios::trunc);
    stream << contents;
    stream.flush();
    if (!stream) return bad_input(fmt::format("cannot write '{}'", draft.string()));
  }
  std::error_code error;
  fs::rename(draft, target, error);
  if (error)
    return bad_input(fmt::format("cannot replace '{}': {}", target.string(), error.message()));
  return {};
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return bad_input(fmt::format("cannot make '{}': {}", folder.string(), error.message()));
  return {};
}

std::string rules_text(const Build& build, bool derived) {
  std::string result;
  for (const BuiltRule& rule : build.rules)
    if (rule.derived == derived && rule.is_shipped())
      result += (result.empty() ? "" : "\n") + text(rule.proved.rule);
  return result;
}

std::string candidate_lines(const Build& build) {
  std::string lines;
  for (const CandidateReport& one : build.candidates) {
    Json line({{"candidate", text(one.candidate)}, {"fate", name(one.fate)}});
    if (!one.rules.empty()) line["rules"] = one.rules;
    if (!one.conditions.empty()) line["conditions"] = one.conditions;
    if (!one.steps.empty()) line["steps"] = one.steps;
    if (!one.reason.empty()) line["reason"] = one.reason;
    if (!one.reason_class.empty()) line["class"] = one.reason_class;
    lines += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return lines;
}

std::vector<std::string> stated_but_not_needed(const Build& build) {
  std::vector<std::string> names;
  for (const BuiltRule& rule : build.stated)
    if (!rule.is_shipped()) names.push_back(rule.proved.rule.name);
  return names;
}

std::string report_text(const std::string& name, const Build& build) {
  std::size_t basis = 0, kept = 0, left_out = 0;
  for (const BuiltRule& rule : build.rules)
    ++(!rule.derived ? basis : rule.is_shipped() ? kept : left_out);
  std::map<std::string, std::size_t> classes;
  for (const CandidateReport& one : build.candidates)
    if (one.fate == Fate::refuted || one.fate == Fate::conditional) ++classes[one.reason_class];
  return Json({{"set", name},
               {"candidates_given", build.given},
               {"trivial", build.trivial},
               {"repeated", build.repeated},
               {"candidates", build.candidates.size()},
               {"proved", build.count(Fate::proved)},
               {"derived_from_rules_before", build.count(Fate::derived)},
               {"proved_under_conditions", build.count(Fate::conditional)},
               {"refuted", build.count(Fate::refuted)},
               {"refuted_by_class", classes},
               {"unknown", build.count(Fate::unknown)},
               {"rules", build.rules.size()},
               {"basis", basis},
               {"derived_and_kept", kept},
               {"derived_and_left_out", left_out},
               {"stated", build.stated.size()},
               {"stated_but_not_needed", stated_but_not_needed(build)}})
             .dump(2) +
         "\n";
}

Result<void> copy_whole(const fs::path& from, const fs::path& to) {
  std::ifstream stream(from, std::ios::binary);
  const std::string contents{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) return bad_input(fmt::format("cannot read '{}'", from.string()));
  return replace_file(to, contents);
}

Result<void> copy_files(const std::vector<fs::path>& files, const fs::path& to) {
  std::error_code error;
  for (const fs::path& file : files)
    if (!fs::equivalent(file.parent_path(), to, error))
      LEMMA_RETURN_IF_ERROR(copy_whole(file, to / file.filename()));
  return {};
}

Result<void> copy_axioms(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::equivalent(from, to, error)) return {};
  LEMMA_RETURN_IF_ERROR(make_folder(to / "axioms"));
  std::set<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(from / "axioms", error))
    if (entry.path().extension() == ".axioms") files.insert(entry.path());
  for (const fs::path& file : files)
    LEMMA_RETURN_IF_ERROR(copy_whole(file, to / "axioms" / file.filename()));
  for (const char* file : {"axioms.rounding", "axioms.proofs"})
    LEMMA_RETURN_IF_ERROR(copy_whole(from / file, to / file));
  return {};
}

/// As `lemma rules verify --write` has them: file by file.
Result<std::vector<ProofRecord>> in_order_of_rules(
    const fs::path& folder, const std::map<std::string, ProofRecord>& records) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> rules,
                         read_substitutions(folder, ".rules"));
  std::vector<ProofRecord> result;
  for (const Substitution& rule : rules)
    if (const auto record = records.find(rule.name); record != records.end())
      result.push_back(record->second);
  return result;
}

/// Certificates of an earlier build.
void remove_other_certificates(const fs::path& folder, const std::set<std::string>& names) {
  std::error_code error;
  std::vector<fs::path> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".certificate" && !names.contains(entry.path().stem().string()))
      others.push_back(entry.path());
  for (const fs::path& other : others) fs::remove(other, error);
}

}  // namespace

std::string derived_lines(const Build& build) {
  std::string lines;
  const auto add = [&lines](const BuiltRule& rule, std::string_view reason) {
    lines += fmt::format("{} from {}: {}\n", rule.proved.rule.name,
                         fmt::join(rule.derived_from, ", "), reason);
  };
  for (const BuiltRule& rule : build.rules)
    if (rule.derived && rule.is_shipped()) add(rule, rule.kept_because);
  for (const BuiltRule& rule : build.stated)
    if (rule.derived)
      add(rule,
          rule.is_shipped() ? rule.kept_because : "stated by hand; the search finds it without");
  return lines;
}

Result<std::vector<DerivedMark>> parse_derived_lines(std::string_view contents,
                                                     std::string_view file) {
  std::vector<DerivedMark> result;
  std::size_t number = 0;
  while (!contents.empty()) {
    const std::size_t end = std::min(contents.find('\n'), contents.size());
    const std::string line(contents.substr(0, end));
    contents.remove_prefix(std::min(end + 1, contents.size()));
    ++number;
    const std::size_t from = line.find(" from "), colon = line.find(": ");
    if (from == std::string::npos || colon == std::string::npos || colon < from)
      return bad_input(
          fmt::format("{}:{}: not a line 'RULE from RULE, ...: REASON'", file, number));
    DerivedMark mark{line.substr(0, from), {}, line.substr(colon + 2)};
    for (std::size_t at = from + 6; at < colon;) {
      const std::size_t stop = std::min(line.find(", ", at), colon);
      mark.from.push_back(line.substr(at, stop - at));
      at = stop + 2;
    }
    result.push_back(std::move(mark));
  }
  return result;
}

Result<void> write_database(const fs::path& folder, const std::string& name, const Build& build,
                            const DatabaseSources& sources) {
  LEMMA_RETURN_IF_ERROR(make_folder(folder / "substitutions"));
  LEMMA_RETURN_IF_ERROR(make_folder(folder / "certificates"));
  LEMMA_RETURN_IF_ERROR(copy_axioms(sources.axioms, folder));
  LEMMA_RETURN_IF_ERROR(copy_files(sources.stated, folder / "substitutions"));
  std::map<std::string, ProofRecord> records;
  std::set<std::string> names;
  const auto add = [&](const BuiltRule& rule) {
    const std::string& rule_name = rule.proved.rule.name;
    names.insert(rule_name);
    records.emplace(rule_name, rule.proved.record);
    return replace_file(folder / "certificates" / (rule_name + ".certificate"),
                        rule.proved.certificate);
  };
  for (const bool derived : {false, true})
    for (const BuiltRule& rule : build.rules)
      if (rule.derived == derived && rule.is_shipped()) LEMMA_RETURN_IF_ERROR(add(rule));
  for (const BuiltRule& rule : build.stated) LEMMA_RETURN_IF_ERROR(add(rule));
  remove_other_certificates(folder / "certificates", names);
  const fs::path derived = folder / "substitutions" / (name + "_derived.rules");
  const std::string derived_rules = rules_text(build, true);
  std::error_code error;
  if (derived_rules.empty())
    fs::remove(derived, error);
  else
    LEMMA_RETURN_IF_ERROR(replace_file(derived, derived_rules));
  LEMMA_RETURN_IF_ERROR(
      replace_file(folder / "substitutions" / (name + ".rules"), rules_text(build, false)));
  LEMMA_RETURN_IF_ERROR(replace_file(folder / "substitutions.derived", derived_lines(build)));
  LEMMA_RETURN_IF_ERROR(replace_file(folder / (name + ".candidates"), candidate_lines(build)));
  LEMMA_RETURN_IF_ERROR(replace_file(folder / (name + ".report"), report_text(name, build)));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ProofRecord> in_order,
                         in_order_of_rules(folder / "substitutions", records));
  return replace_file(folder / "substitutions.proofs", proof_file_text(in_order));
}

}  // namespace lemma::database
