#include "cli/commands.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/number_text.h"
#include "batch/child_process.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "cli/rank_job.h"
#include "database/build_database.h"
#include "database/normal_form.h"
#include "outputs/files.h"
#include "outputs/plan.h"
#include "ranks/launcher.h"
#include "rule_language/rule_database.h"
#include "system/journal.h"
#include "system/parallel.h"
#include "system/signals.h"
#include "targets/data_files.h"

namespace lemma {
namespace {

using Json = nlohmann::ordered_json;
using database::CandidateOutcome;
namespace fs = std::filesystem;

struct BuildArguments {
  std::vector<std::string> sets, over;
  bool json = false;
  database::DatabaseOptions options;
};

/// Files are named after it.
std::string check_file_stem(const std::string& word) {
  constexpr std::size_t longest = 100;
  const bool is_good = !word.empty() && word.size() <= longest && word[0] != '-' &&
                       std::all_of(word.begin(), word.end(), [](char c) {
                         return is_ascii_letter_or_digit(c) || c == '_' || c == '-';
                       });
  return is_good ? "" : "'" + word + "' is no name of up to 100 letters, digits, '_' and '-'";
}

// ---- Interruption, progress, figures --------------------------------------------------------------

std::atomic<bool> interruption = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // as handlers of signals demand
void note_interruption(int /*signal*/) { interruption = true; }

/// Ends the process if the job has not ended by itself soon after it was asked to: a proof that has begun may take minutes.
/// What is on disk is good at any time, as if the process had been killed.
void end_after_interruption() {
  constexpr auto pause = std::chrono::milliseconds(50), patience = std::chrono::milliseconds(1500);
  while (!interruption) std::this_thread::sleep_for(pause);
  std::this_thread::sleep_for(patience);
  if (ranks::launch_of_environment().rank == 0) report_interruption();
  std::_Exit(static_cast<int>(ExitCode::some_models_failed));
}

/// The first SIGINT or SIGTERM asks the job to end, the second ends it.
void listen_for_interruption() {
  std::thread(end_after_interruption).detach();
  struct sigaction action {};
  action.sa_handler = note_interruption;
  action.sa_flags = SA_RESETHAND;
  handle_unless_ignored(SIGINT, action);
  handle_unless_ignored(SIGTERM, action);
}

/// At most a line every two seconds, on standard error.
class ProgressLines {
 public:
  void operator()(const database::Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (progress.stage != stage_) {
      stage_ = progress.stage;
      begin_ = last_ = now;
      first_ = progress.done;
    }
    if (now - last_ < std::chrono::seconds(2)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    const double rate = static_cast<double>(progress.done - first_) / seconds;
    const double rest = static_cast<double>(progress.total - progress.done) / rate;
    const std::string to_go = rate > 0 ? fmt::format(", about {:.0f} s to go", rest) : "";
    std::cerr << fmt::format("{}: {} of {}, {:.1f} a second, {} rules{}\n", progress.stage,
                             progress.done, progress.total, rate, progress.rules, to_go);
  }

 private:
  std::string stage_;
  std::chrono::steady_clock::time_point begin_, last_;
  std::size_t first_ = 0;
};

// ---- The job ----------------------------------------------------------------------------------------

/// Runs `lemma rules generate` in a process of its own, so that its memory is given back.
Result<database::EnumerationFigures> enumerate_in_child(const fs::path& set,
                                                        const fs::path& candidates,
                                                        const generator::GenerateOptions& options) {
  ChildRequest request;
  request.arguments = {"rules",
                       "generate",
                       "--set",
                       set.string(),
                       "-o",
                       candidates.string(),
                       "--work",
                       options.work_directory,
                       "--memory-limit",
                       fmt::format("{}", options.memory),
                       "--threads",
                       fmt::format("{}", options.threads),
                       "--json",
                       "--ends-with-parent"};
  if (options.most_operators > 0) {
    request.arguments.emplace_back("--max-ops");
    request.arguments.push_back(fmt::format("{}", options.most_operators));
  }
  std::string output;
  ChildOutcome ended;
  const bool all = run_children(
      {request}, 1, [&output](std::size_t, const std::string& line) { output += line + "\n"; },
      [&ended](std::size_t, const ChildOutcome& outcome) { ended = outcome; });
  if (!all) return bad_input(std::string(database::interrupted));
  const Json figures = Json::parse(output, nullptr, false);
  if (ended.exit_status != 0 || !figures.is_object())
    return bad_input(fmt::format("the enumeration of set '{}' failed", set.stem().string()));
  return database::EnumerationFigures{figures.value("graphs", 0.0),
                                      figures.value("classes", std::uint64_t{0})};
}

Json figures(const database::DatabaseReport& report, const UseOfRanks& usage) {
  const database::Build& build = report.build;
  const database::RuleCounts counts = build.count_rules();
  const std::size_t directly = build.count(CandidateOutcome::proved),
                    derived = build.count(CandidateOutcome::derived),
                    conditional = build.count(CandidateOutcome::conditional);
  return Json({{"graphs", static_cast<std::uint64_t>(report.enumeration.graphs)},
               {"classes", report.enumeration.classes},
               {"candidates", build.candidates.size()},
               {"candidates_given", build.given},
               {"trivial", build.trivial},
               {"repeated", build.repeated},
               {"proved", directly + derived + conditional},
               {"proved_directly", directly},
               {"proved_from_rules_before", derived},
               {"proved_under_conditions", conditional},
               {"refuted", build.count(CandidateOutcome::refuted)},
               {"unknown", build.count(CandidateOutcome::unknown)},
               {"rules", counts.basis + counts.derived_and_kept},
               {"basis", counts.basis},
               {"derived_and_kept", counts.derived_and_kept},
               {"derived_and_left_out", counts.derived_and_left_out},
               {"one_proof", counts.one_proof},
               {"hand_written", counts.hand_written},
               {"hand_written_but_not_needed", build.hand_written_but_not_needed().size()},
               {"ranks", usage.ranks},
               {"cpu_seconds", usage.processor_seconds},
               {"peak_rss_bytes", usage.peak_bytes}});
}

std::string to_text(const Json& totals, bool json) {
  if (json) return totals.dump(2) + "\n";
  std::string result;
  for (const auto& [key, value] : totals.items()) {
    std::string words = key;
    std::replace(words.begin(), words.end(), '_', ' ');
    result += fmt::format("{:<28}{}\n", words, value.dump());
  }
  return result;
}

/// "taso_cnn"
std::string default_name(const database::DatabaseOptions& options) {
  std::string name;
  for (const auto* files : {&options.enumeration.sets, &options.candidates})
    for (const fs::path& file : *files) name += (name.empty() ? "" : "_") + file.stem().string();
  return name;
}

/// Beside the output. Where something else has the name of the folder or of the journal in it, another folder is taken, and
/// a note says so.
fs::path free_work_folder(const database::DatabaseOptions& options) {
  const fs::path& output = options.folders.output;
  const fs::path wanted =
      (output.has_filename() ? output : output.parent_path()).string() + ".work";
  const fs::path taken = free_path(wanted, [&options](const fs::path& folder) {
    std::error_code error;
    const auto status = fs::status(folder, error);
    return status.type() == fs::file_type::not_found ||
           (fs::is_directory(status) && may_be_journal(folder / (options.name + ".journal")));
  });
  if (taken != wanted && speaks_for_all())
    std::cerr << printable(
                     fmt::format("note: {} is there and is another program's; the journal is in {}",
                                 wanted.string(), taken.string()))
              << "\n";
  return taken;
}

/// What follows from arguments, and what is shown while the job runs.
database::DatabaseOptions complete_options(const BuildArguments& arguments, ProgressLines& lines) {
  database::DatabaseOptions options = arguments.options;
  for (const std::string& set : arguments.sets)
    options.enumeration.sets.push_back(operator_set_file(set));
  if (options.name.empty()) options.name = default_name(options);
  if (options.folders.work.empty()) options.folders.work = free_work_folder(options);
  if (options.folders.rules.empty()) options.folders.rules = data_directory() / "rules";
  for (const std::string& folder : arguments.over)
    options.folders.over.push_back(rules_folder(folder));
  options.build.cancelled = [] { return interruption.load(); };
  options.build.progress = [&lines](const database::Progress& progress) { lines(progress); };
  options.on_refused_axiom = [](const std::string& axiom, const std::string& reason) {
    std::cerr << fmt::format("lemma: axiom {} is refused: {}\n", axiom, reason);
  };
  options.on_resumed = [](std::size_t answers) {
    std::cerr << fmt::format("resuming: {} answers are in the journal\n", answers);
  };
  return options;
}

Result<void> check_files(const database::DatabaseOptions& options) {
  FilePlan plan;
  for (const fs::path& file : options.enumeration.sets) plan.reads(file, "--set");
  for (const fs::path& file : options.candidates) plan.reads(file, "--candidates");
  for (const fs::path& folder : options.folders.over) plan.reads_below(folder, "--over");
  plan.fills(options.folders.output, "-o");
  plan.fills(options.folders.work, "--work");
  return plan.check();
}

ExitCode run_build(const BuildArguments& arguments) {
  if (arguments.sets.empty() && arguments.options.candidates.empty()) {
    if (!speaks_for_all()) return ExitCode::bad_input;
    return report_error({ErrorKind::bad_input, "--set or --candidates is needed"});
  }
  ProgressLines lines;
  database::DatabaseOptions options = complete_options(arguments, lines);
  if (const auto files = check_files(options); !files)
    return speaks_for_all() ? report_error(files.error()) : ExitCode::bad_input;
  listen_for_interruption();
  return run_on_ranks([&](ranks::Ranks& ranks) -> Result<std::string> {
    options.build.ranks = &ranks;
    if (ranks.size() == 1) options.enumeration.enumerate = enumerate_in_child;
    LEMMA_ASSIGN_OR_RETURN(const database::DatabaseReport report, build_database(options));
    LEMMA_ASSIGN_OR_RETURN(const UseOfRanks usage, use_of_ranks(ranks));
    return to_text(figures(report, usage), arguments.json);
  });
}

// ---- minimize ---------------------------------------------------------------------------------------

struct MinimizeArguments {
  std::string rules, basis, start = "both", output;
  bool json = false;
  int threads = 0;
  database::DerivationLimits limits;
};

/// A file of rules, or the rules of a folder like rules/.
Result<std::vector<Substitution>> rules_at(const std::string& place) {
  if (fs::is_directory(place))
    return read_substitutions(fs::path(place) / "substitutions", ".rules");
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(place));
  return parse_substitutions(contents, place);
}

struct DerivedRule {
  database::Derivation derivation;
  std::vector<std::string> from;
};

Result<std::vector<DerivedRule>> derive_all(const MinimizeArguments& arguments,
                                            const std::vector<Substitution>& rules,
                                            const std::vector<Substitution>& basis) {
  const auto start =
      arguments.start == "left" ? database::Start::left_side : database::Start::both_sides;
  std::vector<DerivedRule> result(rules.size());
  const database::DerivationRules prepared(basis);
  LEMMA_RETURN_IF_ERROR(
      parallel_try(rules.size(), arguments.threads, [&](std::size_t i) -> Result<void> {
        if (interruption) return bad_input(std::string(database::interrupted));
        result[i].derivation = database::derive(rules[i], prepared, start, arguments.limits);
        if (result[i].derivation.derivable)
          result[i].from = database::needed_rules(rules[i], prepared, result[i].derivation, start,
                                                  arguments.limits);
        return {};
      }));
  return result;
}

/// Minimizes the rules without --basis: large rules first, each from the others that are left.
Result<std::vector<DerivedRule>> minimize_among(const MinimizeArguments& arguments,
                                                const std::vector<Substitution>& rules) {
  std::vector<std::pair<database::RuleSize, std::size_t>> order;
  for (std::size_t i = 0; i < rules.size(); ++i) order.emplace_back(database::size_of(rules[i]), i);
  std::sort(order.rbegin(), order.rend());
  std::vector<DerivedRule> result(rules.size());
  for (const auto& [size, i] : order) {
    std::vector<Substitution> others;
    for (std::size_t k = 0; k < rules.size(); ++k)
      if (k != i && !result[k].derivation.derivable) others.push_back(rules[k]);
    LEMMA_ASSIGN_OR_RETURN(auto derived_rules, derive_all(arguments, {rules[i]}, others));
    result[i] = std::move(derived_rules[0]);
  }
  return result;
}

Result<void> check_files(const MinimizeArguments& arguments) {
  FilePlan plan;
  for (const std::string& place : {arguments.rules, arguments.basis}) {
    std::error_code error;
    if (fs::is_directory(place, error))
      plan.reads_below(place, "the rules");
    else
      plan.reads(place, "the rules");
  }
  plan.writes(arguments.output, "-o");
  return plan.check();
}

ExitCode run_minimize(const MinimizeArguments& arguments) {
  if (const auto files = check_files(arguments); !files) return report_error(files.error());
  const auto rules = rules_at(arguments.rules);
  if (!rules) return report_error(rules.error());
  listen_for_interruption();
  Result<std::vector<DerivedRule>> derived = std::vector<DerivedRule>{};
  if (arguments.basis.empty()) {
    derived = minimize_among(arguments, *rules);
  } else {
    const auto basis = rules_at(arguments.basis);
    if (!basis) return report_error(basis.error());
    derived = derive_all(arguments, *rules, *basis);
  }
  if (!derived) return report_error(derived.error());
  std::string lines;
  Json list = Json::array();
  std::size_t count = 0, partly = 0;
  for (std::size_t i = 0; i < rules->size(); ++i) {
    const DerivedRule& derived_rule = (*derived)[i];
    const std::string& name = (*rules)[i].name;
    count += derived_rule.derivation.derivable ? 1 : 0;
    partly += derived_rule.derivation.derivable &&
                      derived_rule.derivation.tried < derived_rule.derivation.cases
                  ? 1
                  : 0;
    list.push_back({{"rule", name},
                    {"derivable", derived_rule.derivation.derivable},
                    {"from", derived_rule.from},
                    {"cases", derived_rule.derivation.cases},
                    {"cases_tried", derived_rule.derivation.tried},
                    {"stopped", derived_rule.derivation.stopped}});
    if (derived_rule.derivation.derivable)
      lines += fmt::format("{} from {}: {} of {} cases\n", name, fmt::join(derived_rule.from, ", "),
                           derived_rule.derivation.tried, derived_rule.derivation.cases);
    else
      lines += fmt::format("{}: not derived: {}\n", name, derived_rule.derivation.stopped);
  }
  if (!arguments.output.empty())
    if (const auto written = write_file_atomically(arguments.output, lines); !written)
      return report_error(written.error());
  if (arguments.json)
    std::cout << Json({{"rules", list}, {"derivable", count}, {"not_all_cases", partly}}).dump(2)
              << "\n";
  else
    std::cout << (arguments.output.empty() ? lines : "")
              << fmt::format("{} of {} rules follow from {}\n", count, rules->size(),
                             arguments.basis.empty() ? "the others" : arguments.basis);
  return ExitCode::done;
}

void add_minimize(CLI::App& rules_command, ExitCode& exit_code) {
  auto arguments = std::make_shared<MinimizeArguments>();
  auto* minimize = rules_command.add_subcommand(
      "minimize", "show which rules follow from others, by bounded saturation");
  minimize
      ->add_option("RULES", arguments->rules,
                   "file of rules, or a folder with the structure of rules/")
      ->required();
  minimize->add_option("--basis", arguments->basis,
                       "rules to derive from (default: the other RULES)");
  minimize
      ->add_option("--start", arguments->start,
                   "both: start with both sides in the e-graph; left: start with the left side")
      ->check(CLI::IsMember({"both", "left"}));
  minimize->add_option("--node-limit", arguments->limits.nodes, "node limit of the e-graph")
      ->check(check_positive);
  minimize
      ->add_option("--iterations", arguments->limits.iterations,
                   "iteration limit of the saturation")
      ->check(check_positive);
  minimize->add_option("--cases", arguments->limits.cases, "number of cases of a rule to try")
      ->check(check_positive);
  minimize->add_option("--threads", arguments->threads, "number of threads (0: all processors)")
      ->check(check_threads);
  minimize->add_option("-o,--output", arguments->output, "write the list to this file");
  minimize->add_flag("--json", arguments->json, "print one JSON object");
  minimize->callback([arguments, &exit_code] { exit_code = run_minimize(*arguments); });
}

}  // namespace

void add_rules_build(CLI::App& rules_command, ExitCode& exit_code) {
  auto arguments = std::make_shared<BuildArguments>();
  auto* build = rules_command.add_subcommand(
      "build", "build a rule database: enumerate, prune, generalize, prove and minimize");
  build->add_option("--set", arguments->sets,
                    "operator set to enumerate: a shipped name or a file (may be repeated)");
  build
      ->add_option("--max-ops", arguments->options.enumeration.generation.most_operators,
                   "largest number of operators in a term, instead of the sets' limits")
      ->check(check_positive);
  build->add_option("--candidates", arguments->options.candidates,
                    "file of candidates, instead of or in addition to --set (may be repeated)");
  build
      ->add_option("--name", arguments->options.name,
                   "name of the files of found rules (default: the names of the sets)")
      ->check(check_file_stem);
  build->add_option("-o,--output", arguments->options.folders.output, "folder for the database")
      ->required();
  build->add_option("--work", arguments->options.folders.work,
                    "folder for the journal of a resumable job (default: OUTPUT.work)");
  build
      ->add_option("--hand-written", arguments->options.folders.hand_written,
                   "folder of hand-written rules that become part of the database")
      ->check(CLI::ExistingDirectory);
  build
      ->add_option("--over", arguments->over,
                   "folder of a rule database, or shipped: its rules are known, and only what "
                   "does not follow from them is written (may be repeated)")
      ->check(check_rules_folder);
  build->add_option("--rules", arguments->options.folders.rules,
                    "folder with the axioms (default: the shipped ones)");
  build
      ->add_option("--threads", arguments->options.build.threads,
                   "number of threads (0: all processors)")
      ->check(check_threads);
  build
      ->add_option("--memory-limit", arguments->options.enumeration.generation.memory,
                   "memory limit of the enumeration, such as 1G")
      ->transform(CLI::AsSizeValue(false))
      ->check(check_bytes);
  build->add_flag("--json", arguments->json, "print one JSON object with the totals");
  build->callback([arguments, &exit_code] { exit_code = run_build(*arguments); });
  add_minimize(rules_command, exit_code);
}

}  // namespace lemma
