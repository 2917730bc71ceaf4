#include <unistd.h>

#include <chrono>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "cli/schedule_options.h"
#include "programs/compilation.h"
#include "programs/shape_option.h"
#include "report/compilation_report.h"

namespace lemma {

namespace {

struct CompileArguments {
  CompilationRequest request;
  std::vector<std::string> shapes;
  ScheduleChoice schedules;
  double time_limit = 0;  // seconds; 0: none
  bool is_cached = false, json = false, verbose = false, quiet = false;
};

/// What is done now, on standard error: a line for each step, or the last one on a terminal.
class ShownSteps {
 public:
  explicit ShownSteps(const CompileArguments& arguments)
      : model_(arguments.request.model),
        in_lines_(arguments.verbose),
        on_terminal_(!arguments.verbose && !arguments.quiet && isatty(STDERR_FILENO) == 1) {}
  ~ShownSteps() { clear(); }
  ShownSteps(const ShownSteps&) = delete;
  ShownSteps& operator=(const ShownSteps&) = delete;

  void begin(const std::string& step) const {
    const std::string line = printable(fmt::format("[{:.1f} s] {}: {}", seconds(), model_, step));
    if (in_lines_) std::cerr << line << "\n";
    if (on_terminal_) std::cerr << line << "\33[K\r" << std::flush;
  }
  void clear() const {
    if (on_terminal_) std::cerr << "\33[K" << std::flush;
  }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::string model_;
  bool in_lines_, on_terminal_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

Result<void> check_arguments(CompileArguments& arguments) {
  CompilationRequest& request = arguments.request;
  if (request.directory.empty() != arguments.is_cached)
    return bad_input("one of -o DIRECTORY and --cached is required");
  if (arguments.is_cached && (request.replaces || !request.name.empty()))
    return bad_input("--name and --replace are for -o");
  if (request.in_parts && !arguments.is_cached) return bad_input("--parts is for --cached");
  LEMMA_ASSIGN_OR_RETURN(request.shapes, parse_shape_lists(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(request.schedules, schedules_for(arguments.schedules, request.threads));
  FilePlan plan;
  read_model(plan, request.model);
  plan.fills(request.directory, "-o");
  return plan.check();
}

ExitCode run_compile(CompileArguments arguments) {
  const auto refuse = [&arguments](const Error& error) {
    std::cerr << error_line(arguments.request.model, error.message) << "\n";
    return exit_code_of(error.kind);
  };
  if (const auto checked = check_arguments(arguments); !checked) return refuse(checked.error());
  const ShownSteps steps(arguments);
  arguments.request.on_step = [&steps](const std::string& step) { steps.begin(step); };
  if (arguments.time_limit > 0)
    arguments.request.is_over = [&] { return steps.seconds() > arguments.time_limit; };
  const auto compiled = compile_model(arguments.request);
  steps.clear();
  if (!compiled) return refuse(compiled.error());
  if (arguments.json)
    std::cout << compilation_json(arguments.request, *compiled)
                     .dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)
              << "\n";
  else if (!arguments.quiet)
    std::cout << compilation_text(arguments.request, *compiled);
  return ExitCode::done;
}

}  // namespace

void add_compile_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "compile", "compile a model as a shared library for the processors here");
  auto arguments = std::make_shared<CompileArguments>();
  CompilationRequest& request = arguments->request;
  command->add_option("model", request.model, "ONNX file")->required();
  command->add_option("-o,--output", request.directory, "the directory, which is made");
  command->add_flag("--cached", arguments->is_cached,
                    "keep the library in the cache of compiled programs, and say where it is");
  command->add_flag("--parts", request.in_parts,
                    "with --cached: parts of the model that no program computes become models for "
                    "ONNX Runtime");
  command
      ->add_option("--threads", request.threads,
                   "threads that run the program, at most: fewer where it ends sooner with them as "
                   "planned (0: as many as there are processors here)")
      ->check(check_threads);
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated), or list several, "
                      "NAME:1/4/16,128");
  command
      ->add_option("--most-steps", request.most_rows,
                   "room in outputs with a row for each step of a loop, where a run decides how "
                   "many steps these are")
      ->check(check_positive)
      ->capture_default_str();
  command
      ->add_option("--database", arguments->schedules.database,
                   "the file of loop schedules that `lemma tune` has found; the default can be set "
                   "by $LEMMA_PROFILE")
      ->capture_default_str();
  add_schedule_flag(*command, arguments->schedules);
  command->add_option("--name", request.name,
                      "of the functions and files (default: that of the model)");
  command->add_flag(
      "--replace", request.replaces,
      "replace what lemma wrote in a directory that is there; what else is in it stays");
  command
      ->add_option("--time-limit", arguments->time_limit,
                   "seconds after which nothing more is begun and compilers are ended, without a "
                   "result (0: none)")
      ->check(check_non_negative);
  command->add_flag("-q,--quiet", arguments->quiet, "say nothing but errors");
  command->add_flag("-v,--verbose", arguments->verbose, "say what is done as it begins");
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] { exit_code = run_compile(*arguments); });
}

}  // namespace lemma
