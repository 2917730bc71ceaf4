#include "cli/model_run.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "cli/task_program.h"
#include "frontend_onnx/import.h"
#include "frontend_onnx/tensor_file.h"
#include "interpreter/random.h"
#include "interpreter/run.h"

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

Result<std::vector<NamedTensor>> read_inputs(const Graph& graph, const fs::path& folder) {
  LEMMA_RETURN_IF_ERROR(check_number_of_files(folder, "input", graph.inputs().size()));
  std::vector<NamedTensor> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    LEMMA_ASSIGN_OR_RETURN(Tensor tensor, read_tensor(numbered(folder, "input", inputs.size()),
                                                      graph.type(node.output()).data_type));
    inputs.push_back({graph.input_name(node), std::move(tensor)});
  }
  return inputs;
}

/// Sizes that stay symbolic are taken to be 1.
Result<std::vector<NamedTensor>> random_inputs(const Graph& graph, std::uint64_t seed,
                                               std::vector<std::string>& notes) {
  DimensionBindings ones;
  std::vector<NamedTensor> inputs;
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
    inputs.push_back({name, interpreter::random_tensor(type.data_type, std::move(sizes), seed,
                                                       interpreter::stream_of(name))});
  }
  return inputs;
}

std::vector<TensorType> types_of(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorType> types;
  for (const NamedTensor& tensor : tensors) types.push_back(tensor.value.type());
  return types;
}

/// Sizes of an input that no output depends on say nothing: where they contradict the declared ones,
/// a tensor of the declared sizes takes its place.
void conform_unused_inputs(const Graph& graph, std::vector<NamedTensor>& inputs) {
  std::vector<bool> used(graph.value_count(), false);
  for (const NodeId id : graph.live_nodes())
    for (const ValueId operand : graph.node(id).inputs)
      if (!operand.is_none()) used[operand.v] = true;
  for (const GraphOutput& output : graph.outputs()) used[output.value.v] = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId input = graph.node(graph.inputs()[i]).output();
    const TensorType& declared = graph.type(input);
    const TensorType given = inputs[i].value.type();
    if (used[input.v] || !declared.shape || given.data_type != declared.data_type) continue;
    const auto sizes = constant_sizes(*declared.shape);
    if (sizes && given.shape != declared.shape)
      inputs[i].value = interpreter::random_tensor(given.data_type, *sizes, 0);
  }
}

/// The import that knows the sizes of all inputs and the contents of the small ones.
ImportOptions options_for(const std::vector<NamedTensor>& inputs) {
  ImportOptions options;
  options.fix_overridable_initializers = true;
  for (const NamedTensor& input : inputs) {
    options.shapes.emplace(input.name, *input.value.type().shape);
    if (input.value.bytes().size() <= largest_bound_input)
      options.bound_inputs.emplace(input.name, input.value.constant());
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

Result<Graph> import_for_run(const RunRequest& request, std::vector<NamedTensor>& inputs,
                             std::vector<std::string>& notes) {
  ImportOptions options;
  options.shapes = request.shapes;
  options.fix_overridable_initializers = true;
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel declared, import_model(request.model, options));
  const Graph& graph = declared.graph;
  LEMMA_RETURN_IF_ERROR(require_tensors(graph));
  if (request.inputs) {
    LEMMA_ASSIGN_OR_RETURN(inputs, read_inputs(graph, *request.inputs));
  } else if (request.seed) {
    LEMMA_ASSIGN_OR_RETURN(inputs, random_inputs(graph, *request.seed, notes));
  } else if (!graph.inputs().empty()) {
    return bad_input("the model has inputs: give --inputs DIR or --random SEED");
  }
  conform_unused_inputs(graph, inputs);
  // Sizes that contradict the declared ones are told here, in the terms of the model.
  auto bindings = interpreter::bind_symbols(graph, types_of(inputs));
  if (!bindings && bindings.error().kind == ErrorKind::bad_input)
    return tl::unexpected(std::move(bindings.error()));
  LEMMA_ASSIGN_OR_RETURN(OnnxModel bound, import_model(request.model, options_for(inputs)));
  LEMMA_RETURN_IF_ERROR(require_no_opaque_nodes(bound.graph));
  return std::move(bound.graph);
}

/// bfloat16 has steps of 2^-7 at most, relatively: a tolerance below one step would forbid every
/// other way of rounding. An exact comparison stays exact.
interpreter::Tolerance tolerance_for(DataType type, interpreter::Tolerance tolerance) {
  if (type == DataType::bf16 && tolerance.relative > 0)
    tolerance.relative = std::max(tolerance.relative, 0x1p-7);
  return tolerance;
}

Result<void> compare_outputs(const RunRequest& request, RunAnswer& answer) {
  LEMMA_RETURN_IF_ERROR(check_number_of_files(*request.expected, "output", answer.outputs.size()));
  for (std::size_t i = 0; i < answer.outputs.size(); ++i) {
    RunOutput& output = answer.outputs[i];
    LEMMA_ASSIGN_OR_RETURN(
        const Tensor expected,
        read_tensor(numbered(*request.expected, "output", i), output.value.data_type()));
    output.comparison = interpreter::compare(
        output.value, expected, tolerance_for(output.value.data_type(), request.tolerance));
    if (output.comparison->equal || answer.status == RunStatus::wrong) continue;
    answer.status = RunStatus::wrong;
    answer.reason = fmt::format("output '{}': {}", output.name, output.comparison->description);
  }
  return {};
}

Result<std::vector<Tensor>> run_by_interpreter(const Graph& graph,
                                               std::span<const NamedTensor> inputs, int threads,
                                               double& seconds) {
  interpreter::RunOptions options;
  options.threads = threads;
  const auto start = std::chrono::steady_clock::now();
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> values, interpreter::run(graph, inputs, options));
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return values;
}

Result<void> run_into(const RunRequest& request, RunAnswer& answer) {
  std::vector<NamedTensor> inputs;
  LEMMA_ASSIGN_OR_RETURN(const Graph graph, import_for_run(request, inputs, answer.notes));
  LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> values,
                         request.as_task_program
                             ? run_as_task_program(graph, inputs, request.threads, answer.seconds)
                             : run_by_interpreter(graph, inputs, request.threads, answer.seconds));
  for (std::size_t i = 0; i < values.size(); ++i)
    answer.outputs.push_back({graph.outputs()[i].name, std::move(values[i]), std::nullopt});
  return request.expected ? compare_outputs(request, answer) : Result<void>();
}

RunStatus status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input: return RunStatus::bad_input;
    case ErrorKind::unsupported: return RunStatus::unsupported;
    case ErrorKind::internal: return RunStatus::internal_fault;
  }
  return RunStatus::internal_fault;
}

}  // namespace

std::string_view name(RunStatus status) {
  switch (status) {
    case RunStatus::passed: return "passed";
    case RunStatus::wrong: return "wrong";
    case RunStatus::unsupported: return "unsupported";
    case RunStatus::bad_input: return "bad_input";
    case RunStatus::internal_fault: return "internal_fault";
  }
  return "";
}

RunAnswer run_model(const RunRequest& request) {
  RunAnswer answer;
  try {
    auto done = run_into(request, answer);
    if (!done) {
      answer.status = status_of(done.error().kind);
      answer.reason = std::move(done.error().message);
    }
  } catch (const std::exception& fault) {
    answer.status = RunStatus::internal_fault;
    answer.reason = fault.what();
  }
  return answer;
}

}  // namespace lemma
