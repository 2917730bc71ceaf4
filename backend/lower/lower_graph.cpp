#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/lower/computation.h"
#include "backend/lower/own_computation.h"

namespace lemma::backend {

namespace {

using lowering::InputView;
using lowering::LoweredOutput;

/// Operators without a definition that outputs depend on, each named once.
Result<void> require_definitions(const Graph& graph, const std::vector<NodeId>& live,
                                 std::string_view kernels_of) {
  std::vector<std::string> reasons;
  for (const NodeId id : live) {
    const Node& node = graph.node(id);
    std::string reason;
    if (node.kind == NodeKind::opaque)
      reason = fmt::format("{} ({})", graph.opaque(node).name, graph.opaque(node).reason);
    if (node.kind == NodeKind::operation && graph.op(node).define == nullptr &&
        !has_own_kernel(graph, node, kernels_of))
      reason = graph.op(node).name;
    if (!reason.empty() && std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  if (reasons.empty()) return {};
  return unsupported(fmt::format("there is no loop nest for {}", fmt::join(reasons, ", ")));
}

class Lowering {
 public:
  Lowering(const Graph& graph, std::string_view kernels_of)
      : graph_(graph),
        kernels_of_(kernels_of),
        buffers_(graph.value_count(), no_buffer),
        is_used_(graph.value_count(), false),
        live_(graph.live_nodes()) {
    for (const NodeId id : live_)
      for (const ValueId input : graph.node(id).inputs)
        if (!input.is_none()) is_used_[input.v] = true;
    for (const GraphOutput& output : graph.outputs()) is_used_[output.value.v] = true;
  }

  Result<ComputationGraph> run() {
    LEMMA_RETURN_IF_ERROR(require_definitions(graph_, live_, kernels_of_));
    for (const NodeId id : live_) {
      auto done = lower_node(graph_.node(id));
      if (!done) return with_context(describe(graph_.node(id)), std::move(done.error()));
    }
    for (std::uint32_t i = 0; i < graph_.outputs().size(); ++i)
      LEMMA_RETURN_IF_ERROR(add_output(graph_.outputs()[i], i));
    return std::move(result_);
  }

 private:
  std::string describe(const Node& node) const {
    switch (node.kind) {
      case NodeKind::input: return fmt::format("input '{}'", graph_.input_name(node));
      case NodeKind::constant: return fmt::format("constant '{}'", name_of(node.output()));
      default: return fmt::format("{} '{}'", graph_.op(node).name, name_of(node.output()));
    }
  }

  std::string name_of(ValueId value) const {
    const std::string& name = graph_.suggested_name(value);
    return name.empty() ? fmt::format("value {}", value.v) : name;
  }

  Result<std::vector<std::int64_t>> sizes_of(const TensorType& type) const {
    if (!type.is_known())
      return unsupported(fmt::format("a value of the type {} is no tensor of numbers", text(type)));
    const auto sizes = constant_sizes(*type.shape);
    if (!sizes)
      return bad_input(
          fmt::format("the sizes {} are not all fixed; give --shape", text(*type.shape)));
    return *sizes;
  }

  Result<BufferNumber> add_buffer(std::string name, const TensorType& type, Memory memory) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<std::int64_t> sizes, sizes_of(type));
    Buffer buffer;
    buffer.name = std::move(name);
    buffer.memory = memory;
    buffer.type = type.data_type;
    buffer.sizes = sizes;
    buffer.elements = 1;
    for (const std::int64_t size : sizes)
      if (__builtin_mul_overflow(buffer.elements, size, &buffer.elements))
        return unsupported(fmt::format("a tensor of the type {}", text(type)));
    result_.buffers.push_back(std::move(buffer));
    return static_cast<BufferNumber>(result_.buffers.size() - 1);
  }

  Result<void> lower_node(const Node& node) {
    if (node.kind == NodeKind::operation) return lower_operation(node);
    const ValueId value = node.output();
    const bool is_input = node.kind == NodeKind::input;
    LEMMA_ASSIGN_OR_RETURN(
        const BufferNumber buffer,
        add_buffer(is_input ? graph_.input_name(node) : name_of(value), graph_.type(value),
                   is_input ? Memory::input : Memory::weights));
    if (is_input) {
      result_.buffers[buffer].position = static_cast<std::uint32_t>(result_.inputs.size());
      result_.inputs.push_back(buffer);
    } else {
      result_.buffers[buffer].contents = graph_.constant(node);
    }
    buffers_[value.v] = buffer;
    return {};
  }

  Result<void> lower_operation(const Node& node) {
    Computation computation;
    computation.description = graph_.op(node).name;
    for (const ValueId input : node.inputs) {
      computation.operands.push_back(input.is_none() ? no_buffer : buffers_[input.v]);
      InputView view;
      if (!input.is_none()) {
        view.type = graph_.type(input).data_type;
        LEMMA_ASSIGN_OR_RETURN(view.sizes, sizes_of(graph_.type(input)));
      }
      computation.views.push_back(std::move(view));
    }
    const std::vector<TensorType> types = graph_.input_types(node);
    for (const TensorType& type : graph_.output_types(node)) LEMMA_RETURN_IF_ERROR(sizes_of(type));
    if (has_own_kernel(graph_, node, kernels_of_)) return lower_own(node, std::move(computation));
    computation.definition = graph_.op(node).define({types, node.attributes, node.output_count});
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      if (!is_used_[node.output(i).v]) continue;
      computation.output = i;
      LEMMA_RETURN_IF_ERROR(lower_output(node.output(i), computation));
    }
    return {};
  }

  /// A computation by a kernel of its own, unless there is nothing to compute.
  Result<void> lower_own(const Node& node, Computation computation) {
    const ValueId value = node.output();
    const TensorType& type = graph_.type(value);
    computation.name = name_of(value);
    LEMMA_ASSIGN_OR_RETURN(computation.result, add_buffer(computation.name, type, Memory::arena));
    buffers_[value.v] = computation.result;
    const std::int64_t elements = result_.buffers[computation.result].elements;
    const std::vector<TensorType> types = graph_.input_types(node);
    LEMMA_ASSIGN_OR_RETURN(computation.own, own_kernel_for(graph_.op(node), kernels_of_,
                                                           {types, node.attributes, 1}, elements));
    if (computation.own == nullptr) return {};
    computation.description += " by " + computation.own->origin_text();
    computation.is_stored = true;
    computation.definition =
        access_definition(computation.views, type.data_type, computation.own->rows, elements);
    result_.computations.push_back(std::move(computation));
    return {};
  }

  /// Copies in place; a computation for all else, unless there is nothing to compute.
  Result<void> lower_output(ValueId value, Computation computation) {
    LEMMA_ASSIGN_OR_RETURN(const LoweredOutput nest, nest_of(computation));
    if (const auto copied = lowering::copied_input(nest)) {
      buffers_[value.v] = computation.operands[*copied];
      return {};
    }
    computation.name = name_of(value);
    LEMMA_ASSIGN_OR_RETURN(computation.result,
                           add_buffer(computation.name, graph_.type(value), Memory::arena));
    buffers_[value.v] = computation.result;
    if (result_.buffers[computation.result].elements != 0)
      result_.computations.push_back(std::move(computation));
    return {};
  }

  /// Adds an output: what is computed for one output is computed in its place; the rest is copied
  /// there.
  Result<void> add_output(const GraphOutput& output, std::uint32_t position) {
    BufferNumber buffer = buffers_[output.value.v];
    if (result_.buffers[buffer].memory != Memory::arena) {
      auto added = add_buffer(output.name, graph_.type(output.value), Memory::output);
      if (!added)
        return with_context(fmt::format("output '{}'", output.name), std::move(added.error()));
      if (result_.buffers[*added].elements != 0) add_copy(buffer, *added);
      buffer = *added;
    }
    result_.buffers[buffer].memory = Memory::output;
    result_.buffers[buffer].name = output.name;
    result_.buffers[buffer].sizes = *constant_sizes(*graph_.type(output.value).shape);
    result_.buffers[buffer].position = position;
    result_.outputs.push_back(buffer);
    return {};
  }

  void add_copy(BufferNumber from, BufferNumber to) {
    const Buffer& source = result_.buffers[from];
    DefinitionBuilder builder;
    const Expression i = builder.variable(source.elements);
    builder.output({i}, builder.read(0, source.type, {i}));
    result_.computations.push_back({result_.buffers[to].name,
                                    "copy",
                                    std::move(builder).finish(),
                                    0,
                                    {{source.type, {source.elements}, false}},
                                    {from},
                                    to});
  }

  const Graph& graph_;
  std::string_view kernels_of_;
  std::vector<BufferNumber> buffers_;  // by value
  std::vector<bool> is_used_;          // the same
  std::vector<NodeId> live_;
  ComputationGraph result_;
};

}  // namespace

Result<ComputationGraph> lower_graph(const Graph& graph, std::string_view kernels_of) {
  return Lowering(graph, kernels_of).run();
}

Result<LoweredOutput> nest_of(const Computation& computation) {
  return lowering::lower(computation.definition,
                         computation.definition.outputs()[computation.output], computation.views,
                         lowering::Domain::native);
}

}  // namespace lemma::backend
