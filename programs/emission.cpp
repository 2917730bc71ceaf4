#include "programs/emission.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

#include <fmt/format.h>

#include "backend/emit/emit_program.h"
#include "backend/emit/prime_field.h"
#include "backend/emit/program_name.h"
#include "backend/execute/built_program.h"
#include "backend/execute/override_check.h"
#include "backend/execute/prepared_graph.h"
#include "backend/execute/program_times.h"
#include "backend_cuda/emit_calls/emit_calls.h"
#include "check/rounding_spread.h"
#include "frontend_onnx/import.h"
#include "frontend_onnx/tensor_file.h"
#include "interpreter/random.h"
#include "pipeline/trace_folder.h"
#include "programs/flow_emission.h"
#include "programs/flow_model.h"
#include "programs/flow_oracle.h"
#include "search/fold_constants.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using interpreter::NamedTensor;
using interpreter::Tensor;
using lowering::Domain;

/// An input of random elements; a period repeats the first of them.
Tensor random_input(DataType type, const lowering::Sizes& sizes, const InputChoice& choice,
                    const std::string& name, const interpreter::RandomRange& range, Domain domain) {
  const std::int64_t count = interpreter::element_count(sizes);
  const bool repeats = 0 < choice.period && choice.period < count;
  const Tensor drawn =
      interpreter::random_tensor(type, repeats ? lowering::Sizes{choice.period} : sizes,
                                 choice.seed, interpreter::stream_of(name), range, domain);
  if (!repeats) return drawn;
  Tensor result = Tensor::uninitialized(type, sizes, domain);
  std::span<std::byte> left = result.writable_bytes();
  while (!left.empty()) {
    const auto part = drawn.bytes().first(std::min(drawn.bytes().size(), left.size()));
    left = left.subspan(std::ranges::copy(part, left.begin()).out - left.begin());
  }
  return result;
}

/// From a file. Its type must be that of the input.
Result<Tensor> read_input(const fs::path& folder, std::size_t position, const TensorType& type) {
  const fs::path file = folder / fmt::format("input_{}.pb", position);
  LEMMA_ASSIGN_OR_RETURN(const NamedConstant tensor, read_tensor_file(file));
  if (tensor.value.type() != type)
    return bad_input(fmt::format("{}: it is {}, and the input is {}", file.string(),
                                 text(tensor.value.type()), text(type)));
  return Tensor::of(tensor.value);
}

/// Whether elements can be computed with, and sizes are fixed.
Result<void> check_input(const std::string& name, const TensorType& type) {
  if (!is_computable(type.data_type))
    return unsupported(fmt::format("input '{}' has the type {}", name, text(type)));
  if (!type.shape || !constant_sizes(*type.shape))
    return bad_input(
        fmt::format("the sizes of input '{}', {}, are not fixed; give --shape", name, text(type)));
  return {};
}

/// Inputs, whose sizes must be fixed. Random ones are of the range.
Result<std::vector<NamedTensor>> inputs_of(const Graph& graph, const InputChoice& choice,
                                           const interpreter::RandomRange& range = {},
                                           Domain domain = Domain::native) {
  std::vector<NamedTensor> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const std::string& name = graph.input_name(node);
    const TensorType& type = graph.type(node.output());
    LEMMA_RETURN_IF_ERROR(check_input(name, type));
    const auto sizes = constant_sizes(*type.shape);
    if (choice.folder.empty()) {
      inputs.push_back({name, random_input(type.data_type, *sizes, choice, name, range, domain)});
      continue;
    }
    LEMMA_ASSIGN_OR_RETURN(Tensor value, read_input(choice.folder, inputs.size(), type));
    inputs.push_back({name, std::move(value)});
  }
  return inputs;
}

/// Bytes of a tensor; nothing where a size is not fixed.
std::optional<std::uint64_t> bytes_of(const TensorType& type) {
  const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
  if (!sizes || !is_computable(type.data_type)) return std::nullopt;
  std::uint64_t bytes = byte_size(type.data_type);
  for (const std::int64_t size : *sizes) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

/// What running a graph takes at least: inputs and outputs, and the operands and results of the operator that has most of them.
std::uint64_t running_bytes(const Graph& graph) {
  std::uint64_t all = 0, most = 0;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    std::uint64_t of_node = 0;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      of_node += bytes_of(graph.type(node.output(i))).value_or(0);
    if (node.kind == NodeKind::input) all += of_node;
    for (const ValueId input : node.inputs)
      if (!input.is_none()) of_node += bytes_of(graph.type(input)).value_or(0);
    most = std::max(most, of_node);
  }
  for (const auto& output : graph.outputs()) all += bytes_of(graph.type(output.value)).value_or(0);
  return all + most;
}

}  // namespace

Result<PreparedModel> prepare_model(const std::string& file,
                                    const std::map<std::string, Shape, std::less<>>& shapes,
                                    const InputChoice& choice,
                                    std::optional<std::uint64_t> most_bytes) {
  LEMMA_ASSIGN_OR_RETURN(OnnxModel model, read_program_model(file, shapes));
  return prepare_model(std::move(model), choice, most_bytes);
}

Result<PreparedModel> prepare_model(OnnxModel model, const InputChoice& choice,
                                    std::optional<std::uint64_t> most_bytes) {
  for (const NodeId id : model.graph.inputs()) {
    const Node& node = model.graph.node(id);
    LEMMA_RETURN_IF_ERROR(
        check_input(model.graph.input_name(node), model.graph.type(node.output())));
  }
  if (const std::uint64_t bytes = running_bytes(model.graph); most_bytes && bytes > *most_bytes) {
    LEMMA_ASSIGN_OR_RETURN(Graph graph, backend::program_graph(model.graph));
    return PreparedModel{std::move(graph), std::move(model.graph), {}, bytes};
  }
  LEMMA_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs, inputs_of(model.graph, choice));
  LEMMA_ASSIGN_OR_RETURN(Graph graph, backend::program_graph(model.graph, inputs));
  return PreparedModel{std::move(graph), std::move(model.graph), std::move(inputs)};
}

namespace {

backend::CompileOptions options_of(const EmissionRequest& request) {
  backend::CompileOptions options = backend::compile_options(
      request.threads, request.cuda ? std::optional(request.cuda->device) : request.device);
  options.fuses = request.fuses;
  options.takes_own_kernels = request.takes_own_kernels;
  options.stitching = request.stitching;
  options.policy = request.policy;
  options.tiles_windows = !request.cuda;
  if (request.times) options.times = &*request.times;
  if (!request.cuda && !request.device && !request.in_prime_field)
    options.schedules = request.schedules;
  if (request.in_prime_field) options.domain = Domain::prime_field;
  options.memory_limit = request.memory_limit;
  options.takes_least_memory = request.takes_least_memory;
  options.observer = request.observer;
  return options;
}

/// What integers are drawn from where a model is not defined on those of a usual range: divisors are not 0, and indices are
/// within an axis of size 1.
constexpr std::array<interpreter::RandomRange, 4> other_ranges = {{
    {-1, 1, 1, 1},
    {0.25, 1, 1, 7},
    {-1, 1, 0, 0},
    {-1, 1, 2, 5},
}};

/// The outputs of one size. Random inputs on which the model is not defined are drawn again.
Result<std::vector<Tensor>> run_on_inputs(PreparedModel& prepared, const InputChoice& choice,
                                          const interpreter::RunOptions& running) {
  auto outputs = interpreter::run(prepared.graph, prepared.inputs, running);
  if (outputs || !choice.folder.empty() || running.domain != Domain::native) return outputs;
  for (const interpreter::RandomRange& range : other_ranges) {
    LEMMA_ASSIGN_OR_RETURN(auto inputs, inputs_of(prepared.model, choice, range));
    auto of_these = interpreter::run(prepared.graph, inputs, running);
    if (!of_these) continue;
    prepared.inputs = std::move(inputs);
    return of_these;
  }
  outputs.error().message += "; --inputs DIR gives the inputs of the self-check";
  return outputs;
}

/// Outputs of the self-check, by sizes.
Result<std::vector<std::vector<Tensor>>> recorded_outputs(std::vector<PreparedModel>& prepared,
                                                          const EmissionRequest& request,
                                                          Domain domain) {
  interpreter::RunOptions running;
  running.threads = request.threads;
  running.domain = domain;
  std::vector<std::vector<Tensor>> outputs;
  for (PreparedModel& of_size : prepared) {
    LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> values,
                           run_on_inputs(of_size, request.inputs, running));
    outputs.push_back(std::move(values));
  }
  return outputs;
}

/// What the outputs of the self-check may differ by. Residues may not.
std::vector<std::vector<backend::OutputAllowance>> allowances_of(
    const EmissionRequest& request, const std::vector<PreparedModel>& prepared,
    const std::vector<std::vector<Tensor>>& outputs) {
  std::vector<std::vector<backend::OutputAllowance>> result;
  if (request.in_prime_field) return result;
  interpreter::RunOptions running;
  running.threads = request.threads;
  for (std::size_t size = 0; size < prepared.size(); ++size) {
    const PreparedModel& model = prepared[size];
    const auto allowed =
        output_allowances(model.graph, model.inputs, outputs[size], running, request.inputs.seed);
    auto& of_size = result.emplace_back();
    for (const OutputAllowance& allowance : allowed)
      of_size.push_back({allowance.relative, allowance.common, allowance.jump, allowance.jumps});
  }
  return result;
}

Result<backend::ProgramFiles> files_of(const EmissionRequest& request, const Emission& emission,
                                       const backend::ProgramNames& names) {
  if (!request.cuda) return backend::emit_program(emission.programs, names);
  const backend::CudaOptions& options = request.cuda->options;
  if (emission.calls && emission.calls->program)
    return backend::emit_region_program(*emission.calls->program, emission.programs, names,
                                        options);
  return backend::emit_cuda_program(emission.programs, names, options);
}

/// The programs of a model, with calls of libraries between them if that was asked for and pays.
Result<Emission> plan_model(const EmissionRequest& request, const std::vector<Graph>& graphs) {
  Emission emission;
  if (request.calls) {
    if (graphs.size() > 1) return unsupported("calls of libraries for several sizes");
    LEMMA_ASSIGN_OR_RETURN(
        emission.calls,
        backend::plan_regions(graphs.front(),
                              {options_of(request), request.calls->costs, request.calls->choice}));
    if (emission.calls->program) {
      emission.programs = backend::programs_of(*emission.calls->program, request.cuda->device);
      return emission;
    }
  }
  LEMMA_ASSIGN_OR_RETURN(emission.programs, backend::compile_sizes(graphs, options_of(request)));
  return emission;
}

/// Until nothing is chosen that is known to spill or not to fit; `request` has what is not chosen.
Result<Emission> plan_with_known_resources(EmissionRequest& request,
                                           const std::vector<Graph>& graphs) {
  while (true) {
    LEMMA_ASSIGN_OR_RETURN(Emission emission, plan_model(request, graphs));
    if (!request.cuda) return emission;
    LEMMA_ASSIGN_OR_RETURN(const bool is_refused,
                           take_known_resources(emission.programs, *request.cuda));
    if (is_refused) continue;
    emission.cuda = request.cuda->options;
    return emission;
  }
}

Result<void> write_emission(const EmissionRequest& request, std::vector<PreparedModel>& prepared,
                            const Emission& emission) {
  const std::vector<backend::TaskProgram>& programs = emission.programs;
  std::vector<std::vector<Tensor>> outputs;
  if (emission.missing_bytes == 0) {
    LEMMA_ASSIGN_OR_RETURN(outputs, recorded_outputs(prepared, request, programs.front().domain));
  }
  backend::RecordedTensors recorded;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedTensor& input : prepared[i].inputs) recorded.push_back(input.value.bytes());
    for (const Tensor& output : outputs[i]) recorded.push_back(output.bytes());
  }
  const std::string stem = fs::path(request.model).stem().string();
  backend::ProgramNames names;
  names.name = backend::undecided_name;
  names.title = stem;
  if (prepared.size() > 1) {
    LEMMA_ASSIGN_OR_RETURN(names.dimensions, dimension_names(request.model));
  }
  names.missing_bytes = emission.missing_bytes;
  if (!outputs.empty()) names.allowances = allowances_of(request, prepared, outputs);
  LEMMA_ASSIGN_OR_RETURN(backend::ProgramFiles files, files_of(request, emission, names));
  files = backend::with_name(std::move(files),
                             backend::identifier_of(request.name.empty() ? stem : request.name));
  return backend::write_program(programs, files, recorded, request.directory, request.replaces,
                                request.before_publishing);
}

}  // namespace

namespace {

/// What a model with control flow cannot be asked for.
Result<void> check_flow_request(const EmissionRequest& request) {
  if (request.shapes.size() > 1)
    return unsupported("a model with control flow has a program for one list of sizes");
  if (request.in_prime_field) return unsupported("control flow over the prime field");
  if (request.memory_limit || request.takes_least_memory)
    return unsupported("a limit of memory for a model with control flow");
  return {};
}

/// An output with room for all rows. What is behind those that there are is left alone: so is what the self-check fills
/// outputs with.
std::vector<std::byte> with_room(const Tensor& output, const backend::FlowTensor& room) {
  std::vector<std::byte> bytes(room.bytes(), std::byte{0xff});
  std::ranges::copy(output.bytes().first(std::min(output.bytes().size(), bytes.size())),
                    bytes.begin());
  return bytes;
}

/// Outputs of the interpreter, also on other inputs where the model is not defined on these.
Result<std::vector<Tensor>> run_flow_on_inputs(const OnnxModel& model, const InputChoice& choice,
                                               const interpreter::RunOptions& running,
                                               std::vector<NamedTensor>& inputs) {
  auto outputs = run_flow_model(model, inputs, running);
  if (outputs || !choice.folder.empty()) return outputs;
  for (const interpreter::RandomRange& range : other_ranges) {
    LEMMA_ASSIGN_OR_RETURN(auto others, inputs_of(model.graph, choice, range));
    auto of_these = run_flow_model(model, others, running);
    if (!of_these) continue;
    inputs = std::move(others);
    return of_these;
  }
  outputs.error().message += "; --inputs DIR gives the inputs of the self-check";
  return outputs;
}

/// Writes the directory of a model with control flow.
Result<void> write_flow(const EmissionRequest& request, const OnnxModel& model,
                        Emission& emission) {
  const backend::FlowProgram& program = *emission.flow;
  std::vector<NamedTensor>& inputs = emission.inputs.front();
  const std::string stem = fs::path(request.model).stem().string();
  backend::ProgramNames names;
  names.name = backend::undecided_name;
  names.title = stem;
  names.missing_bytes = emission.missing_bytes;
  std::vector<std::vector<std::byte>> roomy;
  backend::RecordedTensors recorded;
  if (emission.missing_bytes == 0) {
    interpreter::RunOptions running;
    running.threads = request.threads;
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                           run_flow_on_inputs(model, request.inputs, running, inputs));
    for (const OutputAllowance& allowance :
         flow_allowances(model, inputs, outputs, running, request.inputs.seed)) {
      if (names.allowances.empty()) names.allowances.emplace_back();
      names.allowances.front().push_back(
          {allowance.relative, allowance.common, allowance.jump, allowance.jumps});
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      roomy.push_back(with_room(outputs[i], program.tensors[program.outputs[i]]));
    for (const NamedTensor& input : inputs) recorded.push_back(input.value.bytes());
    recorded.insert(recorded.end(), roomy.begin(), roomy.end());
  }
  LEMMA_ASSIGN_OR_RETURN(backend::ProgramFiles files, backend::emit_flow_program(program, names));
  files = backend::with_name(std::move(files),
                             backend::identifier_of(request.name.empty() ? stem : request.name));
  return backend::write_program(program.segments, files, recorded, request.directory,
                                request.replaces, request.before_publishing);
}

/// Emits a model with control flow, for processors.
Result<Emission> emit_flow(const EmissionRequest& request) {
  LEMMA_RETURN_IF_ERROR(check_flow_request(request));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model,
                         read_program_model(request.model, request.shapes.front(), false));
  Emission emission;
  for (const NodeId id : model.graph.inputs()) {
    const Node& node = model.graph.node(id);
    LEMMA_RETURN_IF_ERROR(
        check_input(model.graph.input_name(node), model.graph.type(node.output())));
  }
  emission.inputs.emplace_back();
  const std::uint64_t bytes = running_bytes(model.graph);
  if (bytes > request.most_check_bytes) {
    emission.missing_bytes = bytes;
  } else {
    LEMMA_ASSIGN_OR_RETURN(emission.inputs.front(), inputs_of(model.graph, request.inputs));
  }
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(emission.flow,
                         compile_flow(model, options_of(request), request.most_rows));
  emission.planning_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  emission.programs = emission.flow->segments;
  LEMMA_RETURN_IF_ERROR(backend::check_outside_kernels(emission.programs));
  if (!request.directory.empty()) LEMMA_RETURN_IF_ERROR(write_flow(request, model, emission));
  return emission;
}

}  // namespace

Result<std::map<std::string, std::vector<std::string>>> dimension_names(const std::string& file) {
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(file, {}));
  std::map<std::string, std::vector<std::string>> names;
  for (const NodeId id : model.graph.inputs()) {
    const Node& node = model.graph.node(id);
    const TensorType& type = model.graph.type(node.output());
    if (!type.shape) continue;
    for (const Dimension& size : *type.shape)
      names[model.graph.input_name(node)].push_back(size.is_constant() ? "" : text(size));
  }
  return names;
}

/// The programs over the field, with inputs to compare them on.
static Result<void> take_prime_field(const EmissionRequest& request,
                                     std::vector<PreparedModel>& prepared,
                                     std::vector<backend::TaskProgram>& programs) {
  if (request.cuda) return unsupported("source for CUDA over the prime field");
  for (backend::TaskProgram& program : programs) {
    LEMMA_ASSIGN_OR_RETURN(program, backend::in_prime_field(std::move(program)));
  }
  for (PreparedModel& model : prepared) {
    if (model.missing_bytes > 0) continue;
    LEMMA_ASSIGN_OR_RETURN(model.inputs,
                           inputs_of(model.graph, request.inputs, {}, Domain::prime_field));
  }
  return {};
}

Result<bool> take_known_resources(backend::Programs programs, NvidiaDevice& target) {
  auto refused = target.known.refuse(programs, target.options, target.device);
  if (!refused) refused.error().message += "; --no-resources takes no notice of it";
  return refused;
}

Result<backend::TaskProgram> compile_for(const Graph& graph, backend::CompileOptions options,
                                         NvidiaDevice& target) {
  while (true) {
    options.device = target.device;
    LEMMA_ASSIGN_OR_RETURN(backend::TaskProgram program, backend::compile(graph, options));
    LEMMA_ASSIGN_OR_RETURN(const bool is_refused,
                           take_known_resources(std::span(&program, 1), target));
    if (!is_refused) return program;
  }
}

Result<void> check_emission_directory(const EmissionRequest& request) {
  return backend::check_program_directory(request.directory, request.replaces);
}

Result<Emission> emit_model(const EmissionRequest& asked) {
  EmissionRequest request = asked;
  TraceFolder trace(request.trace);
  if (trace.is_written())
    request.observer = [&trace](std::string_view pass, const std::string& text) {
      trace.add(pass, "", text);
    };
  std::vector<PreparedModel> prepared;
  std::vector<Graph> graphs;
  for (const auto& shapes : request.shapes) {
    LEMMA_ASSIGN_OR_RETURN(OnnxModel read, read_program_model(request.model, shapes));
    if (!request.cuda && has_control_flow(read.graph)) {
      LEMMA_ASSIGN_OR_RETURN(Emission emission, emit_flow(request));
      LEMMA_RETURN_IF_ERROR(trace.outcome());
      return emission;
    }
    LEMMA_ASSIGN_OR_RETURN(PreparedModel model, prepare_model(std::move(read), request.inputs,
                                                              request.most_check_bytes));
    graphs.push_back(model.graph);
    prepared.push_back(std::move(model));
  }
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(Emission emission, plan_with_known_resources(request, graphs));
  emission.planning_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  LEMMA_RETURN_IF_ERROR(backend::check_outside_kernels(emission.programs));
  for (const PreparedModel& model : prepared)
    emission.missing_bytes = std::max(emission.missing_bytes, model.missing_bytes);
  LEMMA_RETURN_IF_ERROR(trace.outcome());
  if (request.in_prime_field)
    LEMMA_RETURN_IF_ERROR(take_prime_field(request, prepared, emission.programs));
  if (!request.directory.empty())
    LEMMA_RETURN_IF_ERROR(write_emission(request, prepared, emission));
  for (PreparedModel& model : prepared) emission.inputs.push_back(std::move(model.inputs));
  return emission;
}

Result<std::optional<backend::VirtualDevice>> processor_device(const std::string& name,
                                                               int threads) {
  if (name.empty()) return std::nullopt;
  LEMMA_ASSIGN_OR_RETURN(const auto file, device_file(name, DevicePart::schedule));
  LEMMA_ASSIGN_OR_RETURN(backend::VirtualDevice device,
                         backend::load_virtual_device(file, backend::thread_count(threads)));
  if (device.multiprocessor)
    return bad_input(fmt::format("--device {} is for --target cuda or --engine rtask-cuda", name));
  return std::optional(std::move(device));
}

backend::CompileOptions processor_options(int threads,
                                          const std::optional<backend::VirtualDevice>& device) {
  return backend::compile_options(threads, device);
}

Result<void> check_emission(const Graph& graph, int threads) {
  LEMMA_ASSIGN_OR_RETURN(const Graph folded, fold_constants(graph, {}));
  LEMMA_ASSIGN_OR_RETURN(const auto program,
                         backend::compile(folded, backend::compile_options(threads)));
  // Types of elements that are not emitted show only here.
  if (const auto files = backend::emit_program(std::span(&program, 1), {"model", "model"}); !files)
    return tl::unexpected(files.error());
  return {};
}

}  // namespace lemma
