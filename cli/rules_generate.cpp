#include "cli/commands.h"

#include <sys/prctl.h>

#include <csignal>
#include <iostream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "cli/rank_job.h"
#include "database/enumerate_sets.h"
#include "generator/generate.h"
#include "outputs/files.h"
#include "report/table.h"
#include "system/parallel.h"
#include "targets/data_files.h"

namespace lemma {
namespace {

using Json = nlohmann::ordered_json;

struct GenerateArguments {
  std::string set, output, refuted;
  bool json = false, ends_with_parent = false;
  generator::GenerateOptions options;
};

Json figures(const generator::OperatorSet& set, const generator::GenerateReport& report,
             const UseOfRanks& use) {
  Json operators = Json::array();
  for (const generator::OperatorUse& op : report.operators)
    operators.push_back(
        {{"operator", op.name}, {"applied", op.applications}, {"classes", op.classes}});
  Json stages = Json::array();
  for (const generator::StageTime& time : report.stages)
    stages.push_back({{"stage", time.stage},
                      {"seconds", time.seconds},
                      {"cpu_seconds", time.processor_seconds}});
  Json by_cost = Json::array();
  for (std::size_t i = 1; i < report.terms.evaluated_by_cost.size(); ++i)
    if (report.terms.evaluated_by_cost[i] > 0) by_cost.push_back(report.terms.evaluated_by_cost[i]);
  return {{"set", set.name},
          {"graphs", report.graphs},
          {"terms", report.terms.evaluated},
          {"terms_by_operators", by_cost},
          {"classes", report.terms.classes},
          {"groups", report.groups},
          {"equal_terms", report.equal_terms},
          {"derived", report.derived},
          {"table_bytes", report.table_bytes},
          {"key_collisions", report.terms.collisions},
          {"refuted_by_other_sizes", report.refuted},
          {"no_rule", report.not_written},
          {"candidates", report.candidates},
          {"several_outputs", report.several_outputs},
          {"candidates_by_generality", report.by_generality},
          {"operators", std::move(operators)},
          {"warnings", report.warnings},
          {"stages", std::move(stages)},
          {"ranks", use.ranks},
          {"exchanges", report.terms.rounds},
          {"sent_bytes", report.terms.sent_bytes},
          {"cpu_seconds", use.processor_seconds},
          {"peak_rss_bytes", use.peak_bytes}};
}

auto progress_lines() {
  return [last = std::string(), shown = 0](std::string_view stage, double part) mutable {
    const int percent = static_cast<int>(part * 100);
    if (stage == last && percent < shown + 10) return;
    last = stage;
    shown = percent;
    std::cerr << fmt::format("lemma: {}: {}%\n", stage, percent);
  };
}

std::string operators_table(const generator::GenerateReport& report) {
  using enum Table::Align;
  Table table({"operator", "applied", "new classes", ""}, {left, right, right, left});
  for (const generator::OperatorUse& op : report.operators)
    table.add({op.name, fmt::format("{}", op.applications), fmt::format("{}", op.classes),
               op.applications == 0 ? "never applied" : ""});
  return table.text();
}

std::string refuted_text(const generator::GenerateReport& report) {
  std::string result;
  for (const generator::RefutedCandidate& candidate : report.examples)
    result += fmt::format("{}\n  {}\n", candidate.text, candidate.reason);
  return result;
}

Result<void> check_files(const GenerateArguments& arguments) {
  FilePlan plan;
  plan.reads(operator_set_file(arguments.set), "--set");
  plan.writes(arguments.output, "-o");
  plan.writes(arguments.refuted, "--refuted");
  return plan.check();
}

/// What is printed by the first rank.
Result<std::string> run(GenerateArguments arguments, ranks::Ranks& ranks) {
  if (ranks.is_first()) {
    LEMMA_RETURN_IF_ERROR(check_files(arguments));
    if (!arguments.json) arguments.options.progress = progress_lines();
  }
  arguments.options.threads = count_of_threads(arguments.options.threads);
  arguments.options.ranks = &ranks;
  LEMMA_ASSIGN_OR_RETURN(
      const generator::OperatorSet set,
      database::operator_set_of_first_rank(operator_set_file(arguments.set), ranks));
  LEMMA_ASSIGN_OR_RETURN(const generator::Generated generated,
                         generator::generate(set, arguments.options));
  LEMMA_ASSIGN_OR_RETURN(const UseOfRanks use, use_of_ranks(ranks));
  if (!ranks.is_first()) return std::string();
  LEMMA_RETURN_IF_ERROR(write_file_atomically(
      arguments.output, generator::candidates_text(set, arguments.options, generated.rules)));
  if (!arguments.refuted.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.refuted, refuted_text(generated.report)));
  for (const std::string& warning : generated.report.warnings)
    std::cerr << "lemma: warning: " << printable(warning) << "\n";
  Json all = figures(set, generated.report, use);
  if (arguments.json) return all.dump(2) + "\n";
  std::string lines = operators_table(generated.report);
  for (const char* name : {"operators", "warnings", "stages"}) all.erase(name);
  for (const auto& [name, value] : all.items())
    lines += fmt::format("{}: {}\n", name, value.dump());
  return lines;
}

}  // namespace

void add_rules_generate(CLI::App& rules_command, ExitCode& exit_code) {
  auto* command = rules_command.add_subcommand(
      "generate", "enumerate the terms of an operator set and write equal ones as candidate rules");
  auto arguments = std::make_shared<GenerateArguments>();
  command->add_option("--set", arguments->set, "name of a shipped operator set, or a file")
      ->required();
  command
      ->add_option("--max-ops", arguments->options.most_operators,
                   "largest number of operators in a term (default: the limit of the set)")
      ->check(check_positive);
  command->add_option("-o,--output", arguments->output, "file for the candidates")->required();
  command->add_option("--refuted", arguments->refuted,
                      "write examples of candidates that hold only for the enumerated sizes");
  command
      ->add_option("--threads", arguments->options.threads, "number of threads (0: all processors)")
      ->check(check_threads)
      ->capture_default_str();
  command->add_option("--work", arguments->options.work_directory,
                      "folder for the journal of a resumable run");
  command
      ->add_option("--memory-limit", arguments->options.memory,
                   "memory limit of the command, such as 1G; what does not fit is evaluated again "
                   "or in a file")
      ->transform(CLI::AsSizeValue(false))
      ->check(check_bytes);
  command->add_option("--seed", arguments->options.seed, "seed for the contents of inputs");
  command->add_flag("--json", arguments->json, "print one JSON object with the figures");
  command->add_option("--range-bytes", arguments->options.range_bytes)->group("");
  command->add_flag("--ends-with-parent", arguments->ends_with_parent)->group("");
  command->callback([arguments, &exit_code] {
    // An orphan would hold its journal, which the next run of its parent goes on with.
    if (arguments->ends_with_parent) prctl(PR_SET_PDEATHSIG, SIGKILL);
    exit_code = run_on_ranks([&arguments](ranks::Ranks& ranks) { return run(*arguments, ranks); });
  });
}

}  // namespace lemma
