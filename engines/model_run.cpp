#include "engines/model_run.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "batch/process_faults.h"
#include "engines/value_comparison.h"
#include "frontend_onnx/import.h"
#include "frontend_onnx/tensor_file.h"
#include "frontend_onnx/value_file.h"
#include "interpreter/random.h"
#include "interpreter/run.h"
#include "pipeline/taken_branches.h"
#include "profiler/onnxruntime_worker.h"
#include "programs/kernel_times_file.h"
#include "programs/task_program.h"
#include "runner/drawing.h"
#include "runner/run_graph.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using interpreter::NamedTensor;
using interpreter::Tensor;

/// Contents of inputs up to this size may turn into parameters of operators (shapes, axes, scales).
constexpr std::size_t largest_bound_input = 4096;

fs::path numbered(const fs::path& folder, std::string_view stem, std::size_t number) {
  return folder / fmt::format("{}_{}.pb", stem, number);
}

/// Files 0 to count - 1 are there, and no file `count`.
Result<void> check_number_of_files(const fs::path& folder, std::string_view stem,
                                   std::size_t count) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return bad_input(fmt::format("{}: no such folder", folder.string()));
  for (std::size_t i = 0; i < count; ++i)
    if (!fs::exists(numbered(folder, stem, i), error))
      return bad_input(fmt::format("{}: no such file; the model has {} {}s",
                                   numbered(folder, stem, i).string(), count, stem));
  if (fs::exists(numbered(folder, stem, count), error))
    return bad_input(fmt::format("{}: one file too many; the model has {} {}s",
                                 numbered(folder, stem, count).string(), count, stem));
  return {};
}

Result<void> require_tensors(const Graph& graph) {
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const TensorType& type = graph.type(node.output());
    if (type.data_type == DataType::undefined)
      return unsupported(fmt::format("input '{}' is no tensor", graph.input_name(node)));
    if (!is_computable(type.data_type))
      return unsupported(
          fmt::format("input '{}' has the type {}", graph.input_name(node), text(type)));
  }
  return {};
}

/// A tensor file; test data made with numpy, which has no bfloat16, holds its bits as u16.
Result<Tensor> read_tensor(const fs::path& file, DataType declared) {
  LEMMA_ASSIGN_OR_RETURN(NamedConstant tensor, read_tensor_file(file));
  const TensorType& type = tensor.value.type();
  if (declared != DataType::bf16 || type.data_type != DataType::u16)
    return Tensor::of(tensor.value);
  LEMMA_ASSIGN_OR_RETURN(
      const Constant same_bits,
      Constant::create({DataType::bf16, type.shape}, tensor.value.owner(), tensor.value.bytes()));
  return Tensor::of(same_bits);
}

/// The value of an input or output, by the type that the model declares for it.
Result<RunTimeValue> read_value(const fs::path& file, const OnnxModel& model,
                                const std::string& name, DataType declared) {
  if (!is_computable(declared)) return read_value_file(file, model.envelope, name);
  LEMMA_ASSIGN_OR_RETURN(const Tensor tensor, read_tensor(file, declared));
  return RunTimeValue(tensor.constant());
}

Result<std::vector<NamedValue>> read_inputs(const OnnxModel& model, const fs::path& folder) {
  const Graph& graph = model.graph;
  LEMMA_RETURN_IF_ERROR(check_number_of_files(folder, "input", graph.inputs().size()));
  std::vector<NamedValue> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const std::string& name = graph.input_name(node);
    LEMMA_ASSIGN_OR_RETURN(RunTimeValue value,
                           read_value(numbered(folder, "input", inputs.size()), model, name,
                                      graph.type(node.output()).data_type));
    inputs.push_back({name, std::move(value)});
  }
  return inputs;
}

/// Sizes that stay symbolic are taken to be 1.
Result<std::vector<NamedValue>> random_inputs(const Graph& graph, std::uint64_t seed,
                                              std::vector<std::string>& notes) {
  LEMMA_RETURN_IF_ERROR(require_tensors(graph));
  DimensionBindings ones;
  std::vector<NamedValue> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const std::string& name = graph.input_name(node);
    const TensorType& type = graph.type(node.output());
    if (!type.shape)
      return bad_input(fmt::format("the rank of input '{}' is not known; give --shape", name));
    interpreter::Sizes sizes;
    for (const Dimension& dimension : *type.shape) {
      std::map<std::string, int> symbols;
      collect_symbols(dimension, symbols);
      for (const auto& [symbol, count] : symbols)
        if (ones.emplace(symbol, 1).second)
          notes.push_back(fmt::format("the size {} of input '{}' is taken to be 1 (see --shape)",
                                      symbol, name));
      const auto size = substitute(dimension, ones).constant();
      if (!size || *size < 0)
        return bad_input(fmt::format("input '{}' has the type {}; give --shape", name, text(type)));
      sizes.push_back(*size);
    }
    const Tensor tensor = interpreter::random_tensor(type.data_type, std::move(sizes), seed,
                                                     interpreter::stream_of(name));
    inputs.push_back({name, tensor.constant()});
  }
  return inputs;
}

std::vector<TensorType> types_of(const std::vector<NamedValue>& inputs) {
  std::vector<TensorType> types;
  for (const NamedValue& input : inputs) types.push_back(type_of(input.value));
  return types;
}

/// Sizes of an input that no output depends on say nothing: where they contradict the declared ones,
/// a tensor of the declared sizes takes its place.
void conform_unused_inputs(const Graph& graph, std::vector<NamedValue>& inputs) {
  std::vector<bool> used(graph.value_count(), false);
  for (const NodeId id : graph.live_nodes())
    for (const ValueId operand : graph.node(id).inputs)
      if (!operand.is_none()) used[operand.v] = true;
  for (const GraphOutput& output : graph.outputs()) used[output.value.v] = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId input = graph.node(graph.inputs()[i]).output();
    const TensorType& declared = graph.type(input);
    const TensorType given = type_of(inputs[i].value);
    if (used[input.v] || !declared.is_known() || given.data_type != declared.data_type) continue;
    const auto sizes = constant_sizes(*declared.shape);
    if (sizes && given.shape != declared.shape)
      inputs[i].value = interpreter::random_tensor(given.data_type, *sizes, 0).constant();
  }
}

/// The import that knows the sizes of all inputs and the contents of the small ones. What the file declares of the
/// types of other values may hold for other sizes only.
ImportOptions options_for(const OnnxModel& declared, const std::vector<NamedValue>& inputs) {
  ImportOptions options;
  options.fix_overridable_initializers = true;
  options.trusts_declarations = false;
  for (const NamedValue& input : inputs) {
    if (is_declared_as_container(declared.envelope, input.name)) continue;
    const TensorType type = type_of(input.value);
    if (type.shape) options.shapes.emplace(input.name, *type.shape);
    const Constant* tensor = input.value.tensor();
    if (tensor != nullptr && tensor->bytes().size() <= largest_bound_input)
      options.bound_inputs.emplace(input.name, *tensor);
  }
  return options;
}

/// Names every kind of operator that cannot be run, once.
Result<void> require_no_opaque_nodes(const Graph& graph) {
  std::vector<std::string> lines;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::opaque) continue;
    const OpaqueOperator& op = graph.opaque(node);
    const std::string domain = op.domain.empty() ? "" : op.domain + ".";
    std::string line = fmt::format("{}{}: {}", domain, op.name, op.reason);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  if (lines.empty()) return {};
  return unsupported(fmt::format("{}", fmt::join(lines, "; ")));
}

struct Prepared {
  OnnxModel model;
  std::vector<NamedValue> inputs;  // in the order of the graph's
};

Result<Prepared> prepare(const RunRequest& request, std::vector<std::string>& notes) {
  ImportOptions options;
  options.shapes = request.shapes;
  options.fix_overridable_initializers = true;
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel declared, import_model(request.model, options));
  const Graph& graph = declared.graph;
  std::vector<NamedValue> inputs;
  if (request.inputs) {
    LEMMA_ASSIGN_OR_RETURN(inputs, read_inputs(declared, *request.inputs));
  } else if (request.seed) {
    LEMMA_ASSIGN_OR_RETURN(inputs, random_inputs(graph, *request.seed, notes));
  } else if (!graph.inputs().empty()) {
    return bad_input("the model has inputs: give --inputs DIR or --seed SEED");
  }
  conform_unused_inputs(graph, inputs);
  // Sizes that contradict the declared ones are told here, in the terms of the model.
  auto bindings = interpreter::bind_symbols(graph, types_of(inputs));
  if (!bindings && bindings.error().kind == ErrorKind::bad_input)
    return tl::unexpected(std::move(bindings.error()));
  ImportOptions reading = options_for(declared, inputs);
  reading.writes_out_recurrences = request.task_program || request.cuda;
  LEMMA_ASSIGN_OR_RETURN(OnnxModel bound, import_model(request.model, reading));
  if (request.task_program || request.cuda)
    bound = with_taken_branches(std::move(bound), request.model.parent_path(), reading, {});
  return Prepared{std::move(bound), std::move(inputs)};
}

std::vector<RunTimeValue> values_of(const std::vector<Tensor>& tensors) {
  std::vector<RunTimeValue> values;
  for (const Tensor& tensor : tensors) values.emplace_back(tensor.constant());
  return values;
}

bool has_opaque_nodes(const Graph& graph) {
  const std::vector<NodeId> live = graph.live_nodes();
  return std::any_of(live.begin(), live.end(),
                     [&graph](NodeId id) { return graph.node(id).kind == NodeKind::opaque; });
}

Result<std::vector<NamedTensor>> tensors_of(const Graph& graph,
                                            const std::vector<NamedValue>& inputs) {
  LEMMA_RETURN_IF_ERROR(require_tensors(graph));
  std::vector<NamedTensor> tensors;
  for (const NamedValue& input : inputs)
    tensors.push_back({input.name, Tensor::of(*input.value.tensor())});
  return tensors;
}

Result<std::vector<RunTimeValue>> run_by_interpreter(const Prepared& prepared, int threads,
                                                     runner::Drawing& drawing) {
  const Graph& graph = prepared.model.graph;
  // All at once where everything is understood, else node by node.
  if (!has_opaque_nodes(graph) && require_tensors(graph)) {
    LEMMA_ASSIGN_OR_RETURN(const auto inputs, tensors_of(graph, prepared.inputs));
    interpreter::RunOptions options;
    options.threads = threads;
    LEMMA_ASSIGN_OR_RETURN(const auto outputs, interpreter::run(graph, inputs, options));
    return values_of(outputs);
  }
  runner::RunOptions options;
  options.threads = threads;
  options.drawing = &drawing;
  std::vector<RunTimeValue> inputs;
  for (const NamedValue& input : prepared.inputs) inputs.push_back(input.value);
  return runner::run_graph(graph, prepared.model.envelope, inputs, options);
}

/// No values, and why in the answer, where there is no device.
Result<std::vector<RunTimeValue>> run_on_cuda(const RunRequest& request, const Prepared& prepared,
                                              RunAnswer& answer) {
  LEMMA_RETURN_IF_ERROR(require_no_opaque_nodes(prepared.model.graph));
  LEMMA_ASSIGN_OR_RETURN(const auto inputs, tensors_of(prepared.model.graph, prepared.inputs));
  LEMMA_ASSIGN_OR_RETURN(CudaOutputs outputs, run_on_cuda_device(prepared.model.graph, inputs,
                                                                 *request.cuda, answer.seconds));
  if (!outputs.no_device.empty()) {
    answer.status = RunStatus::no_device;
    answer.reason = std::move(outputs.no_device);
  }
  return values_of(outputs.values);
}

Result<std::vector<RunTimeValue>> run_prepared(const RunRequest& request, const Prepared& prepared,
                                               runner::Drawing& drawing, RunAnswer& answer) {
  double& seconds = answer.seconds;
  if (request.cuda) return run_on_cuda(request, prepared, answer);
  if (request.task_program) {
    LEMMA_RETURN_IF_ERROR(require_no_opaque_nodes(prepared.model.graph));
    LEMMA_ASSIGN_OR_RETURN(const auto inputs, tensors_of(prepared.model.graph, prepared.inputs));
    backend::CompileOptions options = *request.task_program;
    if (request.times) options.times = &*request.times;
    LEMMA_ASSIGN_OR_RETURN(const ProgramOutputs outputs,
                           run_as_task_program(prepared.model.graph, inputs, options, seconds));
    if (const auto note = missing_times(outputs.kernels); request.times && note)
      answer.notes.push_back(*note);
    return values_of(outputs.values);
  }
  const auto start = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(std::vector<RunTimeValue> values,
                         run_by_interpreter(prepared, request.threads, drawing));
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return values;
}

/// A comparison of types alone, for a value that has others from draw to draw.
interpreter::Comparison compare_types(const RunTimeValue& actual, const RunTimeValue& expected) {
  interpreter::Comparison result;
  result.equal = text(actual) == text(expected);
  result.description = result.equal
                           ? "drawn at random"
                           : fmt::format("{} was expected to be {}", text(actual), text(expected));
  if (!result.equal) result.type_difference = result.description;
  return result;
}

/// Compares one output; `wrong` with a reason if it differs.
void compare_output(const RunRequest& request, const RunTimeValue& expected, RunOutput& output,
                    RunAnswer& answer) {
  output.comparison = output.is_drawn ? compare_types(output.value, expected)
                                      : compare_values(output.value, expected, request.tolerance);
  if (output.comparison->equal || answer.status == RunStatus::wrong) return;
  answer.status = RunStatus::wrong;
  answer.reason = fmt::format("output '{}': {}", output.name, output.comparison->description);
}

/// Of a value that is drawn what every draw has is compared.
Result<void> compare_outputs(const RunRequest& request, const OnnxModel& model,
                             const runner::Drawing& drawing, RunAnswer& answer) {
  LEMMA_RETURN_IF_ERROR(check_number_of_files(*request.expected, "output", answer.outputs.size()));
  std::vector<RunTimeValue> expected;
  for (std::size_t i = 0; i < answer.outputs.size(); ++i) {
    RunOutput& output = answer.outputs[i];
    LEMMA_ASSIGN_OR_RETURN(RunTimeValue value,
                           read_value(numbered(*request.expected, "output", i), model, output.name,
                                      is_declared_as_container(model.envelope, output.name)
                                          ? DataType::undefined
                                          : type_of(output.value).data_type));
    compare_output(request, value, output, answer);
    expected.push_back(std::move(value));
  }
  if (answer.status == RunStatus::wrong) return {};
  if (auto admitted = runner::could_be_drawn(drawing, expected); !admitted) {
    answer.status = RunStatus::wrong;
    answer.reason = std::move(admitted.error().message);
  }
  return {};
}

Result<void> run_into(const RunRequest& request, RunAnswer& answer) {
  LEMMA_ASSIGN_OR_RETURN(const Prepared prepared, prepare(request, answer.notes));
  runner::Drawing drawing{prepared.model.graph, request.seed.value_or(0), 0, {}};
  LEMMA_ASSIGN_OR_RETURN(std::vector<RunTimeValue> values,
                         run_prepared(request, prepared, drawing, answer));
  if (answer.status == RunStatus::no_device) return {};
  const std::vector<bool> is_drawn = runner::drawn_outputs(drawing);
  for (std::size_t i = 0; i < values.size(); ++i)
    answer.outputs.push_back(
        {prepared.model.graph.outputs()[i].name, std::move(values[i]), std::nullopt, is_drawn[i]});
  return request.expected ? compare_outputs(request, prepared.model, drawing, answer)
                          : Result<void>();
}

}  // namespace

RunStatus status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input: return RunStatus::bad_input;
    case ErrorKind::unsupported: return RunStatus::unsupported;
    case ErrorKind::internal: return RunStatus::internal_fault;
  }
  return RunStatus::internal_fault;
}

std::string_view name(RunStatus status) {
  switch (status) {
    case RunStatus::passed: return "passed";
    case RunStatus::wrong: return "wrong";
    case RunStatus::unsupported: return "unsupported";
    case RunStatus::bad_input: return "bad_input";
    case RunStatus::internal_fault: return "internal_fault";
    case RunStatus::no_device: return "no_device";
    case RunStatus::timed_out: return "timed_out";
  }
  return "";
}

RunAnswer failed_run(const Error& error) {
  RunAnswer answer;
  answer.status = status_of(error.kind);
  answer.reason = error.message;
  return answer;
}

RunAnswer run_model(const RunRequest& request) {
  RunAnswer answer;
  answer.notes = request.notes;
  try {
    auto done = run_into(request, answer);
    if (!done) {
      answer.status = status_of(done.error().kind);
      answer.reason = std::move(done.error().message);
    }
  } catch (const std::exception& fault) {
    answer = failed_run(error_of(fault));
  }
  return answer;
}

}  // namespace lemma
