#include "plans/relations/samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "interpreter/random.h"
#include "interpreter/run.h"
#include "ir/rebuild.h"

namespace lemma::plans {

namespace {

using interpreter::Tensor;

/// Beyond these, nothing is computed: the proofs do not need it.
constexpr double most_elements = 3e7, most_operations = 2e9;

/// Both graphs in one, each value an output where it is computed.
struct Both {
  Graph graph;
  std::vector<ValueId> single, program;  // by value of its graph; none() where there is none
};

Result<Both> joined(const Graph& single, const Program& program) {
  Both both;
  both.single.assign(single.value_count(), ValueId::none());
  both.program.assign(program.graph.value_count(), ValueId::none());
  for (std::uint32_t i = 0; i < single.node_count(); ++i)
    LEMMA_RETURN_IF_ERROR(
        copy_node(single, single.node(NodeId{i}), both.graph, both.single, ValueNames::dropped));
  for (const ProgramInput& input : program.inputs) {
    LEMMA_ASSIGN_OR_RETURN(
        both.program[input.value.v],
        place(both.graph, both.single[input.single.v], input.placement, program.mesh));
  }
  for (std::uint32_t i = 0; i < program.graph.node_count(); ++i) {
    const Node& node = program.graph.node(NodeId{i});
    if (node.kind == NodeKind::input) continue;
    LEMMA_RETURN_IF_ERROR(
        copy_node(program.graph, node, both.graph, both.program, ValueNames::dropped));
  }
  return both;
}

/// Elements of a shape; infinite if they are not known.
double elements_of(const Shape& shape) {
  const auto sizes = constant_sizes(shape);
  if (!sizes) return std::numeric_limits<double>::infinity();
  double count = 1;
  for (const std::int64_t size : *sizes) count *= static_cast<double>(size);
  return count;
}

/// A product reads as many elements for each of its own as its operands have along an axis.
double reads_for_each(const Graph& graph, const Node& node) {
  std::int64_t longest = 1;
  for (const ValueId operand : node.inputs)
    if (!operand.is_none() && graph.type(operand).shape)
      for (const Dimension& size : *graph.type(operand).shape)
        if (size.is_constant()) longest = std::max(longest, size.offset());
  return static_cast<double>(longest);
}

bool is_small_enough(const Graph& graph) {
  double elements = 0, operations = 0;
  for (const Node& node : graph.nodes()) {
    if (node.kind == NodeKind::opaque) return false;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const TensorType& type = graph.type(node.output(i));
      if (!type.shape) return false;
      const double count = elements_of(*type.shape);
      elements += count;
      operations += count * reads_for_each(graph, node);
    }
  }
  return elements <= most_elements && operations <= most_operations;
}

std::vector<interpreter::NamedTensor> random_inputs(const Graph& graph) {
  std::vector<interpreter::NamedTensor> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const TensorType& type = graph.type(node.output());
    interpreter::Sizes sizes;
    for (const Dimension& size : *type.shape) sizes.push_back(size.offset());
    const std::string& name = graph.input_name(node);
    inputs.push_back(
        {name, interpreter::random_tensor(type.data_type, sizes, 1, interpreter::stream_of(name))});
  }
  return inputs;
}

bool are_close(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes() || a.data_type() != b.data_type()) return false;
  const std::vector<double> x = a.reals(), y = b.reals();
  double largest = 1;
  for (const double value : x)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) || x[i] == y[i]) continue;
    if (!(std::abs(x[i] - y[i]) <= 1e-6 * largest)) return false;
  }
  return true;
}

std::optional<Tensor> computed(const Graph& graph, const Tensor& input) {
  interpreter::RunOptions options;
  options.domain = interpreter::Domain::f64;
  options.threads = 1;
  const std::vector<interpreter::NamedTensor> inputs = {{"x", input}};
  auto result = interpreter::run(graph, inputs, options);
  if (!result) return std::nullopt;
  return std::move(result->front());
}

/// Places of one tensor in another at which their elements are alike, up to some number of places.
class Places {
 public:
  Places(const Tensor& part, const Tensor& whole)
      : sizes_(part.sizes()), all_(whole.sizes()), part_(part.reals()), whole_(whole.reals()) {
    for (const double value : part_)
      if (std::isfinite(value)) largest_ = std::max(largest_, std::abs(value));
  }

  std::vector<Window> operator()() && {
    begin_.assign(sizes_.size(), 0);
    enter(0);
    return std::move(windows_);
  }

 private:
  static constexpr std::size_t most_windows = 8;

  void enter(std::size_t axis) {
    if (windows_.size() == most_windows) return;
    if (axis == sizes_.size()) {
      if (is_alike()) add();
      return;
    }
    for (begin_[axis] = 0; begin_[axis] + sizes_[axis] <= all_[axis]; ++begin_[axis])
      enter(axis + 1);
    begin_[axis] = 0;
  }

  bool is_alike() const {
    std::vector<std::int64_t> index(sizes_.size(), 0);
    for (const double expected : part_) {
      std::size_t from = 0;
      for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
        from = from * static_cast<std::size_t>(all_[axis]) +
               static_cast<std::size_t>(begin_[axis] + index[axis]);
      const double value = whole_[from];
      const bool is_same =
          std::isnan(value) || value == expected || std::abs(value - expected) <= 1e-6 * largest_;
      if (!is_same) return false;
      for (std::size_t axis = sizes_.size(); axis-- > 0;) {
        if (++index[axis] < sizes_[axis]) break;
        index[axis] = 0;
      }
    }
    return true;
  }

  void add() {
    Window window;
    for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
      window.push_back({begin_[axis], sizes_[axis]});
    windows_.push_back(std::move(window));
  }

  interpreter::Sizes sizes_, all_;
  std::vector<double> part_, whole_;
  double largest_ = 1;
  std::vector<std::int64_t> begin_;
  std::vector<Window> windows_;
};

}  // namespace

std::optional<Samples> Samples::compute(const Graph& single, const Program& program) {
  // What is to be added up may be anything that adds up to the whole.
  for (const ProgramInput& input : program.inputs)
    if (is_partial(input.placement)) return std::nullopt;
  auto both = joined(single, program);
  if (!both || !is_small_enough(both->graph)) return std::nullopt;
  Graph& graph = both->graph;
  std::vector<ValueId> asked;
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    asked.push_back(ValueId{i});
    if (!graph.add_output(fmt::format("v{}", i), ValueId{i})) return std::nullopt;
  }
  interpreter::RunOptions options;
  options.domain = interpreter::Domain::f64;
  options.threads = 1;
  const auto values = interpreter::run(graph, random_inputs(graph), options);
  if (!values) return std::nullopt;
  Samples result(program.mesh);
  const auto taken = [&](const std::vector<ValueId>& from) {
    std::vector<std::optional<Tensor>> tensors;
    for (const ValueId value : from)
      tensors.push_back(value.is_none() ? std::nullopt : std::optional((*values)[value.v]));
    return tensors;
  };
  result.single_ = taken(both->single);
  result.program_ = taken(both->program);
  return result;
}

bool Samples::may_be(ValueId value, ValueId single, const Placement& placement) const {
  const auto &whole = single_[single.v], &distributed = program_[value.v];
  if (!whole || !distributed) return true;
  Graph graph;
  const bool partial = is_partial(placement);
  const auto input = graph.add_input("x", partial ? distributed->type() : whole->type());
  if (!input) return true;
  const auto output =
      partial ? collect(graph, *input, placement, mesh_) : place(graph, *input, placement, mesh_);
  if (!output || !graph.add_output("y", *output)) return false;
  const auto result = computed(graph, partial ? *distributed : *whole);
  return !result || are_close(partial ? *whole : *result, partial ? *result : *distributed);
}

std::optional<std::vector<Window>> Samples::windows(ValueId value, ValueId single) const {
  const auto &whole = single_[single.v], &part = program_[value.v];
  if (!whole || !part) return std::nullopt;
  return Places(*part, *whole)();
}

}  // namespace lemma::plans
