#include "ir/run_time_conditions.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace lemma {
namespace {

class Collector {
 public:
  explicit Collector(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  std::vector<Dimension> run() {
    if (node_.kind != NodeKind::operation) return {};
    const OperatorRecord& op = graph_.op(node_);
    if (op.name == "Reshape")
      equal(element_count(output()), element_count(shape(0)));
    else if (op.name == "Squeeze")
      squeeze();
    else if (op.name == "Split")
      split();
    else if (op.name == "Concat")
      concat();
    else if (op.name == "MatMul")
      matmul();
    else if (op.name == "Gemm")
      gemm();
    else if (op.name == "Conv")
      convolution();
    else if (op.name == "BatchNormalization")
      for (std::size_t i = 1; i < node_.inputs.size(); ++i) equal(shape(i)[0], shape(0)[1]);
    else if (op.name == "Expand")
      broadcast({&shape(0), &output()});
    else if (op.has(elementwise))
      broadcast(all_shapes());
    else
      others();
    return std::move(result_);
  }

 private:
  const Shape& shape(std::size_t i) const { return *graph_.type(node_.inputs[i]).shape; }
  const Shape& output() const { return *graph_.type(node_.output()).shape; }
  bool has(std::size_t i) const {
    return i < node_.inputs.size() && !node_.inputs[i].is_none() &&
           graph_.type(node_.inputs[i]).shape.has_value();
  }
  std::vector<const Shape*> all_shapes() const {
    std::vector<const Shape*> result;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
      if (has(i)) result.push_back(&shape(i));
    return result;
  }

  void equal(const Dimension& a, const Dimension& b) {
    if (!(a == b)) result_.push_back(a - b);
  }

  /// Aligned at the end: of the sizes that are not 1 all are equal.
  void broadcast(const std::vector<const Shape*>& shapes) {
    std::size_t rank = 0;
    for (const Shape* one : shapes) rank = std::max(rank, one->size());
    for (std::size_t from_end = 1; from_end <= rank; ++from_end) {
      const Dimension* first = nullptr;
      for (const Shape* one : shapes) {
        if (one->size() < from_end || (*one)[one->size() - from_end].is(1)) continue;
        const Dimension& size = (*one)[one->size() - from_end];
        if (first == nullptr) first = &size;
        equal(*first, size);
      }
    }
  }

  void squeeze() {
    for (const std::int64_t axis : node_.attributes.integers("axes"))
      equal(shape(0)[static_cast<std::size_t>(axis)], Dimension(1));
  }

  void split() {
    Dimension sum(0);
    for (const Dimension& part : node_.attributes.dimensions("split")) sum = sum + part;
    equal(sum, shape(0)[static_cast<std::size_t>(node_.attributes.integer("axis"))]);
  }

  void concat() {
    const auto axis = static_cast<std::size_t>(node_.attributes.integer("axis"));
    for (std::size_t i = 1; i < node_.inputs.size(); ++i)
      for (std::size_t j = 0; j < shape(0).size(); ++j)
        if (j != axis) equal(shape(0)[j], shape(i)[j]);
  }

  void matmul() {
    Shape left = shape(0), right = shape(1);
    if (left.size() == 1) left.insert(left.begin(), Dimension(1));
    if (right.size() == 1) right.emplace_back(1);
    equal(left.back(), right[right.size() - 2]);
    left.resize(left.size() - 2);
    right.resize(right.size() - 2);
    broadcast({&left, &right});
  }

  void gemm() {
    const std::size_t left = node_.attributes.integer("transA") != 0 ? 1 : 0;
    const std::size_t right = node_.attributes.integer("transB") != 0 ? 1 : 0;
    equal(shape(0)[1 - left], shape(1)[right]);
    const Shape product = {shape(0)[left], shape(1)[1 - right]};
    if (has(2)) broadcast({&product, &shape(2)});
  }

  void convolution() {
    const Shape &data = shape(0), &weight = shape(1);
    const Dimension& group = node_.attributes.dimension("group");
    equal(data[1], weight[1] * group);
    equal(weight[0], group * floor_div(weight[0], group));
    if (has(2)) equal(shape(2)[0], weight[0]);
  }

  void others() {
    for (std::size_t i = 0; i < node_.inputs.size(); ++i)
      for (std::size_t j = 0; j < node_.inputs.size(); ++j) {
        if (i == j || !has(i) || !has(j)) continue;
        for (const Dimension& fixed : shape(i))
          for (const Dimension& symbolic : shape(j))
            if (fixed.is_constant() && !fixed.is(1) && !symbolic.is_constant())
              equal(symbolic, fixed);
      }
  }

  const Graph& graph_;
  const Node& node_;
  std::vector<Dimension> result_;
};

}  // namespace

namespace {

bool is_size(const Dimension& dimension) {
  const auto low = lower_bound(dimension);
  return low && *low >= 0;
}

/// Whether `difference` is a sum of at most two of the others, with signs.
bool is_zero(const Dimension& difference, const std::vector<Dimension>& zero) {
  if (difference.is(0)) return true;
  std::vector<Dimension> terms = {Dimension(0)};
  for (const Dimension& one : zero) {
    terms.push_back(one);
    terms.push_back(Dimension(0) - one);
  }
  for (const Dimension& a : terms)
    for (const Dimension& b : terms)
      if (difference == a + b) return true;
  return false;
}

void append(RunTimeConditions& all, RunTimeConditions more) {
  std::move(more.zero.begin(), more.zero.end(), std::back_inserter(all.zero));
  std::move(more.sizes.begin(), more.sizes.end(), std::back_inserter(all.sizes));
}

}  // namespace

RunTimeConditions run_time_conditions(const Graph& graph, const Node& node) {
  RunTimeConditions result{Collector(graph, node).run(), {}};
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    for (const Dimension& size : *graph.type(node.output(i)).shape)
      if (!is_size(size)) result.sizes.push_back(size);
  return result;
}

RunTimeConditions conditions_below(const Graph& graph, const std::vector<ValueId>& roots) {
  std::vector<char> needed(graph.node_count(), 0);
  for (const ValueId root : roots) needed[graph.producer(root).v] = 1;
  RunTimeConditions result;
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    if (needed[i] == 0) continue;
    const Node& node = graph.nodes()[i];
    for (const ValueId input : node.inputs)
      if (!input.is_none()) needed[graph.producer(input).v] = 1;
    append(result, run_time_conditions(graph, node));
  }
  return result;
}

Result<void> check_follows(const RunTimeConditions& wanted, const RunTimeConditions& accepted) {
  for (const Dimension& one : wanted.zero)
    if (!is_zero(one, accepted.zero))
      return bad_input(fmt::format("this is defined only where {} = 0", one.text()));
  for (const Dimension& one : wanted.sizes)
    if (std::find(accepted.sizes.begin(), accepted.sizes.end(), one) == accepted.sizes.end())
      return bad_input(fmt::format("this is defined only where {} is not negative", one.text()));
  return {};
}

}  // namespace lemma
