#include "database/write.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "database/themes.h"
#include "outputs/files.h"
#include "outputs/folder_update.h"
#include "rule_language/rule_roles.h"
#include "verifier/write_proofs.h"

namespace lemma::database {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// The text of each rule that was found, with the roles that it has among all that are shipped.
std::map<std::string, std::string> texts_of_found(const Build& build) {
  std::vector<Substitution> rules;
  for (const BuiltRule& rule : build.rules)
    if (rule.is_shipped()) rules.push_back(rule.proved.rule);
  for (const DecidedRule& rule : build.found_apart) rules.push_back(rule.rule);
  const std::size_t found_count = rules.size();
  for (const BuiltRule& rule : build.hand_written) rules.push_back(rule.proved.rule);
  rules = with_roles(rules);
  std::map<std::string, std::string> texts;
  for (std::size_t i = 0; i < found_count; ++i) texts[rules[i].name] = text_with_roles(rules[i]);
  return texts;
}

/// Basis and derived rules.
std::string rules_text(const Build& build, std::string_view theme,
                       const std::map<std::string, std::string>& texts) {
  std::string result;
  for (const BuiltRule& rule : build.rules)
    if (rule.is_shipped() && theme_of(rule.proved.rule) == theme)
      result += (result.empty() ? "" : "\n") + texts.at(rule.proved.rule.name);
  return result;
}

std::string candidate_lines(const Build& build) {
  std::string lines;
  for (const CandidateReport& report : build.candidates) {
    Json line({{"candidate", text(report.candidate)}, {"outcome", name(report.outcome)}});
    if (!report.rules.empty()) line["rules"] = report.rules;
    if (!report.conditions.empty()) line["conditions"] = report.conditions;
    if (!report.steps.empty()) line["steps"] = report.steps;
    if (!report.reason.empty()) line["reason"] = report.reason;
    if (!report.reason_class.empty()) line["class"] = report.reason_class;
    lines += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return lines;
}

std::string report_text(const std::string& name, const Build& build) {
  const RuleCounts counts = build.count_rules();
  std::map<std::string, std::size_t> classes;
  for (const CandidateReport& report : build.candidates)
    if (report.outcome == CandidateOutcome::refuted ||
        report.outcome == CandidateOutcome::conditional)
      ++classes[report.reason_class];
  return Json({{"set", name},
               {"candidates_given", build.given},
               {"trivial", build.trivial},
               {"repeated", build.repeated},
               {"candidates", build.candidates.size()},
               {"proved", build.count(CandidateOutcome::proved)},
               {"derived_from_rules_before", build.count(CandidateOutcome::derived)},
               {"proved_under_conditions", build.count(CandidateOutcome::conditional)},
               {"refuted", build.count(CandidateOutcome::refuted)},
               {"refuted_by_class", classes},
               {"unknown", build.count(CandidateOutcome::unknown)},
               {"rules", build.rules.size()},
               {"basis", counts.basis},
               {"derived_and_kept", counts.derived_and_kept},
               {"derived_and_left_out", counts.derived_and_left_out},
               {"one_proof", counts.one_proof},
               {"hand_written", counts.hand_written},
               {"hand_written_but_not_needed", build.hand_written_but_not_needed()}})
             .dump(2) +
         "\n";
}

Result<void> copy_whole(const fs::path& from, const fs::path& to) {
  std::ifstream stream(from, std::ios::binary);
  const std::string contents{std::istreambuf_iterator<char>(stream), {}};
  if (!stream) return bad_input(fmt::format("cannot read '{}'", from.string()));
  return write_file_atomically(to, contents);
}

Result<void> copy_hand_written(const std::vector<fs::path>& files, const fs::path& folder) {
  std::error_code error;
  for (const fs::path& file : files) {
    const bool is_apart = file.parent_path().filename() == "one_proof";
    const fs::path to = folder / (is_apart ? "one_proof" : "substitutions");
    if (fs::equivalent(file.parent_path(), to, error)) continue;
    LEMMA_RETURN_IF_ERROR(make_folder(to));
    LEMMA_RETURN_IF_ERROR(copy_whole(file, to / file.filename()));
  }
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
  return copy_whole(from / "axioms.rounding", to / "axioms.rounding");
}

/// What is kept of all rules, with the digests of the records.
verifier::RuleProofTable proofs_of(const Build& build, const DatabaseSources& sources) {
  verifier::RuleProofTable result;
  const AxiomRecordTable axioms = table_of(sources.axiom_records);
  const auto add = [&](const DecidedRule& rule) {
    verifier::RuleProofs& proofs = result[rule.rule.name];
    proofs = {rule.record, rule.certificate, rule.reason};
    proofs.record.digest = sealed_digest(rule.record, rule.rule, axioms);
  };
  for (const BuiltRule& rule : build.rules)
    if (rule.is_shipped()) add(rule.proved);
  for (const BuiltRule& rule : build.hand_written) add(rule.proved);
  for (const DecidedRule& rule : build.found_apart) add(rule);
  for (const DecidedRule& rule : build.hand_written_apart) add(rule);
  return result;
}

/// An empty file is none.
Result<void> replace_rules(const fs::path& file, const std::string& rules) {
  std::error_code error;
  if (!rules.empty()) return write_file_atomically(file, rules);
  fs::remove(file, error);
  return {};
}

}  // namespace

std::string derived_lines(const Build& build, std::span<const Substitution> order) {
  std::map<std::string, std::string> lines;
  const auto add = [&lines](const BuiltRule& rule, std::string_view reason) {
    lines[rule.proved.rule.name] = fmt::format("{} from {}: {}\n", rule.proved.rule.name,
                                               fmt::join(rule.derived_from, ", "), reason);
  };
  for (const BuiltRule& rule : build.rules)
    if (rule.derived && rule.is_shipped()) add(rule, rule.kept_because);
  for (const BuiltRule& rule : build.hand_written)
    if (rule.derived)
      add(rule,
          rule.is_shipped() ? rule.kept_because : "written by hand; the search finds it without");
  std::string result;
  for (const Substitution& rule : order)
    if (const auto entry = lines.find(rule.name); entry != lines.end()) result += entry->second;
  return result;
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

Result<void> check_output(const fs::path& output, const std::string& name,
                          const std::vector<fs::path>& hand_written) {
  std::error_code error;
  std::set<fs::path> others;
  for (const char* part : {"substitutions", "one_proof"})
    for (fs::directory_iterator i(output / part, error), end; !error && i != end;
         i.increment(error)) {
      const fs::path& file = i->path();
      const auto is_source = [&file](const fs::path& source) {
        std::error_code ignored;
        return fs::equivalent(source, file, ignored);
      };
      if (file.extension() != ".rules" || is_found_file(file.stem().string(), name) ||
          std::any_of(hand_written.begin(), hand_written.end(), is_source))
        continue;
      others.insert(file.filename());
    }
  if (others.empty()) return {};
  return bad_input(fmt::format(
      "{}: holds rules of another database ({}), whose proofs this one would not have; give "
      "another folder, or --hand-written {} to take them in",
      output.string(), others.begin()->string(), (output / "substitutions").string()));
}

bool is_found_file(std::string_view stem, const std::string& name) {
  if (stem == name) return true;
  return std::any_of(all_themes().begin(), all_themes().end(), [&](std::string_view theme) {
    return stem == fmt::format("{}_{}", theme, name);
  });
}

Result<void> write_database(const fs::path& output, const std::string& name, const Build& build,
                            const DatabaseSources& sources) {
  LEMMA_ASSIGN_OR_RETURN(FolderUpdate update, FolderUpdate::begin(output));
  const fs::path& folder = update.copy();
  LEMMA_RETURN_IF_ERROR(make_folder(folder / "substitutions"));
  LEMMA_RETURN_IF_ERROR(copy_axioms(sources.axioms, folder));
  LEMMA_RETURN_IF_ERROR(copy_hand_written(sources.hand_written, folder));
  const fs::path rules = folder / "substitutions";
  const std::map<std::string, std::string> texts = texts_of_found(build);
  for (const std::string_view theme : all_themes())
    LEMMA_RETURN_IF_ERROR(replace_rules(rules / fmt::format("{}_{}.rules", theme, name),
                                        rules_text(build, theme, texts)));
  std::string apart;
  for (const DecidedRule& rule : build.found_apart)
    apart += (apart.empty() ? "" : "\n") + texts.at(rule.rule.name);
  if (!apart.empty()) LEMMA_RETURN_IF_ERROR(make_folder(folder / "one_proof"));
  LEMMA_RETURN_IF_ERROR(replace_rules(folder / "one_proof" / (name + ".rules"), apart));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> in_order,
                         read_substitutions(rules, ".rules"));
  LEMMA_RETURN_IF_ERROR(
      write_file_atomically(folder / "substitutions.derived", derived_lines(build, in_order)));
  LEMMA_RETURN_IF_ERROR(
      write_file_atomically(folder / (name + ".candidates"), candidate_lines(build)));
  LEMMA_RETURN_IF_ERROR(
      write_file_atomically(folder / (name + ".report"), report_text(name, build)));
  LEMMA_RETURN_IF_ERROR(
      verifier::write_proofs_into(folder, proofs_of(build, sources), sources.axiom_records));
  return update.publish();
}

}  // namespace lemma::database
