#include "search/simplify_copies.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "facts/copied_elements.h"
#include "ir/rebuild.h"

namespace lemma {
namespace {

using Element = CopiedElements::Element;
using Sizes = std::vector<std::int64_t>;

/// Elements looked at for one graph.
constexpr std::size_t step_limit = 50'000'000;

Sizes sizes_of(const TensorType& type) {
  Sizes sizes;
  for (const Dimension& size : *type.shape) sizes.push_back(size.offset());
  return sizes;
}

std::int64_t product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), INT64_C(1), std::multiplies<>());
}

/// A run of consecutive elements of a value, as a tensor of some sizes whose axes are then permuted.
struct Run {
  ValueId source;
  std::int64_t begin = 0, count = 0;
  Sizes sizes;        // of the run
  Integers permuted;  // which axis of the run each axis is
};

/// How far apart in the source neighbors along each axis are, if that is the same everywhere.
std::optional<Sizes> strides_of(const std::vector<Element>& elements, const Sizes& sizes) {
  Sizes strides(sizes.size(), 0);
  std::int64_t step = 1;  // from an element to the next one along the axis
  for (std::size_t axis = sizes.size(); axis-- > 0; step *= sizes[axis])
    if (sizes[axis] > 1)
      strides[axis] = elements[static_cast<std::size_t>(step)].position - elements[0].position;
  Sizes index(sizes.size(), 0);
  std::int64_t wanted = elements[0].position;
  for (const Element& element : elements) {
    if (element.value != elements[0].value || element.position != wanted) return std::nullopt;
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      wanted += strides[axis];
      if (++index[axis] < sizes[axis]) break;
      wanted -= strides[axis] * sizes[axis];
      index[axis] = 0;
    }
  }
  return strides;
}

std::optional<Run> run_of(const std::vector<Element>& elements, const Sizes& sizes) {
  if (elements.empty()) return std::nullopt;
  const auto strides = strides_of(elements, sizes);
  if (!strides) return std::nullopt;
  std::vector<std::size_t> axes;  // those of more than one element, the outermost in the run first
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if (sizes[axis] > 1) axes.push_back(axis);
  std::sort(axes.begin(), axes.end(),
            [&](std::size_t a, std::size_t b) { return (*strides)[a] > (*strides)[b]; });
  Run run{
      elements[0].value, elements[0].position, static_cast<std::int64_t>(elements.size()), {}, {}};
  std::int64_t step = run.count;
  for (const std::size_t axis : axes) {
    step /= sizes[axis];
    if ((*strides)[axis] != step) return std::nullopt;
    run.sizes.push_back(sizes[axis]);
  }
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if (const auto place = std::find(axes.begin(), axes.end(), axis); place != axes.end())
      run.permuted.push_back(place - axes.begin());
  return run;
}

class Simplifier {
 public:
  explicit Simplifier(const Graph& graph)
      : graph_(graph), copies_(graph, step_limit), run_(graph.value_count()) {}

  Result<std::optional<SimplifiedCopies>> run() {
    find_runs();
    if (std::none_of(run_.begin(), run_.end(), [](const auto& run) { return run.has_value(); }))
      return std::nullopt;
    SimplifiedCopies result{{}, graph_, {}};
    for (std::uint32_t value = 0; value < run_.size(); ++value) {
      if (!run_[value]) continue;
      LEMMA_ASSIGN_OR_RETURN(const ValueId made,
                             make(result.with_both, run_[value]->source, *run_[value], {value}));
      LEMMA_RETURN_IF_ERROR(
          result.with_both.add_output(fmt::format("copy {}", result.pairs.size()), made));
      result.pairs.push_back({{value}, made});
    }
    LEMMA_ASSIGN_OR_RETURN(result.graph, replaced());
    return result;
  }

 private:
  /// Finds the runs of values that something other than a copy needs.
  void find_runs() {
    std::vector<char> needed(graph_.value_count(), 0);
    for (const GraphOutput& output : graph_.outputs()) needed[output.value.v] = 1;
    for (const NodeId id : graph_.live_nodes()) {
      const Node& node = graph_.node(id);
      if (node.kind == NodeKind::operation && copies_.is_copy(node.output())) continue;
      for (const ValueId input : node.inputs)
        if (!input.is_none()) needed[input.v] = 1;
    }
    for (std::uint32_t value = 0; value < needed.size(); ++value)
      if (needed[value] != 0 && copies_.is_copy({value})) find_run({value});
  }

  void find_run(ValueId value) {
    const auto elements = copies_.of(value);
    if (!elements) return;
    auto run = run_of(*elements, sizes_of(graph_.type(value)));
    if (!run) return;
    const NodeKind kind = graph_.node(graph_.producer(run->source)).kind;
    if (kind != NodeKind::operation && kind != NodeKind::input) return;
    Graph scratch;
    const auto source = scratch.add_input("source", graph_.type(run->source));
    if (!source) return;
    if (make(scratch, *source, *run, value) && scratch.node_count() - 1 < copies_from(value))
      run_[value.v] = std::move(run);
  }

  /// How many operators copy what the value consists of.
  std::size_t copies_from(ValueId value) {
    std::vector<char> seen(graph_.node_count(), 0);
    std::vector<NodeId> stack = {graph_.producer(value)};
    std::size_t count = 0;
    while (!stack.empty()) {
      const NodeId id = stack.back();
      stack.pop_back();
      if (std::exchange(seen[id.v], 1) != 0 || !copies_.is_copy(graph_.node(id).output())) continue;
      ++count;
      for (const ValueId input : graph_.node(id).inputs)
        if (!input.is_none()) stack.push_back(graph_.producer(input));
    }
    return count;
  }

  /// The run of what stands for its source, in the form of a value.
  Result<ValueId> make(Graph& target, ValueId source, const Run& run, ValueId value) const {
    const auto apply = [&](std::string_view op, Attributes attributes) -> Result<void> {
      LEMMA_ASSIGN_OR_RETURN(const NodeId node, target.add_operation(operator_named(op), {source},
                                                                     std::move(attributes)));
      source = target.node(node).output();
      return {};
    };
    const auto reshape = [&](const Shape& shape) -> Result<void> {
      if (*target.type(source).shape == shape) return {};
      return apply("Reshape", {{"shape", shape}});
    };
    LEMMA_RETURN_IF_ERROR(cut(target, run, source));
    Integers in_order(run.permuted.size());
    std::iota(in_order.begin(), in_order.end(), 0);
    if (run.permuted != in_order) {
      LEMMA_RETURN_IF_ERROR(reshape(Shape(run.sizes.begin(), run.sizes.end())));
      LEMMA_RETURN_IF_ERROR(apply("Transpose", {{"perm", run.permuted}}));
    }
    LEMMA_RETURN_IF_ERROR(reshape(*graph_.type(value).shape));
    return source;
  }

  /// Rows of the source, if the run is not all of it.
  static Result<void> cut(Graph& target, const Run& run, ValueId& source) {
    const Sizes sizes = sizes_of(target.type(source));
    const std::int64_t all = product(sizes);
    if (run.count == all) return {};
    const std::int64_t row = all / sizes.front();
    if (run.begin % row != 0 || run.count % row != 0) return unsupported("parts of rows");
    LEMMA_ASSIGN_OR_RETURN(const NodeId node,
                           target.add_operation(operator_named("Slice"), {source},
                                                {{"starts", Shape{run.begin / row}},
                                                 {"ends", Shape{(run.begin + run.count) / row}},
                                                 {"axes", Integers{0}}}));
    source = target.node(node).output();
    return {};
  }

  Result<Graph> replaced() const {
    std::vector<ValueId> places(graph_.value_count(), ValueId::none());
    auto result = rebuild(
        graph_, [](const Graph& source, ValueId value) { return source.type(value); },
        [&](Graph& target, const Node& node,
            std::vector<ValueId> inputs) -> Result<std::vector<ValueId>> {
          LEMMA_ASSIGN_OR_RETURN(std::vector<ValueId> outputs,
                                 add_copy(target, node, node.attributes, std::move(inputs)));
          for (std::uint32_t k = 0; k < node.output_count; ++k) {
            const ValueId value = node.output(k);
            ValueId& place = places[value.v];
            place = outputs[k];
            if (run_[value.v]) {
              const ValueId source = place_of(target, places, run_[value.v]->source);
              LEMMA_ASSIGN_OR_RETURN(place, make(target, source, *run_[value.v], value));
            }
            outputs[k] = place;
          }
          return outputs;
        });
    return result;
  }

  /// The place of a value that an operator gives, or of an input.
  ValueId place_of(const Graph& target, const std::vector<ValueId>& places, ValueId value) const {
    const Node& node = graph_.node(graph_.producer(value));
    if (node.kind != NodeKind::input) return places[value.v];
    for (const NodeId id : target.inputs())
      if (target.input_name(target.node(id)) == graph_.input_name(node))
        return target.node(id).output();
    return ValueId::none();
  }

  const Graph& graph_;
  CopiedElements copies_;
  std::vector<std::optional<Run>> run_;  // by value
};

}  // namespace

Result<std::optional<SimplifiedCopies>> simplify_copies(const Graph& graph) {
  return Simplifier(graph).run();
}

}  // namespace lemma
