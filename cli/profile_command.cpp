#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <thread>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "engines/model_profiler.h"
#include "outputs/files.h"
#include "report/profile_report.h"
#include "report/table.h"
#include "rule_language/rule_database.h"
#include "system/clock.h"
#include "system/signals.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

Result<std::unique_ptr<ModelProfiler>> profiler_for(const ProfileArguments& arguments,
                                                    ProfileDatabase& database) {
  const Target& target = *find_target(arguments.target);
  if (target.is_onnx_runtime()) return runtime_profiler(arguments, database);
  LEMMA_ASSIGN_OR_RETURN(const auto file,
                         device_file(target.name(), DevicePart::operators, "--target"));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(file));
  TimerRequest request;
  request.threads = profiled_threads(arguments);
  request.is_interrupted = is_stop_requested;
  request.database = arguments.database;
  LEMMA_ASSIGN_OR_RETURN(TargetTimers timers, target.timers(request));
  return operator_profiler(arguments, database, priced_by_roofline(std::move(device)),
                           std::move(timers));
}

std::string profiled_targets_help() {
  std::string help = "what is measured:";
  for (const std::string& name : profiled_targets())
    help += fmt::format("{} {} ({})", help.ends_with(':') ? "" : ",", name,
                        find_target(name)->measured_part());
  return help;
}

ExitCode nothing_measured(const ProfileArguments& arguments, const Error& why) {
  const ExitCode code =
      report_error({ErrorKind::unsupported, "nothing can be measured: " + why.message});
  return find_target(arguments.target)->needs_device() ? ExitCode::no_device : code;
}

Result<ExitCode> profile_models(const ProfileArguments& arguments, ProfileDatabase& database) {
  stop_at_signals();
  LEMMA_ASSIGN_OR_RETURN(const auto made, profiler_for(arguments, database));
  ModelProfiler& profiler = *made;
  if (const auto begun = profiler.begin(); !begun)
    return nothing_measured(arguments, begun.error());
  std::vector<Profiled> all;
  bool failed = false;
  for (const std::string& file : arguments.models) {
    if (is_stop_requested()) break;
    auto profiled = profiler.profile(file);
    if (!profiled) {
      failed = true;
      std::cerr << error_line(file, profiled.error().message) << "\n";
      Profiled without;
      without.model = file;
      without.failure = profiled.error().message;
      all.push_back(without);
      continue;
    }
    for (const auto& [key, why] : profiled->refused)
      std::cerr << error_line(file, fmt::format("not measured: {}: {}", key, why)) << "\n";
    if (!profiled->not_run.empty() && !is_stop_requested())
      std::cerr << error_line(file, "not run: " + profiled->not_run) << "\n";
    all.push_back(std::move(*profiled));
  }
  if (isatty(STDERR_FILENO) == 1) std::cerr << "\33[K";
  if (arguments.hold_out_all) profiler.hold_out_all(all);
  if (arguments.json)
    std::cout << profile_json(profiler.target(), all) << "\n";
  else
    std::cout << profile_table(all);
  if (is_stop_requested()) std::cerr << "lemma: interrupted; what was measured is kept\n";
  return failed || is_stop_requested() ? ExitCode::some_models_failed : ExitCode::done;
}

Result<void> take_resources(const std::string& file, ProfileDatabase& database) {
  LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
  const auto facts = parse_resources(text);
  if (!facts) return bad_input(file + ": " + facts.error().message);
  LEMMA_RETURN_IF_ERROR(database.put(*facts));
  std::cout << fmt::format("{}: {} functions read\n", printable(file), facts->functions.size());
  return {};
}

/// What is known of functions; nothing where nothing is.
Result<std::string> resource_listing(const ProfileDatabase& database) {
  using enum Table::Align;
  LEMMA_ASSIGN_OR_RETURN(const auto all, database.resources());
  if (all.empty()) return std::string();
  Table table({"architecture", "compiler", "headers", "threads", "functions", "that spill"},
              {left, left, left, right, right, right});
  for (const ResourceFacts& facts : all) {
    const CompiledSource& source = facts.source;
    const auto spilling =
        std::count_if(facts.functions.begin(), facts.functions.end(),
                      [](const auto& function) { return function.spilled_bytes > 0; });
    table.add({source.architecture, source.compiler, source.headers,
               fmt::format("{}", source.block_threads), fmt::format("{}", facts.functions.size()),
               fmt::format("{}", spilling)});
  }
  return "\n" + table.text();
}

Result<std::string> listing(const ProfileDatabase& database) {
  using enum Table::Align;
  Table table({"runtime", "processor", "threads", "how it is known", "entries"},
              {left, left, right, left, right});
  LEMMA_ASSIGN_OR_RETURN(const auto targets, database.targets());
  for (const RuntimeIdentity& target : targets) {
    LEMMA_ASSIGN_OR_RETURN(const auto entries, database.entries(target));
    std::map<Provenance, std::size_t> counts;
    for (const ProfileEntry& entry : entries) ++counts[entry.provenance];
    for (const auto& [provenance, count] : counts)
      table.add({target.runtime, target.processor, fmt::format("{}", target.threads),
                 std::string(name(provenance)), fmt::format("{}", count)});
  }
  LEMMA_ASSIGN_OR_RETURN(const std::string resources, resource_listing(database));
  return table.text() + resources;
}

void show_progress(const std::string& file, std::size_t done, std::size_t total) {
  std::cerr << printable(fmt::format("{}: node {} of {}", file, done + 1, total)) << "\33[K\r"
            << std::flush;
}

Result<ExitCode> work(const ProfileArguments& arguments) {
  if (arguments.models.empty() && !arguments.list && arguments.export_file.empty() &&
      arguments.import_file.empty() && arguments.resources.empty())
    return bad_input(
        "give models to profile, or --list, --export FILE, --import FILE or --resources FILE");
  if (arguments.database.empty())
    return bad_input(
        "there is no home folder for the database of what is measured; give --database or set "
        "LEMMA_PROFILE");
  FilePlan plan;
  for (const std::string& model : arguments.models) read_model(plan, model);
  plan.reads(arguments.import_file, "--import");
  for (const std::string& file : arguments.resources) plan.reads(file, "--resources");
  plan.writes(arguments.database, "--database");
  plan.writes(arguments.export_file, "--export");
  LEMMA_RETURN_IF_ERROR(plan.check());
  LEMMA_ASSIGN_OR_RETURN(ProfileDatabase database, ProfileDatabase::open(arguments.database));
  if (!arguments.import_file.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(arguments.import_file));
    const auto count = database.import_json(
        text, arguments.elsewhere ? Provenance::measured_elsewhere : Provenance::measured);
    if (!count) return bad_input(arguments.import_file + ": " + count.error().message);
    std::cout << fmt::format("{} entries read\n", *count);
  }
  for (const std::string& file : arguments.resources)
    LEMMA_RETURN_IF_ERROR(take_resources(file, database));
  ExitCode code = ExitCode::done;
  if (!arguments.models.empty()) {
    LEMMA_ASSIGN_OR_RETURN(code, profile_models(arguments, database));
  }
  if (!arguments.export_file.empty()) {
    LEMMA_ASSIGN_OR_RETURN(const std::string text, database.export_json());
    LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.export_file, text));
  }
  if (arguments.list) {
    LEMMA_ASSIGN_OR_RETURN(const std::string text, listing(database));
    std::cout << text;
  }
  std::cout.flush();
  return code;
}

}  // namespace

void add_profile_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "profile", "measure how long the operators of models take on a target");
  auto arguments = std::make_shared<ProfileArguments>();
  if (isatty(STDERR_FILENO) == 1) arguments->on_progress = show_progress;
  command->add_option("--target", arguments->target, profiled_targets_help())
      ->check(CLI::IsMember(profiled_targets()))
      ->capture_default_str();
  command->add_option(
      "models", arguments->models,
      "ONNX files: their nodes are measured one by one, and the sum is compared with "
      "the model's own time");
  command
      ->add_option("--database", arguments->database,
                   "the file that keeps what is measured; the default can be set by $LEMMA_PROFILE")
      ->capture_default_str();
  command->add_option("--threads", arguments->threads, "threads of the runtime; 0: all processors")
      ->check(check_threads);
  command->add_option("--time-limit", arguments->seconds, "seconds for measuring, for each model")
      ->check(check_non_negative)
      ->capture_default_str();
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_option("--size", arguments->size, "what a dynamic size is taken for")
      ->check(check_positive)
      ->capture_default_str();
  command->add_flag("--hold-out-all", arguments->hold_out_all,
                    "hold out the nodes of all models given, not of each model only");
  command->add_flag("--list", arguments->list, "say what the database holds");
  command->add_option("--export", arguments->export_file,
                      "write the database to this file as JSON");
  command->add_option("--import", arguments->import_file, "take in what --export wrote")
      ->check(CLI::ExistingFile);
  command
      ->add_option("--resources", arguments->resources,
                   "take in a resources.json of scripts/cuda_resources: what nvcc made of "
                   "functions; those that spilled registers are not chosen again (may be repeated)")
      ->check(CLI::ExistingFile);
  command->add_flag("--elsewhere", arguments->elsewhere,
                    "what is imported was measured on another machine of this kind");
  command->add_flag("--json", arguments->json, "print one JSON object instead of the table");
  command->callback([arguments, &exit_code] {
    const auto code = work(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
