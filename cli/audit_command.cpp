#include "cli/commands.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "report/audit_pages.h"
#include "report/proof_text.h"
#include "report/table.h"
#include "rule_language/rule_database.h"
#include "system/parallel.h"
#include "targets/data_files.h"
#include "verifier/checker/replay.h"
#include "verifier/index/prove_axiom.h"
#include "verifier/prover/counterexample.h"

namespace lemma {
namespace {

using Json = nlohmann::ordered_json;

struct AuditArguments {
  std::string directory;  // empty: the shipped one
  std::vector<std::string> rules;
  std::string axiom;
  std::vector<std::string> counterexamples;  // files
  std::string pages;                         // folder for HTML
  std::string chosen;  // a case: its number, or what stands between "case" and "->"
  bool all_cases = false, json = false;
};

struct Audit {
  std::string rule;
  std::string failure;  // why the certificate does not hold; empty if it does
  checker::Certificate certificate;
  std::vector<std::string> cases;  // their lines
  std::size_t steps = 0;
  std::map<std::string, std::size_t> axioms;  // names, and how many steps use them
  double seconds = 0;
};

struct Database {
  std::vector<Substitution> axioms, rules;
  checker::AxiomTable table;
  RoundingTable rounding;
  CertificateTable certificates;
};

Result<Database> read_database(const std::filesystem::path& directory) {
  Database result;
  LEMMA_ASSIGN_OR_RETURN(result.axioms, read_substitutions(directory / "axioms", ".axioms"));
  LEMMA_ASSIGN_OR_RETURN(result.rules, read_substitutions(directory / "substitutions", ".rules"));
  for (const Substitution& axiom : result.axioms) result.table[axiom.name] = &axiom;
  LEMMA_ASSIGN_OR_RETURN(result.rounding, read_rounding_table(directory));
  LEMMA_ASSIGN_OR_RETURN(result.certificates, read_certificates(directory / "substitutions"));
  return result;
}

/// Reads and replays the certificate of a rule.
Result<void> audit(const Substitution& rule, const Database& database, Digests& digests,
                   Audit& result) {
  const auto section = database.certificates.find(rule.name);
  if (section == database.certificates.end()) return bad_input("there is no certificate");
  LEMMA_ASSIGN_OR_RETURN(result.certificate,
                         checker::parse_certificate(section->second.text, database.table, digests,
                                                    section->second.line));
  if (text(result.certificate.rule) != text(rule))
    return bad_input("the certificate is for another text");
  for (std::size_t i = 0; i < result.certificate.case_count; ++i)
    for (const checker::Step& step : result.certificate.chains[result.certificate.chain_of(i)]) {
      ++result.steps;
      ++result.axioms[step.axiom->name];
    }
  LEMMA_RETURN_IF_ERROR(checker::check_rounding(result.certificate, database.rounding));
  LEMMA_ASSIGN_OR_RETURN(result.cases, checker::check(result.certificate));
  return {};
}

std::vector<Audit> audit_all(const std::vector<const Substitution*>& rules,
                             const Database& database) {
  std::vector<Audit> result;
  Digests digests;
  for (const Substitution* rule : rules) {
    Audit& rule_audit = result.emplace_back();
    rule_audit.rule = rule->name;
    const auto begin = std::chrono::steady_clock::now();
    if (auto held = audit(*rule, database, digests, rule_audit); !held)
      rule_audit.failure = std::move(held.error().message);
    rule_audit.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return result;
}

std::string joined(const std::map<std::string, std::size_t>& axioms) {
  std::string result;
  for (const auto& [name, steps] : axioms) result += (result.empty() ? "" : ", ") + name;
  return result;
}

std::string_view rounding_of(const Audit& audit, const Database& database) {
  std::vector<std::string> names;
  for (const auto& [name, steps] : audit.axioms) names.push_back(name);
  return name(worst_of(names, database.rounding));
}

Json summary(const Audit& audit, const Database& database) {
  return {{"rule", audit.rule},      {"verdict", audit.failure.empty() ? "proved" : "refused"},
          {"reason", audit.failure}, {"cases", audit.certificate.case_count},
          {"steps", audit.steps},    {"rounding", rounding_of(audit, database)},
          {"axioms", audit.axioms}};
}

// ---- The whole database -----------------------------------------------------------------------

void print_table(const std::vector<Audit>& audits, const Database& database) {
  using enum Table::Align;
  Table table({"rule", "certificate", "cases", "chains", "steps", "rounding", "axioms"},
              {left, left, right, right, right, left, left});
  std::size_t held = 0;
  for (const Audit& audit : audits) {
    held += audit.failure.empty() ? 1 : 0;
    table.add({audit.rule, audit.failure.empty() ? "holds" : "refused",
               fmt::format("{}", audit.certificate.case_count),
               fmt::format("{}", audit.certificate.chains.size()), fmt::format("{}", audit.steps),
               std::string(rounding_of(audit, database)),
               audit.failure.empty() ? joined(audit.axioms) : audit.failure});
  }
  std::cout << table.text()
            << fmt::format("{} of {} certificates hold; {} axioms\n", held, audits.size(),
                           database.axioms.size());
}

// ---- What rests on an axiom -------------------------------------------------------------------

ExitCode audit_axiom(const AuditArguments& arguments, const std::vector<Audit>& audits,
                     const Database& database) {
  const auto axiom = database.table.find(arguments.axiom);
  Json list = Json::array();
  using enum Table::Align;
  Table table({"rule", "cases", "steps with it", "of"}, {left, right, right, right});
  for (const Audit& audit : audits) {
    const auto used = audit.axioms.find(arguments.axiom);
    if (used == audit.axioms.end()) continue;
    list.push_back({{"rule", audit.rule}, {"steps_with_it", used->second}, {"steps", audit.steps}});
    table.add({audit.rule, fmt::format("{}", audit.certificate.case_count),
               fmt::format("{}", used->second), fmt::format("{}", audit.steps)});
  }
  if (arguments.json) {
    std::cout << Json({{"axiom", arguments.axiom}, {"text", text(*axiom->second)}, {"rules", list}})
                     .dump(2)
              << "\n";
    return ExitCode::done;
  }
  std::cout << text(*axiom->second) << "\n" << table.text();
  std::cout << fmt::format("{} of {} proofs depend on it\n", list.size(), audits.size());
  return ExitCode::done;
}

// ---- Rules ------------------------------------------------------------------------------------

/// The case that shows most: of those with the most axes, the first.
std::size_t telling_case(const std::vector<RuleCase>& cases) {
  std::size_t best = 0, most = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::size_t axes = 0;
    for (const auto& [name, shape] : cases[i].bindings.groups)
      axes += std::min<std::size_t>(shape.size(), 2);
    if (axes <= most) continue;
    best = i;
    most = axes;
  }
  return best;
}

Result<std::vector<std::size_t>> chosen_cases(const AuditArguments& arguments,
                                              const std::vector<RuleCase>& cases) {
  std::vector<std::size_t> result;
  std::size_t number = 0;
  const std::string& chosen = arguments.chosen;
  const auto [end, error] = std::from_chars(chosen.data(), chosen.data() + chosen.size(), number);
  const bool is_number = error == std::errc() && end == chosen.data() + chosen.size();
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (arguments.all_cases || cases[i].text == chosen || (is_number && number == i + 1))
      result.push_back(i);
  if (chosen.empty() && !arguments.all_cases) result = {telling_case(cases)};
  if (result.empty())
    return bad_input(fmt::format("there is no case '{}' among {}", chosen, cases.size()));
  return result;
}

Result<void> print_rule(const AuditArguments& arguments, const Audit& audit,
                        const Database& database, Json& list) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RuleCase> cases, required_cases(audit.certificate.rule));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::size_t> chosen, chosen_cases(arguments, cases));
  if (arguments.json) {
    Json shown = Json::array();
    for (const std::size_t index : chosen) {
      LEMMA_ASSIGN_OR_RETURN(Json json, case_json(audit.certificate, cases, index));
      shown.push_back(std::move(json));
    }
    Json json = summary(audit, database);
    json["text"] = text(audit.certificate.rule);
    json["shown_cases"] = std::move(shown);
    list.push_back(std::move(json));
    return {};
  }
  std::cout << text(audit.certificate.rule)
            << fmt::format("holds over the reals: {} cases, {} steps; an instance:{}\n",
                           cases.size(), audit.steps,
                           audit.certificate.witness.empty() ? " any" : audit.certificate.witness)
            << fmt::format("rounding: {}\n", rounding_of(audit, database))
            << fmt::format("rests on: {}\n", joined(audit.axioms));
  for (const std::size_t index : chosen) {
    LEMMA_ASSIGN_OR_RETURN(const std::string shown, case_text(audit.certificate, cases, index));
    std::cout << "\n" << shown;
  }
  std::cout << "\n";
  return {};
}

ExitCode audit_rules(const AuditArguments& arguments, const std::vector<Audit>& audits,
                     const Database& database) {
  ExitCode code = ExitCode::done;
  Json list = Json::array();
  for (const Audit& audit : audits) {
    if (!audit.failure.empty()) {
      std::cerr << error_line(audit.rule, audit.failure) << "\n";
      code = ExitCode::check_failed;
      if (arguments.json) list.push_back(summary(audit, database));
      continue;
    }
    if (const auto printed = print_rule(arguments, audit, database, list); !printed)
      return report_error(printed.error());
  }
  if (arguments.json) std::cout << Json({{"rules", list}}).dump(2) << "\n";
  return code;
}

// ---- Counterexamples --------------------------------------------------------------------------

Result<verifier::ReplayedCounterexample> read_counterexample(const std::string& file) {
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  return verifier::replay_counterexample(contents);
}

/// Evaluates both sides of each again, and shows what is found.
ExitCode audit_counterexamples(const AuditArguments& arguments) {
  ExitCode code = ExitCode::done;
  Json list = Json::array();
  for (const std::string& file : arguments.counterexamples) {
    const auto replayed = read_counterexample(file);
    if (!replayed)
      return report_error({ErrorKind::bad_input, file + ": " + replayed.error().message});
    if (!replayed->holds()) code = ExitCode::check_failed;
    const std::string evaluated =
        replayed->evaluated.empty() ? "both sides are equal" : replayed->evaluated;
    list.push_back({{"rule", replayed->rule.name},
                    {"values", replayed->values},
                    {"inputs", replayed->inputs},
                    {"claimed", replayed->difference},
                    {"found", evaluated},
                    {"holds", replayed->holds()}});
    if (arguments.json) continue;
    std::cout << text(replayed->rule) << "at " << replayed->values << "\n";
    for (const std::string& input : replayed->inputs) std::cout << "  " << input << "\n";
    std::cout << fmt::format("evaluated now: {}\n", evaluated);
    if (!replayed->holds()) std::cout << fmt::format("the file says: {}\n", replayed->difference);
    std::cout << "\n";
  }
  if (arguments.json) std::cout << Json({{"counterexamples", list}}).dump(2) << "\n";
  return code;
}

Result<std::vector<const Substitution*>> chosen_rules(const AuditArguments& arguments,
                                                      const Database& database) {
  std::vector<const Substitution*> result;
  if (arguments.rules.empty())
    for (const Substitution& rule : database.rules) result.push_back(&rule);
  for (const std::string& name : arguments.rules) {
    const auto named =
        std::find_if(database.rules.begin(), database.rules.end(),
                     [&name](const Substitution& rule) { return rule.name == name; });
    if (named == database.rules.end()) return bad_input(fmt::format("no rule '{}'", name));
    result.push_back(&*named);
  }
  return result;
}

// ---- Pages ------------------------------------------------------------------------------------

/// The candidates that a build of the database refuted, as *.candidates say, and the counterexamples given.
Result<std::vector<RefutedRule>> refuted_rules(const AuditArguments& arguments,
                                               const std::filesystem::path& directory) {
  std::vector<RefutedRule> result;
  LEMMA_ASSIGN_OR_RETURN(const auto files, files_with_extension(directory, ".candidates"));
  for (const std::filesystem::path& file : files) {
    LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
    std::istringstream lines(contents);
    for (std::string line; std::getline(lines, line);) {
      const Json record = Json::parse(line, nullptr, false);
      if (!record.is_object() || record.value("outcome", "") != "refuted") continue;
      const std::string candidate = record.value("candidate", "");
      if (!candidate.starts_with("rule ")) continue;
      result.push_back({candidate, record.value("reason", ""), "", {}, file.filename().string()});
    }
  }
  for (const std::string& file : arguments.counterexamples) {
    auto replayed = read_counterexample(file);
    if (!replayed) return with_context(file, std::move(replayed.error()));
    result.push_back({text(replayed->rule),
                      replayed->evaluated.empty() ? "evaluated now: both sides are equal"
                                                  : "evaluated now: " + replayed->evaluated,
                      replayed->values, replayed->inputs,
                      std::filesystem::path(file).filename().string()});
  }
  return result;
}

/// The rules with an index proof on record.
Result<std::set<std::string>> rules_with_index_proof(const std::filesystem::path& directory) {
  LEMMA_ASSIGN_OR_RETURN(const auto records,
                         read_proof_records(directory / "substitutions.proofs"));
  std::set<std::string> result;
  for (const ProofRecord& record : records)
    if (!record.index.empty()) result.insert(record.rule);
  return result;
}

/// The first case with the fewest axes that still has some.
std::size_t simplest_case(const std::vector<RuleCase>& cases) {
  const auto axes = [](const RuleCase& rule_case) {
    std::size_t count = 0;
    for (const auto& [name, shape] : rule_case.bindings.groups) count += shape.size();
    return count;
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < cases.size(); ++i)
    if (axes(cases[i]) > 0 && (axes(cases[best]) == 0 || axes(cases[i]) < axes(cases[best])))
      best = i;
  return best;
}

Result<void> write_pages(const AuditArguments& arguments, const std::filesystem::path& directory,
                         const std::vector<const Substitution*>& rules,
                         const std::vector<Audit>& audits, const Database& database) {
  LEMMA_ASSIGN_OR_RETURN(const auto with_index_proof, rules_with_index_proof(directory));
  std::vector<AuditedRule> pages;
  for (std::size_t i = 0; i < audits.size(); ++i) {
    AuditedRule& page = pages.emplace_back();
    page.rule = rules[i];
    page.failure = audits[i].failure;
    page.axioms = audits[i].axioms;
    page.steps = audits[i].steps;
    page.rounding = rounding_of(audits[i], database);
    if (!page.failure.empty()) continue;
    page.certificate = &audits[i].certificate;
    page.cases = audits[i].cases;
    page.index_on_record = with_index_proof.contains(rules[i]->name);
  }
  LEMMA_RETURN_IF_ERROR(parallel_try(pages.size(), 0, [&pages](std::size_t i) -> Result<void> {
    if (!pages[i].failure.empty()) return {};
    LEMMA_ASSIGN_OR_RETURN(const std::vector<RuleCase> cases, required_cases(*pages[i].rule));
    pages[i].shown_case = telling_case(cases);
    const RuleCase& simplest = cases[simplest_case(cases)];
    pages[i].index_case_text = simplest.text;
    pages[i].index_case = verifier::show_index_case(*pages[i].rule, simplest);
    return {};
  }));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RefutedRule> refuted,
                         refuted_rules(arguments, directory));
  return write_audit_pages(arguments.pages, pages, database.axioms, refuted, database.rounding);
}

ExitCode run_audit(const AuditArguments& arguments) {
  if (!arguments.counterexamples.empty() && arguments.pages.empty())
    return audit_counterexamples(arguments);
  const std::filesystem::path directory = arguments.directory.empty()
                                              ? data_directory() / "rules"
                                              : std::filesystem::path(arguments.directory);
  FilePlan plan;
  plan.fills(arguments.pages, "--html");
  for (const std::string& file : arguments.counterexamples) plan.reads(file, "--counterexample");
  if (const auto files = plan.check(); !files) return report_error(files.error());
  const auto database = read_database(directory);
  if (!database) return report_error(database.error());
  const auto rules = chosen_rules(arguments, *database);
  if (!rules) return report_error(rules.error());
  if (!arguments.axiom.empty() && !database->table.contains(arguments.axiom))
    return report_error({ErrorKind::bad_input, fmt::format("no axiom '{}'", arguments.axiom)});
  const std::vector<Audit> audits = audit_all(*rules, *database);
  if (!arguments.pages.empty())
    if (const auto written = write_pages(arguments, directory, *rules, audits, *database); !written)
      return report_error(written.error());
  if (!arguments.axiom.empty()) return audit_axiom(arguments, audits, *database);
  if (!arguments.rules.empty()) return audit_rules(arguments, audits, *database);
  Json list = Json::array();
  for (const Audit& audit : audits) list.push_back(summary(audit, *database));
  if (arguments.json)
    std::cout << Json({{"axioms", database->axioms.size()}, {"rules", list}}).dump(2) << "\n";
  else
    print_table(audits, *database);
  const bool all = std::all_of(audits.begin(), audits.end(),
                               [](const Audit& audit) { return audit.failure.empty(); });
  return all ? ExitCode::done : ExitCode::check_failed;
}

}  // namespace

void add_audit_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand("audit", "replay proofs and show them step by step");
  auto arguments = std::make_shared<AuditArguments>();
  command->add_option("rule", arguments->rules, "rules to show (default: a table of all rules)");
  command->add_option("--rules", arguments->directory, "folder of axioms, rules and certificates");
  command->add_option("--axiom", arguments->axiom, "list the proofs that depend on this axiom");
  command->add_option("--counterexample", arguments->counterexamples,
                      "evaluate counterexamples written by `lemma rules verify --counterexamples` "
                      "again; with --html, "
                      "on a page");
  command->add_option("--html", arguments->pages,
                      "write a page for each rule and axiom, with an index, to this folder");
  auto* chosen = command->add_option("--case", arguments->chosen,
                                     "case to show: its number or its values (A=[A.0])");
  command->add_flag("--all-cases", arguments->all_cases, "show all cases")->excludes(chosen);
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] { exit_code = run_audit(*arguments); });
}

}  // namespace lemma
