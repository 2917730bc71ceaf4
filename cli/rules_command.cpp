#include "cli/commands.h"

#include <iostream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "batch/resource_use.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "cli/rank_job.h"
#include "outputs/files.h"
#include "report/rule_verdicts.h"
#include "report/table.h"
#include "report/verdicts_page.h"
#include "rule_language/rule_database.h"
#include "targets/data_files.h"
#include "verifier/conditions/infer.h"
#include "verifier/index/solver.h"
#include "verifier/index/solver_process.h"
#include "verifier/prover/sampling.h"
#include "verifier/verify_database.h"
#include "verifier/write_proofs.h"

namespace lemma {

namespace {

using Json = nlohmann::ordered_json;
using verifier::DatabaseVerification;
using verifier::VerifiedRule;

struct RulesArguments {
  std::string directory;     // empty: the shipped one
  std::string file;          // rules to verify instead of those of the folder
  std::string verdicts;      // file for one JSON line a rule
  std::string page;          // file for a page with pictures of the rules
  std::string certificates;  // folder for those of the rules of `file`
  std::string counterexamples;
  bool write = false, json = false, one_proof = false;
  verifier::VerifyOptions options;
};

std::filesystem::path directory_of(const RulesArguments& arguments) {
  return arguments.directory.empty() ? data_directory() / "rules"
                                     : std::filesystem::path(arguments.directory);
}

void print_index_proofs(const DatabaseVerification& verification) {
  using enum Table::Align;
  Table table({"axiom", "index proof", "cases", "ranks by axes", "seconds"},
              {left, left, right, right, right});
  std::size_t proved = 0, cases = 0;
  for (const verifier::VerifiedAxiom& axiom : verification.index_proofs) {
    proved += axiom.proof.proved ? 1 : 0;
    cases += axiom.proof.cases;
    table.add({axiom.name, axiom.proof.proved ? "proved" : "not proved",
               fmt::format("{}", axiom.proof.cases), fmt::format("{}", axiom.proof.by_axes),
               fmt::format("{:.2f}", axiom.seconds)});
  }
  std::cout << table.text();
  std::cout << fmt::format("{} of {} axioms have an index proof: {} cases, {:.1f} seconds\n",
                           proved, verification.index_proofs.size(), cases,
                           verification.index_seconds);
}

std::string conditions_of(const VerifiedRule& rule) {
  const std::string conditions = verifier::condition_text(rule.rule);
  std::vector<std::string> all;
  if (!conditions.empty()) all.push_back(conditions);
  for (const std::string& added : rule.added)
    if (added.starts_with("defined ") || added.ends_with(" >= 1")) all.push_back(added);
  return all.empty() ? "" : fmt::format("under {}", fmt::join(all, ", "));
}

std::string index_column(const VerifiedRule& rule) {
  if (verifier::is_refuted(rule.verdict())) return "";  // was not tried
  return rule.proofs.index.proved ? "yes" : "no";
}

std::string remark_on(const VerifiedRule& rule) {
  if (!verifier::is_proved(rule.verdict())) return verifier::text(rule.verdict());
  std::vector<std::string> remarks;
  if (rule.is_recorded) remarks.emplace_back("as recorded");
  for (std::string remark : {conditions_of(rule), reason_for_one(rule.proofs)})
    if (!remark.empty()) remarks.push_back(std::move(remark));
  return fmt::format("{}", fmt::join(remarks, "; "));
}

/// On standard error: a class that nobody gave is no fault, but may be a surprise.
void report_missing_classes(const DatabaseVerification& verification,
                            const std::filesystem::path& directory) {
  const std::string table = (directory / "axioms.rounding").string();
  if (verification.rounding.empty() && !std::filesystem::exists(table)) {
    std::cerr << fmt::format("{}: there is no such table: all rules have the class rounding\n",
                             table);
    return;
  }
  for (const auto& [axiom, rules] : verification.axioms_without_class()) {
    const std::string effect =
        rules.empty() ? "no rule has a worse class for that"
                      : fmt::format("for that alone, rules have the class rounding: {}",
                                    fmt::join(rules, ", "));
    std::cerr << fmt::format("{}: axiom {} has no class, and counts as rounding: {}\n", table,
                             axiom, effect);
  }
}

void print_verification(const DatabaseVerification& verification, bool json, bool axioms) {
  if (json) {
    std::cout << Json({{"axioms", verification.axioms},
                       {"axioms_refused", verification.refused_axioms.size()},
                       {"index_proof_seconds", verification.index_seconds},
                       {"candidates", verification.rules.size()},
                       {"proved", verification.proved()},
                       {"proved_twice", verification.proved_twice()},
                       {"recorded", verification.recorded()},
                       {"refuted", verification.refuted()},
                       {"unknown", verification.unknown()},
                       {"rules", verification.proved()},
                       {"cpu_seconds", resource_use().processor_seconds},
                       {"rule_index_proof_cpu_seconds", verification.rule_index_seconds()},
                       {"peak_rss_bytes", resource_use().peak_memory_bytes}})
                     .dump(2)
              << "\n";
    return;
  }
  using enum Table::Align;
  Table table(
      {"rule", "verdict", "certificate", "index", "class", "cases", "axioms", "seconds", ""},
      {left, left, left, left, left, right, right, right, left});
  for (const VerifiedRule& rule : verification.rules) {
    const auto* proof = std::get_if<verifier::Proved>(&rule.verdict());
    const auto rounding = verification.class_of(rule);
    table.add({rule.name, std::string(verdict_name(rule.verdict())),
               rule.proofs.has_certificate() ? "yes" : "no", index_column(rule),
               rounding ? std::string(name(*rounding)) : "",
               proof != nullptr ? fmt::format("{}", proof->instances) : "",
               proof != nullptr ? fmt::format("{}", proof->axioms.size()) : "",
               fmt::format("{:.2f}", rule.seconds), remark_on(rule)});
  }
  std::cout << table.text();
  if (axioms) print_index_proofs(verification);
  for (const auto& [axiom, reason] : verification.refused_axioms)
    std::cout << fmt::format("axiom {} is refused: {}\n", axiom, reason);
  std::cout << fmt::format(
      "{} axioms; {} rules: {} proved, {} of them twice and {} on record, {} refuted, {} unknown; "
      "{:.1f} processor seconds, {:.1f} of them to prove rules from the definitions\n",
      verification.axioms, verification.rules.size(), verification.proved(),
      verification.proved_twice(), verification.recorded(), verification.refuted(),
      verification.unknown(), resource_use().processor_seconds, verification.rule_index_seconds());
}

Result<std::vector<Substitution>> read_candidates(const std::string& file) {
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules, parse_substitutions(contents, file));
  std::set<std::string> names;
  for (const Substitution& rule : rules)
    if (!names.insert(rule.name).second)
      return bad_input(fmt::format("{}: two rules are named '{}'", file, rule.name));
  if (rules.empty()) return bad_input(fmt::format("{}: there is no rule in it", file));
  return rules;
}

Result<DatabaseVerification> verify(const RulesArguments& arguments) {
  const auto directory = directory_of(arguments);
  if (arguments.file.empty()) {
    verifier::VerifyOptions options = arguments.options;
    options.keep_records = arguments.write;
    return verifier::verify_database(directory, options);
  }
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> rules, read_candidates(arguments.file));
  return verifier::verify_candidates(directory, rules, arguments.options);
}

Result<void> write_results(const RulesArguments& arguments,
                           const DatabaseVerification& verification) {
  if (!arguments.verdicts.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.verdicts, verdict_lines(verification)));
  if (!arguments.page.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.page, verdicts_page(verification)));
  if (!arguments.certificates.empty())
    LEMMA_RETURN_IF_ERROR(verifier::write_certificates(arguments.certificates, verification));
  if (!arguments.counterexamples.empty())
    LEMMA_RETURN_IF_ERROR(verifier::write_counterexamples(arguments.counterexamples, verification));
  if (arguments.write)
    LEMMA_RETURN_IF_ERROR(verifier::write_proofs(directory_of(arguments), verification));
  return {};
}

/// Whether the certificates are those that were recorded; what is not is named.
Result<bool> certificates_fit(const RulesArguments& arguments) {
  const auto directory = directory_of(arguments);
  const bool rewritten = arguments.write || !arguments.file.empty();
  if (rewritten || !std::filesystem::exists(directory / "substitutions.proofs")) return true;
  LEMMA_ASSIGN_OR_RETURN(const auto misfits, verifier::certificate_misfits(directory));
  for (const auto& [rule, reason] : misfits) std::cerr << error_line(rule, reason) << "\n";
  return misfits.empty();
}

Result<void> check_files(const RulesArguments& arguments) {
  FilePlan plan;
  plan.reads(arguments.file, "the input");
  plan.reads_below(directory_of(arguments), "the database");
  plan.writes(arguments.verdicts, "--verdicts");
  plan.writes(arguments.page, "--html");
  plan.fills(arguments.certificates, "--write-certificates");
  plan.fills(arguments.counterexamples, "--counterexamples");
  if (!arguments.certificates.empty())
    for (const char* name : {"proved.rules", "proved.certificates"})
      plan.writes(std::filesystem::path(arguments.certificates) / name, "--write-certificates");
  return plan.check();
}

ExitCode run_verify(const RulesArguments& arguments) {
  if (!arguments.file.empty() && arguments.write)
    return report_error({ErrorKind::bad_input, "--write is for the rules of the folder"});
  if (const auto files = check_files(arguments); !files) return report_error(files.error());
  const auto verification = verify(arguments);
  if (!verification) return report_error(verification.error());
  if (const auto written = write_results(arguments, *verification); !written)
    return report_error(written.error());
  report_missing_classes(*verification, directory_of(arguments));
  print_verification(*verification, arguments.json, arguments.options.reprove_axioms);
  const auto fit = certificates_fit(arguments);
  if (!fit) return report_error(fit.error());
  return *fit && verification->complete() ? ExitCode::done : ExitCode::check_failed;
}

/// Rules that are set apart, with the reason.
ExitCode run_list_one_proof(const RulesArguments& arguments) {
  const auto rules = load_one_proof_rules(directory_of(arguments));
  if (!rules) return report_error(rules.error());
  if (arguments.json) {
    Json list = Json::array();
    for (const OneProofRule& entry : *rules)
      list.push_back({{"name", entry.rule.name},
                      {"text", text(entry.rule)},
                      {"proofs", entry.record.index.empty() ? "certificate" : "index"},
                      {"reason", entry.reason}});
    std::cout << Json({{"rules", list}}).dump(2) << "\n";
    return ExitCode::done;
  }
  for (const OneProofRule& entry : *rules)
    std::cout << fmt::format("# {}\n{}\n", entry.reason, text_with_roles(entry.rule));
  return ExitCode::done;
}

ExitCode run_list(const RulesArguments& arguments) {
  if (arguments.one_proof) return run_list_one_proof(arguments);
  const auto rules = load_rules(directory_of(arguments));
  if (!rules) return report_error(rules.error());
  if (arguments.json) {
    Json list = Json::array();
    for (std::size_t i = 0; i < rules->substitutions().size(); ++i) {
      const Substitution& rule = rules->substitutions()[i];
      list.push_back({{"name", rule.name},
                      {"text", text(rule)},
                      {"rounding", name(rules->rounding()[i])},
                      {"proofs", "certificate,index"}});
    }
    std::cout << Json({{"rules", list}}).dump(2) << "\n";
    return ExitCode::done;
  }
  for (const Substitution& rule : rules->substitutions())
    std::cout << text_with_roles(rule) << "\n";
  return ExitCode::done;
}

ExitCode run_rounding(const RulesArguments& arguments) {
  const auto rules = load_rules(directory_of(arguments));
  if (!rules) return report_error(rules.error());
  using enum Table::Align;
  Table table({"rule", "class", "same bits", "f32 before", "after", "f16 before", "after"},
              {left, left, left, right, right, right, right});
  Json list = Json::array();
  for (std::size_t i = 0; i < rules->substitutions().size(); ++i) {
    const Substitution& rule = rules->substitutions()[i];
    const std::string rounding(name(rules->rounding()[i]));
    const auto f32 = verifier::measure_rounding(rule, DataType::f32);
    const auto f16 = verifier::measure_rounding(rule, DataType::f16);
    const auto error = [](double value) { return fmt::format("{:.1e}", value); };
    table.add({rule.name, rounding, f32.identical && f16.identical ? "yes" : "no", error(f32.left),
               error(f32.right), error(f16.left), error(f16.right)});
    list.push_back({{"rule", rule.name},
                    {"class", rounding},
                    {"same_bits", f32.identical && f16.identical},
                    {"instances", f32.instances + f16.instances},
                    {"f32_error_before", f32.left},
                    {"f32_error_after", f32.right},
                    {"f16_error_before", f16.left},
                    {"f16_error_after", f16.right}});
  }
  if (arguments.json)
    std::cout << Json({{"rules", list}}).dump(2) << "\n";
  else
    std::cout << table.text()
              << "errors: largest difference from f64, relative to the largest element of the "
                 "output, over small random instances\n";
  return ExitCode::done;
}

}  // namespace

void add_rules_command(CLI::App& application, ExitCode& exit_code) {
  auto* command =
      application.add_subcommand("rules", "build, prove, list and exchange substitution rules");
  command->require_subcommand(1);
  auto arguments = std::make_shared<RulesArguments>();

  auto* verify = command->add_subcommand("verify", "prove rules from the axioms");
  verify->add_option("--rules", arguments->directory, "folder of axioms and rules");
  verify->add_option("FILE", arguments->file,
                     "prove the rules of this file instead, and infer missing side conditions");
  verify->add_option("--write-certificates", arguments->certificates,
                     "folder for certificates and for the rules with their conditions");
  verify->add_option("--counterexamples", arguments->counterexamples,
                     "folder for counterexamples; `lemma audit --counterexample` replays them");
  verify->add_flag("--write", arguments->write,
                   "write records of the proofs; rules whose record fits are not proved again, "
                   "unless --axioms is given");
  verify->add_flag("--axioms", arguments->options.reprove_axioms,
                   "prove all axioms again from the operators' definitions, and list the proofs; "
                   "no record is believed");
  verify->add_option("--verdicts", arguments->verdicts, "write one JSON line for each rule");
  verify->add_option("--html", arguments->page,
                     "write a page with pictures of the rules, and why each holds or does not");
  verify
      ->add_option("--threads", arguments->options.threads, "number of threads (0: all processors)")
      ->check(check_threads);
  verify->add_flag("--json", arguments->json, "print one JSON object with the totals");
  verify->callback([arguments, &exit_code] { exit_code = run_verify(*arguments); });

  auto* list = command->add_subcommand("list", "list the loaded rules");
  list->add_option("--rules", arguments->directory, "folder of axioms and rules");
  list->add_flag("--one-proof", arguments->one_proof,
                 "list rules with only one proof, which are not used, with the reason");
  list->add_flag("--json", arguments->json, "print one JSON object");
  list->callback([arguments, &exit_code] { exit_code = run_list(*arguments); });

  auto* rounding = command->add_subcommand(
      "rounding", "list the rounding class of each rule, with measured floating-point errors");
  rounding->add_option("--rules", arguments->directory, "folder of axioms and rules");
  rounding->add_flag("--json", arguments->json, "print one JSON object");
  rounding->callback([arguments, &exit_code] { exit_code = run_rounding(*arguments); });

  auto* solver = command->add_subcommand(std::string(solver_command), "");
  solver->group("");  // hidden: it speaks the protocol of verifier/index/solver_process.h
  auto seconds = std::make_shared<int>(verifier::index::most_processor_seconds);
  solver->add_option("--seconds", *seconds);
  solver->callback([seconds] { verifier::index::answer_solver_queries(*seconds); });

  add_rules_build(*command, exit_code);
  add_rules_exchange(*command, exit_code);
  add_rules_generate(*command, exit_code);
  add_rules_obligations(*command, exit_code);
  add_rules_regions(*command, exit_code);
  add_rules_diff(*command, exit_code);
}

}  // namespace lemma
