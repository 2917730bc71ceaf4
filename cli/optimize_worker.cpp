#include <unistd.h>

#include <algorithm>
#include <future>
#include <iostream>
#include <optional>

#include "base/deadline.h"
#include "batch/child_process.h"
#include "batch/memory_guard.h"
#include "batch/optimize_request.h"
#include "batch/process_faults.h"
#include "cli/commands.h"
#include "frontend_onnx/content_digest.h"
#include "frontend_onnx/import.h"
#include "outputs/scratch.h"
#include "programs/shape_option.h"
#include "system/program.h"
#include "targets/target.h"

namespace lemma {

namespace {

void say_stage(const std::string& what) { std::cout << "stage " << what << "\n" << std::flush; }

/// The target's program of what was written, if it has one.
Result<void> write_program(const Target& target, const OptimizeRequest& request,
                           OptimizeAnswer& answer) {
  if (request.task_program.empty()) return {};
  say_stage("writing the task program");
  std::function<void(const std::filesystem::path&)> before_publishing;
  if (request.takes_digests)
    before_publishing = [&](const std::filesystem::path& directory) {
      answer.program_digest = target.program_digest(directory);
    };
  if (auto written = target.write_program(request.output, request.task_program,
                                          request.options.threads, before_publishing);
      !written)
    return with_context("the model is written, but not its task program",
                        std::move(written.error()));
  answer.task_program = request.task_program;
  return {};
}

/// A small file is read before anything else is loaded and started: if it cannot be, the answer comes at once.
Result<void> check_small_model(const std::filesystem::path& model, const ImportOptions& reading) {
  constexpr std::uintmax_t small = 1U << 20U;  // bytes: read twice sooner than the rules are once
  std::error_code error;
  if (!std::filesystem::is_regular_file(model, error) ||
      std::filesystem::file_size(model, error) > small || error)
    return {};
  if (auto read = import_model(model, reading); !read)
    return tl::unexpected(std::move(read.error()));
  return {};
}

/// Optimizes a model, and tells in the answer what was written.
Result<OptimizeReport> work(const OptimizeRequest& request, OptimizeAnswer& answer) {
  const Deadline deadline = Deadline::after(request.options.time_limit_seconds);
  std::optional<MemoryGuard> memory;
  if (request.memory_limit_bytes > 0)
    memory.emplace(static_cast<std::size_t>(request.memory_limit_bytes));
  OptimizeOptions options = request.options;
  options.on_stage = say_stage;
  if (request.takes_digests)
    options.before_publishing = [&answer](const auto& model, const auto& data_folder) {
      answer.output_digest = model_digest(model, data_folder).value_or("");
    };
  if (memory) options.available_bytes = [&memory] { return memory->available_bytes(); };
  LEMMA_ASSIGN_OR_RETURN(options.reading.shapes, parse_shape_options(request.shapes, "--shape"));
  options.reading.outputs = request.outputs;
  options.reading.fix_overridable_initializers = request.fixes_defaults;
  LEMMA_ASSIGN_OR_RETURN(options.sample_shapes,
                         parse_shape_options(request.sample_shapes, "--sample-shape"));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(request.device_file));
  if (options.search.target_values.empty()) options.search.target_values = device.target_values;
  options.search.takes_partial = options.search.takes_partial || device.takes_partial;
  LEMMA_RETURN_IF_ERROR(check_small_model(request.model, options.reading));
  RuleDatabase rules;
  // Importing ONNX Runtime takes longer than loading the rules.
  std::optional<OnnxRuntimeWorker> runtime;
  if (options.searches && options.onnx_runtime)
    options.worker = &runtime.emplace(*options.onnx_runtime);
  if (options.searches) {
    say_stage("loading rules");
    LEMMA_ASSIGN_OR_RETURN(rules, requested_rules(request));
  }
  // Judges and timers need a place for files.
  const TemporaryDirectory scratch;
  LEMMA_RETURN_IF_ERROR(scratch.require());
  options.target = find_target(request.target);
  options.time_limit_seconds = deadline.remaining();
  auto report = optimize_model(request.model, request.output, rules,
                               OperatorCosts(priced_by_roofline(std::move(device))), options);
  if (report && options.target != nullptr)
    LEMMA_RETURN_IF_ERROR(write_program(*options.target, request, answer));
  return report;
}

Result<OptimizeReport> work_or_tell(const OptimizeRequest& request, OptimizeAnswer& answer) {
  try {
    return work(request, answer);
  } catch (const std::exception& fault) {
    return tl::unexpected(error_of(fault));
  }
}

/// The digest of a model that is read meanwhile.
class ModelDigest {
 public:
  explicit ModelDigest(std::string model)
      : model_(std::move(model)),
        state_(model_state(model_)),
        digest_(std::async(std::launch::async | std::launch::deferred,
                           [this] { return model_digest(model_).value_or(""); })) {}
  /// Empty if the model has changed: then nobody knows what was read.
  std::string take() {
    std::string digest = digest_.get();
    return model_state(model_) == state_ ? digest : "";
  }

 private:
  std::string model_, state_;
  std::future<std::string> digest_;
};

ExitCode run_worker() {
  tell_cut_files(STDOUT_FILENO, cut_file_prefix);
  std::string line;
  std::getline(std::cin, line);
  const auto request = parse_request(line);
  if (!request) return ExitCode::internal_fault;
  OptimizeAnswer answer;
  answer.model = request->model;
  std::optional<ModelDigest> digest;
  if (request->takes_digests) digest.emplace(request->model);
  auto done = work_or_tell(*request, answer);
  if (done && digest) answer.model_digest = digest->take();
  if (done) {
    answer.report = std::move(*done);
    answer.status = name(answer.report.status);
    answer.message = answer.report.message;
  } else {
    answer.status = "failed";
    answer.error_kind = static_cast<int>(done.error().kind);
    answer.message = done.error().message;
  }
  std::cout << to_json(answer) << "\n" << std::flush;
  // The answer is out: tearing down large graphs and mappings would only cost time.
  std::_Exit(static_cast<int>(ExitCode::done));
}

}  // namespace

void add_optimize_worker_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand("optimize-worker", "");
  command->group("");  // hidden: it speaks the protocol of optimize_request.h
  command->callback([&exit_code] { exit_code = run_worker(); });
}

}  // namespace lemma
