#include "verifier/index/typing.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "verifier/index/expression.h"
#include "verifier/index/solver.h"

namespace lemma::verifier::index {
namespace {

/// Conditions of one operation, collected.
class Conditions {
 public:
  Conditions(const Graph& graph, const Node& node)
      : graph_(graph), node_(node), op_(graph.op(node)) {}

  Result<std::vector<Formula>> run() {
    for (const TensorType& type : graph_.output_types(node_))
      for (const Dimension& size : *type.shape) add(less_equal(0, size));
    if (op_.has(elementwise)) {
      broadcast_all();
    } else if (op_.name == "MatMul") {
      matmul();
    } else if (op_.name == "Gemm") {
      gemm();
    } else if (op_.name == "Conv") {
      convolution();
    } else if (op_.name == "MaxPool" || op_.name == "AveragePool" || op_.name == "LpPool") {
      positive(dimensions("kernel_shape"));
      windows(dimensions("kernel_shape"));
    } else if (op_.name == "Concat") {
      concatenation();
    } else if (op_.name == "Split") {
      split();
    } else if (op_.name == "Reshape") {
      add(equal(element_count(shape(0)), element_count(dimensions("shape"))));
      for (const Dimension& size : dimensions("shape")) add(less_equal(0, size));
    } else if (op_.name == "Expand") {
      broadcast(shape(0), dimensions("shape"));
      for (const Dimension& size : dimensions("shape")) add(less_equal(0, size));
    } else if (op_.name == "Tile") {
      for (const Dimension& count : dimensions("repeats")) add(less_equal(0, count));
    } else if (op_.name == "DepthToSpace") {
      const Dimension& block = node_.attributes.dimension("blocksize");
      positive({block});
      add(equal(output()[1] * block * block, shape(0)[1]));
    } else if (op_.name == "SpaceToDepth") {
      const Dimension& block = node_.attributes.dimension("blocksize");
      positive({block});
      for (const std::size_t axis : {2U, 3U}) add(equal(output()[axis] * block, shape(0)[axis]));
    } else if (op_.name == "Squeeze") {
      for (const std::int64_t axis : node_.attributes.integers("axes"))
        add(equal(shape(0)[static_cast<std::size_t>(axis)], 1));
    } else if (!always_typed()) {
      return unsupported(fmt::format("it is not written down when {} is well typed", op_.name));
    }
    return std::move(conditions_);
  }

 private:
  /// Nothing beyond the sizes of the outputs.
  bool always_typed() const {
    constexpr std::array<std::string_view, 20> names = {
        "Transpose",     "Slice",           "Unsqueeze", "Flatten",         "Cast",
        "Pad",           "ConstantOfShape", "Dropout",   "Identity",        "ReduceSum",
        "ReduceMean",    "ReduceMax",       "ReduceMin", "EyeLike",         "GlobalAveragePool",
        "GlobalMaxPool", "ReduceL1",        "ReduceL2",  "ReduceSumSquare", "Trilu"};
    if (op_.name == "Pad" && node_.attributes.string("mode") != "constant") return false;
    return std::find(names.begin(), names.end(), op_.name) != names.end();
  }

  const Shape& output() const { return *graph_.type(node_.output()).shape; }
  const Shape& shape(std::size_t input) const { return *graph_.type(node_.inputs[input]).shape; }
  bool has(std::size_t input) const {
    return input < node_.inputs.size() && !node_.inputs[input].is_none();
  }
  const Shape& dimensions(std::string_view name) const { return node_.attributes.dimensions(name); }
  void add(Formula formula) {
    if (!is_always(formula)) conditions_.push_back(std::move(formula));
  }
  void positive(const Shape& sizes) {
    for (const Dimension& size : sizes) add(less(0, size));
  }

  /// Aligned sizes are equal, or one of them is 1. Shape inference leaves open only a symbolic size
  /// beside a fixed one, and takes the fixed one for the result.
  void broadcast(const Shape& a, const Shape& b) {
    for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
      const Dimension &x = a[a.size() - i], &y = b[b.size() - i];
      if (x == y || x.is(1) || y.is(1)) continue;
      add(disjunction({equal(x, y), equal(x.is_constant() ? y : x, 1)}));
    }
  }

  void broadcast_all() {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (has(i) && has(j)) broadcast(shape(i), shape(j));
  }

  void matmul() {
    Shape a = shape(0), b = shape(1);
    if (a.size() == 1) a.insert(a.begin(), Dimension(1));
    if (b.size() == 1) b.push_back(1);
    add(equal(a.back(), b[b.size() - 2]));
    a.resize(a.size() - 2);
    b.resize(b.size() - 2);
    broadcast(a, b);
  }

  void gemm() {
    const std::size_t left = node_.attributes.integer("transA") != 0 ? 1 : 0;
    const std::size_t right = node_.attributes.integer("transB") != 0 ? 1 : 0;
    add(equal(shape(0)[1 - left], shape(1)[right]));
    if (has(2)) broadcast(shape(2), *graph_.type(node_.output()).shape);
  }

  void windows(const Shape& kernel) {
    const Shape &strides = dimensions("strides"), &dilations = dimensions("dilations"),
                &pads = dimensions("pads");
    positive(strides);
    positive(dilations);
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      const Dimension span = dilations[i] * (kernel[i] - 1) + 1;
      add(less_equal(span, shape(0)[2 + i] + pads[i] + pads[kernel.size() + i]));
    }
  }

  void convolution() {
    const Shape &data = shape(0), &weight = shape(1);
    const Dimension& group = node_.attributes.dimension("group");
    positive({group});
    add(equal(data[1], weight[1] * group));
    add(equal(group * floor_div(weight[0], group), weight[0]));
    if (has(2)) add(equal(shape(2)[0], weight[0]));
    windows(Shape(weight.begin() + 2, weight.end()));
  }

  void concatenation() {
    const auto axis = static_cast<std::size_t>(node_.attributes.integer("axis"));
    for (std::size_t i = 1; i < node_.inputs.size(); ++i)
      for (std::size_t j = 0; j < shape(0).size(); ++j)
        if (j != axis) add(equal(shape(0)[j], shape(i)[j]));
  }

  void split() {
    const auto axis = static_cast<std::size_t>(node_.attributes.integer("axis"));
    Dimension sum;
    for (const Dimension& part : dimensions("split")) sum = sum + part;
    add(equal(sum, shape(0)[axis]));
  }

  const Graph& graph_;
  const Node& node_;
  const OperatorRecord& op_;
  std::vector<Formula> conditions_;
};

}  // namespace

Result<std::vector<Formula>> typing_conditions(const Graph& graph) {
  std::vector<Formula> result;
  for (const Node& node : graph.nodes()) {
    if (node.kind != NodeKind::operation) continue;
    LEMMA_ASSIGN_OR_RETURN(std::vector<Formula> more, Conditions(graph, node).run());
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

namespace {

using Kind = ExpressionKind;

/// Walks a definition with its conditions; the index of every read must be in its range.
class ReadCheck {
 public:
  ReadCheck(const Graph& graph, const Node& node, const Definition& definition,
            std::vector<Formula> facts)
      : graph_(graph), node_(node), definition_(definition), facts_(std::move(facts)) {}

  void run() {
    for (const DefinedOutput& output : definition_.outputs()) {
      std::vector<Bound> axes;
      for (const VariableId axis : output.axes) axes.push_back(bound(axis));
      visit(output.value, ranges(axes));
    }
  }

 private:
  Bound bound(VariableId variable) const {
    return {fmt::format("_v{}", variable.v), definition_.extent(variable)};
  }

  Dimension position(ExpressionId id) const {
    const ExpressionNode& node = definition_.node(id);
    const auto operand = [&](std::size_t i) { return position(node.operands[i]); };
    switch (node.kind) {
      case Kind::integer_constant: return node.integer;
      case Kind::extent: return node.extent;
      case Kind::index: return Dimension::symbol(bound(node.variable).name);
      case Kind::add: return operand(0) + operand(1);
      case Kind::subtract: return operand(0) - operand(1);
      case Kind::multiply: return operand(0) * operand(1);
      case Kind::minimum: return minimum(operand(0), operand(1));
      case Kind::maximum: return maximum(operand(0), operand(1));
      case Kind::floor_divide: return floor_div(operand(0), operand(1));
      case Kind::floor_modulo: {
        const Dimension divisor = operand(1);
        return operand(0) - divisor * floor_div(operand(0), divisor);
      }
      default: throw Unsupported(fmt::format("'{}' in an index", name(node.kind)));
    }
  }

  Formula condition(ExpressionId id) const {
    const ExpressionNode& node = definition_.node(id);
    const auto index = [&](std::size_t i) { return position(node.operands[i]); };
    const auto part = [&](std::size_t i) { return condition(node.operands[i]); };
    switch (node.kind) {
      case Kind::integer_constant: return node.integer != 0 ? always() : never();
      case Kind::less: return less(index(0), index(1));
      case Kind::less_equal: return less_equal(index(0), index(1));
      case Kind::equal: return equal(index(0), index(1));
      case Kind::logical_and: return both(part(0), part(1));
      case Kind::logical_or: return disjunction({part(0), part(1)});
      case Kind::logical_not: return negation(part(0));
      default: throw Unsupported(fmt::format("'{}' in a condition", name(node.kind)));
    }
  }

  void visit(ExpressionId id, const Formula& path) {
    const ExpressionNode& node = definition_.node(id);
    if (node.kind == Kind::read) return check(node, path);
    if (node.kind == Kind::select) {
      const Formula chosen = condition(node.operands[0]);
      visit(node.operands[1], both(path, chosen));
      return visit(node.operands[2], both(path, negation(chosen)));
    }
    Formula inside = path;
    if (is_reduction(node.kind)) {
      std::vector<Bound> variables;
      for (const VariableId variable : node.bound) variables.push_back(bound(variable));
      inside = both(path, ranges(variables));
    }
    for (const ExpressionId operand : node.operands) visit(operand, inside);
  }

  void check(const ExpressionNode& node, const Formula& path) {
    const Shape& shape = *graph_.type(node_.inputs[node.input]).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const Dimension index = position(node.operands[axis]);
      std::vector<Formula> known = facts_;
      known.push_back(path);
      if (!entails(known, both(less_equal(0, index), less(index, shape[axis]))))
        throw Unsupported(fmt::format("{} may read outside input {}: index {} of size {}",
                                      graph_.op(node_).name, node.input, index.text(),
                                      shape[axis].text()));
    }
  }

  const Graph& graph_;
  const Node& node_;
  const Definition& definition_;
  std::vector<Formula> facts_;
};

}  // namespace

Result<void> check_reads(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OperatorRecord& op = graph.op(node);
  // A position in row-major order, taken apart again: in range because both shapes have equally
  // many elements. No question about products of many sizes is asked.
  if (op.has(view)) return {};
  const std::vector<TensorType> types = graph.input_types(node);
  const Definition definition = op.define({types, node.attributes, node.output_count});
  LEMMA_ASSIGN_OR_RETURN(std::vector<Formula> facts, Conditions(graph, node).run());
  try {
    ReadCheck(graph, node, definition, std::move(facts)).run();
  } catch (const Unsupported& error) {
    return unsupported(error.what());
  }
  return {};
}

}  // namespace lemma::verifier::index
