#include "cli/commands.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "batch/child_process.h"
#include "batch/memory_guard.h"
#include "batch/process_faults.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "cli/resource_options.h"
#include "engines/model_run.h"
#include "engines/run_worker.h"
#include "frontend_onnx/value_file.h"
#include "outputs/files.h"
#include "programs/kernel_times_file.h"
#include "programs/nvidia_device.h"
#include "report/table.h"
#include "targets/data_files.h"
#include "targets/target.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using interpreter::Comparison;
using interpreter::Tensor;
using Json = nlohmann::ordered_json;

constexpr std::size_t shown_elements = 6;
constexpr const char* worker_option = "--answers-jobs";

struct RunArguments {
  std::string model, batch, inputs, compare, outputs, times;
  std::vector<std::string> shapes;
  std::string engine = "interpreter";
  CudaChoice cuda;
  std::string architecture;  // empty: that of the device that is here
  std::uint64_t seed = 0;
  bool random = false;
  bool json = false;
  bool is_worker = false;
  int threads = 0;
  ValueTolerance tolerance = {{.absolute = 1e-7, .relative = 1e-3}, true};
  double time_limit = 0;                // seconds; 0: none
  std::int64_t memory_limit_bytes = 0;  // 0: none
};

struct Statistics {
  double minimum = std::numeric_limits<double>::quiet_NaN();
  double mean = std::numeric_limits<double>::quiet_NaN();
  double maximum = std::numeric_limits<double>::quiet_NaN();
};

Statistics statistics_of(const std::vector<double>& elements) {
  if (elements.empty()) return {};
  double sum = 0;
  for (const double element : elements) sum += element;
  const auto [least, greatest] = std::minmax_element(elements.begin(), elements.end());
  return {*least, sum / static_cast<double>(elements.size()), *greatest};
}

Statistics statistics_of(const RunTimeValue& value) {
  const Constant* tensor = value.tensor();
  return tensor != nullptr ? statistics_of(Tensor::of(*tensor).reals()) : Statistics();
}

/// The first elements of strings and of sequences.
std::string first_parts(const RunTimeValue& value) {
  std::vector<std::string> shown;
  std::size_t count = 0;
  if (const Strings* strings = value.strings()) {
    count = strings->elements.size();
    for (std::size_t i = 0; i < std::min(count, shown_elements); ++i)
      shown.push_back(printable(strings->elements[i]));
  } else if (const auto* sequence = value.sequence()) {
    count = sequence->size();
    for (std::size_t i = 0; i < std::min(count, shown_elements); ++i)
      shown.push_back(text((*sequence)[i]));
  }
  return fmt::format("{}{}", fmt::join(shown, " "), count > shown_elements ? " ..." : "");
}

std::string first_elements(const RunTimeValue& value) {
  if (value.tensor() == nullptr) return first_parts(value);
  const Tensor tensor = Tensor::of(*value.tensor());
  std::vector<std::string> shown;
  if (is_real(tensor.data_type())) {
    const std::vector<double> elements = tensor.reals();
    for (std::size_t i = 0; i < std::min(elements.size(), shown_elements); ++i)
      shown.push_back(fmt::format("{:.5g}", elements[i]));
  } else {
    const std::vector<std::int64_t> elements = tensor.integers();
    for (std::size_t i = 0; i < std::min(elements.size(), shown_elements); ++i)
      shown.push_back(tensor.data_type() == DataType::u64
                          ? fmt::format("{}", static_cast<std::uint64_t>(elements[i]))
                          : fmt::format("{}", elements[i]));
  }
  const bool more = tensor.element_count() > static_cast<std::int64_t>(shown_elements);
  return fmt::format("{}{}", fmt::join(shown, " "), more ? " ..." : "");
}

Json comparison_json(const Comparison& comparison) {
  return {
      {"equal", comparison.equal},
      {"max_absolute_error", comparison.max_absolute_error},
      {"max_relative_error", comparison.max_relative_error},
      {"tolerance_factor", comparison.tolerance_factor},
      {"failures", comparison.failures},
      {"first_failure", comparison.first_failure ? Json(*comparison.first_failure) : Json(nullptr)},
      {"description", comparison.description}};
}

Json output_json(const RunOutput& output) {
  const Statistics statistics = statistics_of(output.value);
  Json json = {{"name", output.name},
               {"type", text(output.value)},
               {"min", statistics.minimum},
               {"mean", statistics.mean},
               {"max", statistics.maximum}};
  if (output.is_drawn) json["drawn"] = true;
  if (output.comparison) json["comparison"] = comparison_json(*output.comparison);
  return json;
}

std::string dump(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

Json answer_json(const std::string& model, const RunAnswer& answer) {
  Json outputs = Json::array();
  for (const RunOutput& output : answer.outputs) outputs.push_back(output_json(output));
  return {{"model", model},
          {"status", name(answer.status)},
          {"reason", answer.reason},
          {"seconds", answer.seconds},
          {"outputs", outputs}};
}

std::string output_table(const RunAnswer& answer) {
  using enum Table::Align;
  Table table({"output", "type", "min", "mean", "max", "elements"},
              {left, left, right, right, right, left});
  for (const RunOutput& output : answer.outputs) {
    const Statistics statistics = statistics_of(output.value);
    table.add({printable(output.name), text(output.value),
               fmt::format("{:.5g}", statistics.minimum), fmt::format("{:.5g}", statistics.mean),
               fmt::format("{:.5g}", statistics.maximum), first_elements(output.value)});
  }
  return table.text();
}

std::string factor_text(double factor) {
  if (std::isinf(factor)) return "none";
  return fmt::format("{:.3g}", factor);
}

std::string comparison_table(const RunAnswer& answer) {
  using enum Table::Align;
  Table table({"output", "type", "equal", "max error", "max relative", "differing", "tolerance x",
               "first difference"},
              {left, left, left, right, right, right, right, left});
  for (const RunOutput& output : answer.outputs) {
    if (!output.comparison) continue;
    const Comparison& comparison = *output.comparison;
    const std::string_view equal = output.is_drawn ? "drawn" : "yes";
    table.add({printable(output.name), text(output.value),
               std::string(comparison.equal ? equal : "NO"),
               fmt::format("{:.3g}", comparison.max_absolute_error),
               fmt::format("{:.3g}", comparison.max_relative_error),
               fmt::format("{}", comparison.failures),
               comparison.type_difference.empty() ? factor_text(comparison.tolerance_factor) : "",
               comparison.equal ? "" : comparison.description});
  }
  return table.text();
}

/// All of them, or none.
Result<void> write_outputs(const RunArguments& arguments, const RunAnswer& answer) {
  const fs::path folder = arguments.outputs;
  LEMMA_RETURN_IF_ERROR(make_folder(folder));
  FilePlan plan;
  read_model(plan, arguments.model);
  plan.reads_below(arguments.inputs, "--inputs", "input_");
  plan.reads_below(arguments.compare, "--compare", "output_");
  std::vector<std::pair<std::string, std::string>> files;
  for (std::size_t i = 0; i < answer.outputs.size(); ++i) {
    const RunOutput& output = answer.outputs[i];
    LEMMA_ASSIGN_OR_RETURN(std::string bytes, serialize_value(output.name, output.value));
    files.emplace_back(fmt::format("output_{}.pb", i), std::move(bytes));
    plan.writes(folder / files.back().first, "--outputs");
  }
  LEMMA_RETURN_IF_ERROR(plan.check());
  return write_files_atomically(folder, files);
}

ExitCode exit_code_of(RunStatus status) {
  switch (status) {
    case RunStatus::passed: return ExitCode::done;
    case RunStatus::wrong: return ExitCode::check_failed;
    case RunStatus::unsupported:
    case RunStatus::timed_out: return ExitCode::some_models_failed;
    case RunStatus::bad_input: return ExitCode::bad_input;
    case RunStatus::internal_fault: return ExitCode::internal_fault;
    case RunStatus::no_device: return ExitCode::no_device;
  }
  return ExitCode::internal_fault;
}

ExitCode complain(std::string_view model, const Error& error) {
  std::cerr << error_line(model, error.message) << "\n";
  return exit_code_of(error.kind);
}

/// The source of the program that the engine is; none: the interpreter.
ProgramSource source_of(const RunArguments& arguments) {
  return find_source(arguments.engine).value_or(ProgramSource::none);
}

/// Chooses what is compiled, and for what.
Result<void> choose_engine(const RunArguments& arguments, RunRequest& request) {
  if (!arguments.times.empty() && source_of(arguments) != ProgramSource::cpp)
    return bad_input("--kernel-times is for --engine rtask-cpu");
  if (source_of(arguments) == ProgramSource::cuda) {
    LEMMA_ASSIGN_OR_RETURN(request.cuda, nvidia_device(arguments.cuda));
    return {};
  }
  if (!arguments.architecture.empty()) return bad_input("--arch is for --engine rtask-cuda");
  if (arguments.cuda.takes_tf32) return bad_input("--tf32 is for --engine rtask-cuda");
  if (source_of(arguments) == ProgramSource::cpp) {
    LEMMA_ASSIGN_OR_RETURN(const auto device,
                           processor_device(arguments.cuda.device, arguments.threads));
    request.task_program = processor_options(arguments.threads, device);
    LEMMA_ASSIGN_OR_RETURN(request.times,
                           kernel_times_for_processor(arguments.times, request.notes));
  } else if (!arguments.cuda.device.empty()) {
    return bad_input("--device is for --engine rtask-cpu and rtask-cuda");
  }
  return {};
}

Result<RunRequest> request_of(const RunArguments& arguments) {
  RunRequest request;
  request.model = arguments.model;
  if (!arguments.inputs.empty()) request.inputs = arguments.inputs;
  if (arguments.random) request.seed = arguments.seed;
  if (!arguments.compare.empty()) request.expected = arguments.compare;
  request.tolerance = arguments.tolerance;
  request.threads = arguments.threads;
  LEMMA_RETURN_IF_ERROR(choose_engine(arguments, request));
  LEMMA_ASSIGN_OR_RETURN(request.shapes, parse_shape_options(arguments.shapes));
  return request;
}

/// Whose files are to be written is known when the model has been run; which of a folder may be is known before.
Result<void> check_files(const RunArguments& arguments) {
  if (arguments.outputs.empty()) return {};
  FilePlan plan;
  read_model(plan, arguments.model);
  plan.fills(arguments.outputs, "--outputs");
  LEMMA_RETURN_IF_ERROR(plan.check());
  std::error_code error;
  if (!arguments.compare.empty() && fs::equivalent(arguments.outputs, arguments.compare, error))
    return bad_input(
        fmt::format("{}: --outputs would replace what --compare reads", arguments.outputs));
  return {};
}

/// What is printed of the answer for one model.
RunReply reply_to_model(const RunArguments& arguments, const RunAnswer& answer) {
  RunReply reply{answer.status, "", ""};
  const bool computed = answer.status == RunStatus::passed || answer.status == RunStatus::wrong;
  for (const std::string& note : answer.notes) reply.errors += printable("note: " + note) + "\n";
  if (arguments.json)
    reply.output = dump(answer_json(arguments.model, answer)) + "\n";
  else if (computed)
    reply.output = arguments.compare.empty() ? output_table(answer) : comparison_table(answer);
  if (!answer.reason.empty()) reply.errors += error_line(arguments.model, answer.reason) + "\n";
  return reply;
}

RunReply run_model_of(const RunArguments& arguments) {
  const auto failed = [](const Error& error) {
    return RunReply{status_of(error.kind), "", error_line("", error.message) + "\n"};
  };
  auto request = request_of(arguments);
  if (!request) return failed(request.error());
  const RunAnswer answer = run_model(*request);
  const bool computed = answer.status == RunStatus::passed || answer.status == RunStatus::wrong;
  if (computed && !arguments.outputs.empty()) {
    auto written = write_outputs(arguments, answer);
    if (!written) return failed(written.error());
  }
  return reply_to_model(arguments, answer);
}

/// What is printed of the answer for one line of a batch, on standard output alone.
RunReply reply_to_job(const RunArguments& arguments, const std::string& model,
                      const RunAnswer& answer) {
  const bool is_drawn = std::any_of(answer.outputs.begin(), answer.outputs.end(),
                                    [](const RunOutput& output) { return output.is_drawn; });
  Json json = {{"model", model}, {"status", name(answer.status)}, {"reason", answer.reason}};
  if (is_drawn) json["drawn"] = true;
  std::string line = arguments.json
                         ? dump(json)
                         : printable(fmt::format("{}: {}{}{}", model, name(answer.status),
                                                 answer.reason.empty() ? "" : ": ", answer.reason));
  return {answer.status, line + "\n", ""};
}

/// `job`: MODEL<tab>FOLDER.
RunReply run_job(const RunArguments& arguments, const std::string& job) {
  RunRequest request;
  const std::size_t tab = job.find('\t');
  request.model = job.substr(0, tab);
  request.inputs = request.expected = job.substr(tab + 1);
  request.tolerance = arguments.tolerance;
  request.threads = arguments.threads;
  RunAnswer answer;
  if (const auto chosen = choose_engine(arguments, request); chosen)
    answer = run_model(request);
  else
    answer = failed_run(chosen.error());
  return reply_to_job(arguments, request.model.string(), answer);
}

/// What went wrong most seriously.
RunStatus worse(RunStatus a, RunStatus b) {
  auto rank = [](RunStatus status) {
    switch (status) {
      case RunStatus::passed: return 0;
      case RunStatus::unsupported:
      case RunStatus::timed_out: return 1;
      case RunStatus::no_device: return 2;
      case RunStatus::bad_input: return 3;
      case RunStatus::wrong: return 4;
      case RunStatus::internal_fault: return 5;
    }
    return 5;
  };
  return rank(a) < rank(b) ? b : a;
}

RunStatus print_reply(const RunReply& reply) {
  std::cerr << reply.errors;
  std::cout << reply.output << std::flush;
  return reply.status;
}

/// Answers jobs of a RunWorker.
ExitCode work_off_jobs(const RunArguments& arguments) {
  tell_cut_files(STDOUT_FILENO, cut_file_prefix);
  std::optional<MemoryGuard> memory;
  if (arguments.memory_limit_bytes > 0)
    memory.emplace(static_cast<std::size_t>(arguments.memory_limit_bytes));
  for (std::string job; std::getline(std::cin, job);)
    std::cout << to_json(arguments.batch.empty() ? run_model_of(arguments)
                                                 : run_job(arguments, job))
              << std::endl;
  return ExitCode::done;
}

RunWorker worker_for(const RunArguments& arguments) {
  std::vector<std::string> words = command_words();
  words.emplace_back(worker_option);
  return {std::move(words), arguments.time_limit};
}

/// The worker's reply, or why there is none.
template <typename Reply>
RunReply reply_of(RunWorker& worker, const std::string& job, const Reply& reply_to) {
  bool timed_out = false;
  auto reply = worker.run(job, timed_out);
  if (reply) return std::move(*reply);
  RunAnswer answer = failed_run(reply.error());
  if (timed_out) answer.status = RunStatus::timed_out;
  return reply_to(answer);
}

ExitCode run_one(const RunArguments& arguments) {
  if (const auto files = check_files(arguments); !files) return complain("", files.error());
  if (arguments.time_limit <= 0 && arguments.memory_limit_bytes <= 0)
    return exit_code_of(print_reply(run_model_of(arguments)));
  RunWorker worker = worker_for(arguments);
  return exit_code_of(print_reply(reply_of(
      worker, "", [&](const RunAnswer& answer) { return reply_to_model(arguments, answer); })));
}

ExitCode run_batch(const RunArguments& arguments) {
  RunRequest unused;
  if (const auto chosen = choose_engine(arguments, unused); !chosen)
    return complain("", chosen.error());
  std::ifstream jobs(arguments.batch);
  if (!jobs) return complain("", Error{ErrorKind::bad_input, arguments.batch + ": cannot be read"});
  RunWorker worker = worker_for(arguments);
  RunStatus worst = RunStatus::passed;
  std::string line;
  for (std::size_t number = 1; std::getline(jobs, line); ++number) {
    if (line.empty()) continue;
    const std::size_t tab = line.find('\t');
    const std::string model = line.substr(0, tab);
    const auto reply_to = [&](const RunAnswer& answer) {
      return reply_to_job(arguments, model, answer);
    };
    RunReply reply;
    if (tab == std::string::npos) {
      const Error error{ErrorKind::bad_input, fmt::format("{}: line {}: expected MODEL<tab>FOLDER",
                                                          arguments.batch, number)};
      reply = reply_to(failed_run(error));
      reply.errors = error_line("", error.message) + "\n";
    } else {
      reply = reply_of(worker, line, reply_to);
    }
    worst = worse(worst, print_reply(reply));
  }
  return exit_code_of(worst);
}

ExitCode run_run(RunArguments arguments) {
  if (arguments.batch.empty() == arguments.model.empty())
    return complain("", Error{ErrorKind::bad_input, "give either a model or --batch FILE"});
  if (!arguments.architecture.empty()) {
    arguments.cuda.architecture = arguments.architecture;
  } else if (source_of(arguments) == ProgramSource::cuda) {
    if (const auto chosen = choose_device_here(arguments.cuda); !chosen) {
      complain(arguments.model, chosen.error());
      return ExitCode::no_device;
    }
  }
  if (arguments.is_worker) return work_off_jobs(arguments);
  return arguments.batch.empty() ? run_one(arguments) : run_batch(arguments);
}

}  // namespace

static std::vector<std::string> engines() {
  std::vector<std::string> names = names_of_targets([](const Target& target) {
    return target.source() == ProgramSource::cpp || target.source() == ProgramSource::cuda;
  });
  names.insert(names.begin(), "interpreter");
  return names;
}

void add_run_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand("run", "run an ONNX model and compare its outputs");
  auto arguments = std::make_shared<RunArguments>();
  command->add_option("model", arguments->model, "ONNX file");
  auto* inputs =
      command->add_option("--inputs", arguments->inputs,
                          "folder of input_0.pb, input_1.pb, ... in order of the inputs");
  command->add_option("--seed", arguments->seed, "seed of the random inputs that are drawn")
      ->each([arguments](const std::string&) { arguments->random = true; })
      ->excludes(inputs);
  command->add_option("--compare", arguments->compare,
                      "folder of the expected output_0.pb, output_1.pb, ...");
  const auto is_given = [arguments](const std::string&) {
    arguments->tolerance.knows_scale = false;
  };
  command->add_option("--rtol", arguments->tolerance.relative, "relative tolerance")
      ->each(is_given)
      ->check(check_non_negative)
      ->capture_default_str();
  command
      ->add_option("--atol", arguments->tolerance.absolute,
                   "absolute tolerance; where neither is given, also some roundings of an output's "
                   "scale")
      ->each(is_given)
      ->check(check_non_negative)
      ->capture_default_str();
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command
      ->add_option(
          "--engine", arguments->engine,
          "the interpreter, or a program that is compiled for this processor or a CUDA device")
      ->check(CLI::IsMember(engines()))
      ->capture_default_str();
  command
      ->add_option("--arch", arguments->architecture,
                   "of the device, with --engine rtask-cuda (default: the device that is here)")
      ->check(CLI::IsMember(cuda_architectures()));
  command->add_option("--device", arguments->cuda.device,
                      "what the schedule is for, as for `lemma emit` (default: with --engine "
                      "rtask-cuda by --arch, else the processors here)");
  command->add_option("--kernel-times", arguments->times,
                      "with --engine rtask-cpu: measured times of tasks, as for `lemma emit`");
  command->add_flag(
      "--tf32", arguments->cuda.takes_tf32,
      "with --engine rtask-cuda: round the factors of products of f32 to TF32, as for "
      "`lemma emit`");
  add_resource_options(*command, arguments->cuda.known, "with --engine rtask-cuda");
  command->add_option("--outputs", arguments->outputs, "folder to write output_0.pb, ... to");
  command->add_option(
      "--batch", arguments->batch,
      "file of jobs, one per line: MODEL<tab>FOLDER of inputs and expected outputs");
  command->add_option("--threads", arguments->threads, "number of threads (0: all processors)")
      ->check(check_threads);
  command
      ->add_option("--model-time-limit", arguments->time_limit,
                   "seconds after which a model, or with --batch each job, is given up; 0: never")
      ->check(check_non_negative)
      ->capture_default_str();
  command
      ->add_option("--memory-limit", arguments->memory_limit_bytes,
                   "most memory for each model, such as 1G or 500M")
      ->transform(CLI::AsSizeValue(false))
      ->check(check_bytes);
  command->add_flag(worker_option, arguments->is_worker)->group("");
  command->add_flag("--json", arguments->json,
                    "print one JSON object (with --batch, one line for each job)");
  command->callback([arguments, &exit_code] { exit_code = run_run(*arguments); });
}

}  // namespace lemma
