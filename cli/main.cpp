#include <algorithm>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "batch/exit_code.h"
#include "batch/process_faults.h"
#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/foreign_options.h"
#include "cli/former_names.h"
#include "cli/operators_option.h"
#include "cli/rank_job.h"
#include "cli/shell.h"
#include "cli/version_text.h"
#include "engines/shipped_targets.h"
#include "facts/outside_operators.h"
#include "rule_language/operator_digests.h"
#include "rule_language/operator_meaning.h"
#include "system/program.h"
#include "verifier/index/solver_process.h"

namespace {

/// The names of the commands below this one that people see.
std::string names_of_commands(const CLI::App& command) {
  std::string names;
  const auto is_shown = [](const CLI::App* subcommand) { return !subcommand->get_group().empty(); };
  for (const CLI::App* subcommand : command.get_subcommands(is_shown))
    names += (names.empty() ? "" : ", ") + subcommand->get_name();
  return names;
}

/// The commands that there are, where the words should name one and do not; else empty.
std::string missing_command(const CLI::App& application, int argument_count, char** arguments) {
  const CLI::App* command = &application;
  std::string path = application.get_name();
  for (int i = 1; command->get_require_subcommand_min() > 0; ++i) {
    const std::string word = i < argument_count ? arguments[i] : "";
    if (word.starts_with('-')) return "";
    const auto named = command->get_subcommands(
        [&word](const CLI::App* subcommand) { return subcommand->get_name() == word; });
    if (named.empty())
      return (word.empty() ? path + " needs a command"
                           : "there is no command '" + path + " " + word + "'") +
             "; the commands are " + names_of_commands(*command);
    path += " " + word;
    command = named.front();
  }
  return "";
}

/// What an option of another program is called here, in a call of `optimize` or `simplify` that has it.
std::string foreign_option(int argument_count, char** arguments) {
  const std::string command = argument_count > 1 ? arguments[1] : "";
  if (command != "optimize" && command != "simplify") return "";
  for (int i = 2; i < argument_count; ++i)
    if (std::string answer = lemma::answer_to_foreign_option(arguments[i]); !answer.empty())
      return answer;
  return "";
}

/// Says that queries to Z3 had no answer, because what rests on them is unknown where it might be proved.
void report_stopped_queries() {
  namespace index = lemma::verifier::index;
  if (const std::size_t count = index::count_of_stopped_queries(); count > 0)
    std::cerr << fmt::format(
        "note: Z3 was ended at {} quer{} after {} processor seconds; what needs them is not "
        "proved\n",
        count, count == 1 ? "y" : "ies", index::most_processor_seconds);
}

int run(int argument_count, char** arguments) {
  using lemma::ExitCode;
  CLI::App application("Lemma optimizes tensor programs with proved substitutions");
  application.name("lemma");
  application.set_version_flag("--version", lemma::version_text,
                               "print the version, and what it was built from and understands");
  application.require_subcommand(1);

  if (const auto fits = lemma::check_ranks(argument_count, arguments); !fits) {
    if (lemma::speaks_for_all()) lemma::report_error(fits.error());
    return static_cast<int>(ExitCode::no_ranks);
  }
  ExitCode exit_code = ExitCode::done;
  lemma::add_optimize_command(application, exit_code);
  lemma::add_simplify_command(application, exit_code);
  lemma::add_optimize_worker_command(application, exit_code);
  lemma::add_inspect_command(application, exit_code);
  lemma::add_profile_command(application, exit_code);
  lemma::add_tune_command(application, exit_code);
  lemma::add_run_command(application, exit_code);
  lemma::add_compare_command(application, exit_code);
  lemma::add_diff_command(application, exit_code);
  lemma::add_differentiate_command(application, exit_code);
  lemma::add_emit_command(application, exit_code);
  lemma::add_compile_command(application, exit_code);
  lemma::add_extract_command(application, exit_code);
  lemma::add_plan_command(application, exit_code);
  lemma::add_rules_command(application, exit_code);
  lemma::add_schedule_command(application, exit_code);
  lemma::add_audit_command(application, exit_code);
  lemma::add_completion_command(application, exit_code);
  lemma::add_manual_command(application, exit_code);
  lemma::add_operators_option(application);
  const std::vector<std::string> words = lemma::with_present_names(
      lemma::with_help_as_option({arguments + 1, arguments + std::max(argument_count, 1)}));
  const std::vector<std::string> asked(words.begin(), words.end() - (words.empty() ? 0 : 1));
  if (argument_count > 1 && std::string(arguments[1]) == "help" &&
      !lemma::is_command(application, asked))
    return static_cast<int>(lemma::report_error(
        {lemma::ErrorKind::bad_input, "there is no such command; lemma --help lists them" +
                                          lemma::suggestion(application, asked)}));
  try {
    application.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return application.exit(error);  // help or version
    std::string answer = missing_command(application, argument_count, arguments);
    if (answer.empty()) answer = foreign_option(argument_count, arguments);
    if (answer.empty()) answer = std::string(error.what()) + " (lemma --help lists the commands)";
    answer += lemma::suggestion(application, words);
    if (lemma::speaks_for_all()) std::cerr << lemma::printable("lemma: " + answer) << "\n";
    exit_code = ExitCode::bad_input;
  }
  report_stopped_queries();
  // What was printed may not have arrived: a full disk, a closed pipe.
  std::cout.flush();
  if (!std::cout && exit_code == ExitCode::done)
    exit_code =
        lemma::report_error({lemma::ErrorKind::bad_input, "standard output cannot be written"});
  return static_cast<int>(exit_code);
}

}  // namespace

int main(int argument_count, char** arguments) {
  lemma::prepare_for_faults();
  lemma::end_with_parent();
  try {
    // Before any operator is asked for.
    const std::vector<std::string> words(arguments + 1, arguments + std::max(argument_count, 1));
    if (const auto loaded = lemma::load_operator_libraries(lemma::operator_libraries_of(words));
        !loaded)
      return static_cast<int>(lemma::report_error(loaded.error()));
    lemma::take_meaning_digests(lemma::operator_digests());
    lemma::add_shipped_targets();
    lemma::verifier::index::set_solver_program(
        {lemma::own_program(), "rules", std::string(lemma::solver_command)});
    return run(argument_count, arguments);
  } catch (const std::exception& error) {
    return static_cast<int>(lemma::report_error(lemma::error_of(error)));
  }
}
