#include "programs/compilation.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "backend/compile/compile.h"
#include "backend/emit/emit_program.h"
#include "backend/emit/library_files.h"
#include "backend/emit/program_name.h"
#include "backend/execute/built_program.h"
#include "backend/execute/prepared_graph.h"
#include "backend/execute/program_times.h"
#include "backend/simulate/simulate.h"
#include "base/sha256.h"
#include "frontend_onnx/export.h"
#include "ir/graph_text.h"
#include "ir/rebuild.h"
#include "outputs/files.h"
#include "outputs/scratch.h"
#include "programs/compiled_models.h"
#include "programs/emission.h"
#include "programs/flow_emission.h"
#include "programs/flow_model.h"
#include "programs/graph_parts.h"
#include "search/fold_constants.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Types = std::vector<NamedType>;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Types inputs_of(const Graph& graph) {
  Types types;
  for (const NodeId id : graph.inputs())
    types.push_back({graph.input_name(graph.node(id)), graph.type(graph.node(id).output())});
  return types;
}

Types outputs_of(const Graph& graph) {
  Types types;
  for (const GraphOutput& output : graph.outputs())
    types.push_back({output.name, graph.type(output.value)});
  return types;
}

bool has_fixed_sizes(const TensorType& type) {
  return type.shape && constant_sizes(*type.shape).has_value();
}

/// Errors name an input that has no sizes.
Result<void> check_sizes(const Types& inputs) {
  for (const auto& [name, type] : inputs)
    if (is_computable(type.data_type) && !has_fixed_sizes(type))
      return bad_input(fmt::format("the sizes of input '{}', {}, are not fixed; give --shape", name,
                                   text(type)));
  return {};
}

/// Says which nodes have no program. Nodes that are alike are asked for once.
class NodesWithoutProgram {
 public:
  explicit NodesWithoutProgram(const Graph& graph) : graph_(graph) {}

  Result<std::set<NodeId>> find() {
    std::set<NodeId> nodes;
    for (const NodeId id : graph_.live_nodes()) {
      LEMMA_ASSIGN_OR_RETURN(const bool is_without, is_without_program(id));
      if (is_without) nodes.insert(id);
    }
    return nodes;
  }

 private:
  Result<bool> is_without_program(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.kind == NodeKind::opaque) return true;
    if (node.kind != NodeKind::operation) return false;
    const auto is_fixed = [](const TensorType& type) {
      return is_computable(type.data_type) && has_fixed_sizes(type);
    };
    const std::vector<TensorType> results = graph_.output_types(node);
    if (!std::all_of(results.begin(), results.end(), is_fixed)) return true;
    for (const ValueId input : node.inputs)
      if (!input.is_none() && !is_fixed(graph_.type(input))) return true;
    LEMMA_ASSIGN_OR_RETURN(const Graph as_key, alone(node, false));
    std::string key = print_graph(as_key);
    for (const ValueId input : node.inputs)
      key += !input.is_none() && graph_.constant_of(input) != nullptr ? "c" : ".";
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    LEMMA_ASSIGN_OR_RETURN(const Graph single, alone(node, true));
    const bool is_without = !check_emission(single, 1);
    known_.emplace(std::move(key), is_without);
    return is_without;
  }

  /// The node alone; its operands are inputs, or constants where they are.
  Result<Graph> alone(const Node& node, bool has_constants) const {
    Graph single;
    std::vector<ValueId> operands;
    std::map<ValueId, ValueId> known;
    for (const ValueId input : node.inputs) {
      operands.push_back(input);
      if (input.is_none()) continue;
      const auto [at, is_new] = known.try_emplace(input, input);
      if (is_new && has_constants && graph_.constant_of(input) != nullptr) {
        at->second = single.add_constant(*graph_.constant_of(input));
      } else if (is_new) {
        LEMMA_ASSIGN_OR_RETURN(
            at->second, single.add_input(fmt::format("{}", operands.size()), graph_.type(input)));
      }
      operands.back() = at->second;
    }
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                           add_copy(single, graph_, node, std::move(operands)));
    for (const ValueId output : outputs)
      LEMMA_RETURN_IF_ERROR(single.add_output(fmt::format("{}", single.outputs().size()), output));
    return single;
  }

  const Graph& graph_;
  std::unordered_map<std::string, bool> known_;
};

/// From the end of a part to the begin of the next, when Python calls both: 17 us for models of five to seven parts on a Xeon of
/// 2.3 GHz.
constexpr double seconds_of_handover = 17e-6;

class Compiler {
 public:
  explicit Compiler(const CompilationRequest& request)
      : request_(request), options_(backend::compile_options(request.threads)) {
    options_.schedules = request.schedules;
  }

  Result<Compilation> compile() {
    step("reading");
    for (const auto& shapes : request_.shapes) {
      LEMMA_ASSIGN_OR_RETURN(OnnxModel model, read_program_model(request_.model, shapes));
      models_.push_back(std::move(model));
    }
    LEMMA_RETURN_IF_ERROR(check_time());
    result_.inputs = inputs_of(models_.front().graph);
    for (const OnnxModel& model : models_) {
      const auto checked = check_sizes(inputs_of(model.graph));
      if (checked) continue;
      if (!request_.in_parts || models_.size() > 1) return tl::unexpected(checked.error());
      result_.has_open_sizes = true;
      for (const NamedType& output : outputs_of(model.graph))
        result_.outputs.push_back({output, output.name});
      return std::move(result_);
    }
    step("planning");
    const auto begin = Clock::now();
    auto program = whole_program();
    result_.planning_seconds = seconds_since(begin);
    LEMMA_RETURN_IF_ERROR(check_time());
    if (!program) {
      const bool is_cut = request_.in_parts && models_.size() == 1 &&
                          program.error().kind == ErrorKind::unsupported;
      if (!is_cut) return tl::unexpected(std::move(program.error()));
      LEMMA_RETURN_IF_ERROR(compile_in_parts());
      return std::move(result_);
    }
    for (const NamedType& output : outputs_of(models_.front().graph))
      result_.outputs.push_back({output, output.name});
    LEMMA_RETURN_IF_ERROR(request_.directory.empty() ? build_in_cache({*program})
                                                     : write_directory(*program));
    return std::move(result_);
  }

 private:
  using Programs = std::vector<backend::TaskProgram>;

  /// Programs for several sizes, or one with control flow.
  struct Planned {
    Programs programs;
    std::optional<backend::FlowProgram> flow;

    std::span<const backend::TaskProgram> segments() const {
      return flow ? std::span<const backend::TaskProgram>(flow->segments) : programs;
    }
    Result<backend::ProgramFiles> files(const backend::ProgramNames& names) const {
      return flow ? backend::emit_flow_program(*flow, names)
                  : backend::emit_program(programs, names);
    }
    std::size_t units() const {
      std::size_t most = 1;
      for (const backend::TaskProgram& program : segments())
        most = std::max(most, program.units.size());
      return most;
    }
    std::size_t operators() const {
      if (!flow) return programs.front().graph.operators.size();
      std::size_t sum = 0;
      for (const backend::TaskProgram& segment : flow->segments)
        sum += segment.graph.operators.size();
      return sum;
    }
  };

  void step(const std::string& what) const {
    if (request_.on_step) request_.on_step(what);
  }

  bool is_over() const { return request_.is_over && request_.is_over(); }
  Result<void> check_time() const {
    if (is_over()) return unsupported("there was no time to compile the model");
    return {};
  }
  /// What a compiler has ended with, which may have been ended itself.
  Result<void> in_time(Result<void> compiled) const {
    if (!compiled) LEMMA_RETURN_IF_ERROR(check_time());
    return compiled;
  }

  /// The whole model.
  Result<Planned> whole_program() const {
    if (!has_control_flow(models_.front().graph)) {
      LEMMA_ASSIGN_OR_RETURN(Programs programs, whole_programs());
      return Planned{std::move(programs), std::nullopt};
    }
    if (models_.size() > 1)
      return unsupported("a model with control flow has a program for one list of sizes");
    LEMMA_ASSIGN_OR_RETURN(const OnnxModel model,
                           read_program_model(request_.model, request_.shapes.front(), false));
    auto flow = compile_flow(model, options_, request_.most_rows);
    // A body that is wrong is for the runtime to say, where there is one.
    if (!flow && request_.in_parts) return unsupported(flow.error().message);
    LEMMA_RETURN_IF_ERROR(flow);
    Planned planned{{}, std::move(*flow)};
    LEMMA_RETURN_IF_ERROR(planned.files({"model", "model"}));
    return planned;
  }

  /// A program for each size of the whole model.
  Result<Programs> whole_programs() const {
    std::vector<Graph> graphs;
    for (const OnnxModel& model : models_) {
      for (const auto& [name, type] : inputs_of(model.graph))
        if (!is_computable(type.data_type))
          return unsupported(fmt::format("input '{}' has the type {}", name, text(type)));
      LEMMA_ASSIGN_OR_RETURN(graphs.emplace_back(), backend::program_graph(model.graph));
    }
    LEMMA_ASSIGN_OR_RETURN(Programs programs, backend::compile_sizes(graphs, options_));
    // Types of elements that are not emitted show only here.
    LEMMA_RETURN_IF_ERROR(backend::emit_program(programs, {"model", "model"}));
    return programs;
  }

  /// The parts of the model, and programs for those that have one, in their order.
  Result<PartedGraph> plan_parts(const Graph& graph, std::vector<Planned>& planned_parts) {
    std::vector<Programs> programs;
    LEMMA_ASSIGN_OR_RETURN(PartedGraph parted, plan_parts(graph, programs));
    for (Programs& of_part : programs) planned_parts.push_back({std::move(of_part), std::nullopt});
    return parted;
  }

  Result<PartedGraph> plan_parts(const Graph& graph, std::vector<Programs>& programs) {
    NodesWithoutProgram search(graph);
    LEMMA_ASSIGN_OR_RETURN(std::set<NodeId> in_runtime, search.find());
    while (true) {
      LEMMA_ASSIGN_OR_RETURN(PartedGraph parted, cut_into_parts(graph, in_runtime));
      programs.clear();
      bool is_planned = true;
      for (const GraphPart& part : parted.parts) {
        LEMMA_RETURN_IF_ERROR(check_time());
        if (!part.is_program) continue;
        auto planned = plan_part(part.graph);
        if (planned) {
          programs.push_back({std::move(*planned)});
          continue;
        }
        // Each node has a program, and together they have none.
        if (planned.error().kind != ErrorKind::unsupported || part.nodes.empty())
          return tl::unexpected(std::move(planned.error()));
        in_runtime.insert(part.nodes.begin(), part.nodes.end());
        is_planned = false;
      }
      if (!is_planned) continue;
      std::set<NodeId> left;
      for (const GraphPart& part : parted.parts)
        if (!part.is_program) left.insert(part.nodes.begin(), part.nodes.end());
      result_.runtime_operators = operators_text(graph, left);
      if (is_worth_cutting(parted, programs)) return parted;
      programs.clear();
      result_.is_left_to_runtime = true;
      const std::vector<NodeId> all = graph.live_nodes();
      return cut_into_parts(graph, {all.begin(), all.end()});
    }
  }

  /// Whether the programs have more to do than handing values from part to part takes. A program that takes no longer than that
  /// cannot be so much faster than ONNX Runtime that the whole is.
  static bool is_worth_cutting(const PartedGraph& parted, const std::vector<Programs>& programs) {
    if (parted.parts.size() < 2) return true;
    double planned = 0;
    for (const Programs& sizes : programs) planned += backend::simulate(sizes.front()).seconds;
    return planned > seconds_of_handover * static_cast<double>(parted.parts.size() - 1);
  }

  Result<backend::TaskProgram> plan_part(const Graph& graph) const {
    LEMMA_ASSIGN_OR_RETURN(const Graph prepared, backend::program_graph(graph));
    LEMMA_ASSIGN_OR_RETURN(backend::TaskProgram program, backend::compile(prepared, options_));
    LEMMA_RETURN_IF_ERROR(backend::emit_program(std::span(&program, 1), {"model", "model"}));
    return program;
  }

  Result<void> compile_in_parts() {
    step("planning parts");
    const auto begin = Clock::now();
    LEMMA_ASSIGN_OR_RETURN(const Graph graph, fold_constants(models_.front().graph, {}));
    std::vector<Planned> programs;
    LEMMA_ASSIGN_OR_RETURN(const PartedGraph parted, plan_parts(graph, programs));
    result_.planning_seconds += seconds_since(begin);
    LEMMA_RETURN_IF_ERROR(build_in_cache(programs));
    std::vector<CompiledPart> compiled = std::exchange(result_.parts, {});
    auto next = compiled.begin();
    for (const GraphPart& part : parted.parts) {
      CompiledPart& added = result_.parts.emplace_back();
      if (part.is_program) {
        added = std::move(*next++);
      } else {
        LEMMA_ASSIGN_OR_RETURN(added.model, write_for_runtime(part.graph));
        added.operators = part.nodes.size();
      }
      added.inputs = inputs_of(part.graph);
      added.outputs = outputs_of(part.graph);
    }
    for (std::size_t i = 0; i < parted.outputs.size(); ++i)
      result_.outputs.push_back({{parted.outputs[i].name, graph.type(graph.outputs()[i].value)},
                                 parted.outputs[i].value});
    return {};
  }

  /// A model in the cache, named by its contents.
  Result<fs::path> write_for_runtime(const Graph& graph) const {
    LEMMA_ASSIGN_OR_RETURN(const fs::path cache, backend::default_cache_folder());
    LEMMA_ASSIGN_OR_RETURN(const std::string bytes,
                           serialize_model({graph, models_.front().envelope}));
    fs::path file = cache / "runtime_parts" / (sha256(bytes).substr(0, 32) + ".onnx");
    std::ifstream there(file, std::ios::binary);
    if (std::string(std::istreambuf_iterator<char>(there), {}) == bytes) return file;
    LEMMA_RETURN_IF_ERROR(make_folder(file.parent_path()));
    LEMMA_RETURN_IF_ERROR(write_file_atomically(file, bytes));
    return file;
  }

  /// A part that is a program, with the inputs and outputs of the whole model.
  void add_program(const Planned& program, fs::path library, fs::path weights) {
    CompiledPart& part = result_.parts.emplace_back();
    part.is_program = true;
    part.library = std::move(library);
    part.weights = std::move(weights);
    part.units = program.units();
    part.operators = program.operators();
    part.inputs = result_.inputs;
    part.outputs = outputs_of(models_.front().graph);
  }

  /// Builds each of several programs in the cache.
  Result<void> build_in_cache(const std::vector<Planned>& all) {
    LEMMA_ASSIGN_OR_RETURN(const fs::path cache, backend::default_cache_folder());
    LEMMA_ASSIGN_OR_RETURN(const auto builder, backend::ProgramBuilder::create(cache));
    step(all.size() == 1 ? "compiling" : fmt::format("compiling {} programs", all.size()));
    const auto begin = Clock::now();
    std::vector<fs::path> folders;
    const backend::ProgramNames names = {"task_program", "task program"};
    for (const Planned& planned : all) {
      LEMMA_ASSIGN_OR_RETURN(folders.emplace_back(), planned.flow
                                                         ? builder.write(*planned.flow, names)
                                                         : builder.write(planned.programs, names));
      add_program(planned, folders.back() / "program.so", folders.back() / "weights.bin");
    }
    LEMMA_RETURN_IF_ERROR(in_time(builder.build_all(
        folders, [this] { return is_over(); }, 0)));
    result_.compiling_seconds = seconds_since(begin);
    return {};
  }

  /// The library of the program in a directory.
  Result<void> write_directory(const Planned& program) {
    const std::string stem = fs::path(request_.model).stem().string();
    backend::ProgramNames names;
    names.name = backend::undecided_name;
    names.title = stem;
    if (program.programs.size() > 1) {
      LEMMA_ASSIGN_OR_RETURN(names.dimensions, dimension_names(request_.model));
    }
    LEMMA_ASSIGN_OR_RETURN(backend::ProgramFiles files, program.files(names));
    files = backend::with_name(std::move(files), backend::library_identifier(
                                                     request_.name.empty() ? stem : request_.name));
    const TemporaryDirectory scratch;
    LEMMA_RETURN_IF_ERROR(scratch.require());
    LEMMA_RETURN_IF_ERROR(write_files_atomically(scratch.path(), files));
    LEMMA_ASSIGN_OR_RETURN(const auto builder, backend::ProgramBuilder::create(scratch.path()));
    step("compiling");
    const auto begin = Clock::now();
    const std::string name = backend::name_of_program(files);
    const fs::path library = scratch.path() / fmt::format("lib{}.so", name);
    LEMMA_RETURN_IF_ERROR(in_time(builder.compile(
        scratch.path(), name, library, [this] { return is_over(); }, 0)));
    result_.compiling_seconds = seconds_since(begin);
    step("writing");
    std::vector<backend::TaskProgram> described;
    if (program.flow) described.push_back(backend::described_interface(*program.flow));
    LEMMA_ASSIGN_OR_RETURN(
        result_.files,
        backend::write_library(program.segments(), program.flow ? described : program.programs,
                               files, stem, builder.identity(), library, request_.directory,
                               request_.replaces));
    const fs::path directory = request_.directory;
    add_program(program, directory / library.filename(), directory / (name + ".weights"));
    return {};
  }

  const CompilationRequest& request_;
  backend::CompileOptions options_;
  std::vector<OnnxModel> models_;  // by sizes
  Compilation result_;
};

/// A model that was compiled before is looked up. One that cannot be looked up is compiled, which tells why.
Result<Compilation> compile_into_cache(const CompilationRequest& request) {
  LEMMA_ASSIGN_OR_RETURN(const fs::path cache, backend::default_cache_folder());
  const auto known = CompiledModel::of(request, cache);
  if (known)
    if (auto compilation = known->find()) return std::move(*compilation);
  LEMMA_ASSIGN_OR_RETURN(Compilation compilation, Compiler(request).compile());
  // What cannot be kept is planned again the next time.
  if (known) (void)known->keep(compilation);
  return compilation;
}

}  // namespace

Result<Compilation> compile_model(const CompilationRequest& request) {
  if (request.directory.empty()) return compile_into_cache(request);
  LEMMA_RETURN_IF_ERROR(backend::check_program_directory(request.directory, request.replaces));
  return Compiler(request).compile();
}

}  // namespace lemma
