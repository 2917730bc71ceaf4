#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backend_cuda/emit/emit_program.h"
#include "backend_cuda/execute/prepared_graph.h"
#include "backend_cuda/execute/program_times.h"
#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/number_check.h"
#include "cli/shape_option.h"
#include "cli/timeline_svg.h"
#include "frontend_onnx/import.h"
#include "interpreter/random.h"
#include "ir/files.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using interpreter::NamedTensor;
using interpreter::Tensor;

struct EmitArguments {
  std::string model, directory, target = "cpu", policy, name, timeline;
  std::vector<std::string> shapes;
  std::uint64_t seed = 0;
  int threads = 0;
  bool replaces = false;
  bool fuses = true;
  bool json = false;
};

/// Random inputs, whose sizes must be fixed.
Result<std::vector<NamedTensor>> inputs_of(const Graph& graph, std::uint64_t seed) {
  std::vector<NamedTensor> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const std::string& name = graph.input_name(node);
    const TensorType& type = graph.type(node.output());
    if (!is_computable(type.data_type))
      return unsupported(fmt::format("input '{}' has the type {}", name, text(type)));
    const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
    if (!sizes)
      return bad_input(fmt::format("the sizes of input '{}', {}, are not fixed; give --shape", name,
                                   text(type)));
    inputs.push_back({name, interpreter::random_tensor(type.data_type, *sizes, seed,
                                                       interpreter::stream_of(name))});
  }
  return inputs;
}

Result<backend::CompileOptions> options_of(const EmitArguments& arguments) {
  backend::CompileOptions options;
  options.device = backend::cpu_device(backend::thread_count(arguments.threads));
  options.fuses = arguments.fuses;
  for (const backend::NamedPolicy& each : backend::policies())
    if (each.name == arguments.policy) options.policy = each.policy;
  return options;
}

struct Emitted {
  backend::TaskProgram program;
  double planning_seconds = 0;
};

Result<Emitted> emit(const EmitArguments& arguments) {
  ImportOptions reading;
  reading.fix_overridable_initializers = true;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(arguments.model, reading));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<NamedTensor> inputs,
                         inputs_of(model.graph, arguments.seed));
  LEMMA_ASSIGN_OR_RETURN(const Graph graph, backend::prepared_graph(model.graph, inputs));
  LEMMA_ASSIGN_OR_RETURN(const backend::CompileOptions options, options_of(arguments));
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(backend::TaskProgram program, backend::compile(graph, options));
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  interpreter::RunOptions running;
  running.threads = arguments.threads;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                         interpreter::run(graph, inputs, running));
  backend::RecordedTensors recorded;
  for (const NamedTensor& input : inputs) recorded.push_back(input.value.bytes());
  for (const Tensor& output : outputs) recorded.push_back(output.bytes());
  const std::string stem = fs::path(arguments.model).stem().string();
  const std::string name = arguments.name.empty() ? stem : arguments.name;
  LEMMA_RETURN_IF_ERROR(backend::write_program(program, {backend::identifier_of(name), stem},
                                               recorded, arguments.directory, arguments.replaces));
  if (!arguments.timeline.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(arguments.timeline, timeline_svg(program)));
  return Emitted{std::move(program), seconds};
}

std::size_t waits_of(const backend::TaskProgram& program) {
  std::size_t count = 0;
  for (const auto& unit : program.units)
    for (const backend::Step& step : unit) count += step.waits.size();
  return count;
}

ExitCode run_emit(const EmitArguments& arguments) {
  auto emitted = emit(arguments);
  if (!emitted) {
    std::cerr << error_line(arguments.model, emitted.error().message) << "\n";
    return exit_code_of(emitted.error().kind);
  }
  const backend::TaskProgram& program = emitted->program;
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"model", arguments.model},
                                         {"directory", arguments.directory},
                                         {"units", program.units.size()},
                                         {"operators", program.graph.operators.size()},
                                         {"tasks", program.task_count()},
                                         {"waits", waits_of(program)},
                                         {"arena_bytes", program.arena_bytes},
                                         {"weight_bytes", program.weight_bytes},
                                         {"planning_seconds", emitted->planning_seconds}};
    std::cout << json.dump() << "\n";
  } else {
    std::cout << printable(fmt::format(
                     "{}: {} operators in {} tasks on {} units, {} waits, arena {} bytes",
                     arguments.directory, program.graph.operators.size(), program.task_count(),
                     program.units.size(), waits_of(program), program.arena_bytes))
              << "\n";
  }
  return ExitCode::done;
}

}  // namespace

void add_emit_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "emit", "write a model as a directory of C++ source with a static schedule");
  auto arguments = std::make_shared<EmitArguments>();
  command->add_option("model", arguments->model, "ONNX file")->required();
  command->add_option("-o,--output", arguments->directory, "the directory, which is made")
      ->required();
  command->add_option("--target", arguments->target, "what the source is for")
      ->check(CLI::IsMember({"cpu", "rtask-cpu"}))
      ->capture_default_str();
  command
      ->add_option("--threads", arguments->threads,
                   "threads that run the program (0: as many as there are processors here)")
      ->check(check_non_negative);
  std::vector<std::string> names;
  for (const backend::NamedPolicy& each : backend::policies()) names.emplace_back(each.name);
  arguments->policy = names.front();
  command->add_option("--policy", arguments->policy, "how tasks are scheduled")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_option("--name", arguments->name,
                      "of the functions and files (default: that of the model)");
  command->add_option("--random", arguments->seed, "seed of the inputs of the self-check")
      ->capture_default_str();
  command->add_option("--timeline", arguments->timeline, "SVG file for a picture of the schedule");
  command->add_flag("--replace", arguments->replaces, "replace a directory that is there");
  command->add_flag("!--no-fusion", arguments->fuses, "store every tensor");
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] { exit_code = run_emit(*arguments); });
}

}  // namespace lemma
