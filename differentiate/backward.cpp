#include "differentiate/backward.h"

#include <algorithm>

#include <fmt/format.h>

#include "differentiate/gradient_records.h"

namespace lemma::differentiate {

namespace {

class Backward {
 public:
  Backward(Graph& graph, std::span<const ValueId> leaves, std::span<const ValueId> held)
      : graph_(graph),
        node_count_(graph.node_count()),
        gradients_(graph.value_count(), ValueId::none()),
        depends_(graph.value_count(), false),
        held_(held.begin(), held.end()) {
    for (const ValueId leaf : leaves)
      if (!leaf.is_none()) depends_[leaf.v] = is_real(graph.type(leaf).data_type);
    for (std::uint32_t id = 0; id < node_count_; ++id) note_dependence(graph.node({id}));
    for (const ValueId leaf : leaves)
      if (!leaf.is_none()) is_leaf_.push_back(leaf);
    std::sort(is_leaf_.begin(), is_leaf_.end());
  }

  Result<void> run(std::span<const ValueGradient> seeds) {
    for (const ValueGradient& seed : seeds) LEMMA_RETURN_IF_ERROR(add(seed.value, seed.gradient));
    for (std::size_t id = node_count_; id-- > 0;)
      LEMMA_RETURN_IF_ERROR(go_through({static_cast<std::uint32_t>(id)}));
    return {};
  }

  ValueId gradient(ValueId value) const {
    return value.is_none() ? ValueId::none() : gradients_[value.v];
  }

 private:
  void note_dependence(const Node& node) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return !input.is_none() && depends_[input.v];
    });
    if (!any) return;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      if (is_real(graph_.type(node.output(i)).data_type) &&
          std::find(held_.begin(), held_.end(), node.output(i)) == held_.end())
        depends_[node.output(i).v] = true;
  }

  Result<void> add(ValueId value, ValueId gradient) {
    if (!depends_[value.v]) return {};
    ValueId& sum = gradients_[value.v];
    if (sum.is_none()) {
      sum = gradient;
      return {};
    }
    LEMMA_ASSIGN_OR_RETURN(sum, graph_.add("Add", {sum, gradient}));
    return {};
  }

  Result<void> go_through(NodeId id) {
    const Node node = graph_.node(id);  // by value: nodes are added
    bool any = false;
    std::vector<ValueId> gradients;
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const ValueId output = node.output(i);
      const bool is_leaf = std::binary_search(is_leaf_.begin(), is_leaf_.end(), output);
      gradients.push_back(is_leaf ? ValueId::none() : gradients_[output.v]);
      any = any || !gradients.back().is_none();
    }
    const bool matters = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return !input.is_none() && depends_[input.v];
    });
    if (!any || !matters) return {};
    if (node.kind == NodeKind::opaque)
      return unsupported(fmt::format("{} has no gradient: {}", graph_.opaque(node).name,
                                     graph_.opaque(node).reason));
    if (graph_.op(node).name == "Expand") return go_through_expand(node, gradients[0]);
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Stretch> operands, stretched(node));
    std::vector<ValueId> ends;
    for (const Stretch& operand : operands) ends.push_back(operand.back());
    for (std::uint32_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input.is_none() || !depends_[input.v]) continue;
      LEMMA_ASSIGN_OR_RETURN(ValueId part, gradient_of(node, ends, gradients, i));
      LEMMA_ASSIGN_OR_RETURN(part, gradient_of_stretch(operands[i], part));
      LEMMA_RETURN_IF_ERROR(add(input, part));
    }
    return {};
  }

  Result<void> go_through_expand(const Node& node, ValueId gradient) {
    LEMMA_ASSIGN_OR_RETURN(const Stretch steps,
                           stretch(node.inputs[0], *graph_.type(node.output()).shape));
    LEMMA_ASSIGN_OR_RETURN(const ValueId part, gradient_of_stretch(steps, gradient));
    return add(node.inputs[0], part);
  }

  /// A value, broadcast axis by axis: what it is after each step. The gradient of each step is a sum over one axis, or over
  /// those in front.
  using Stretch = std::vector<ValueId>;

  Result<Stretch> stretch(ValueId value, const Shape& shape) {
    Stretch result = {value};
    Shape current = *graph_.type(value).shape;
    const std::size_t in_front = shape.size() - current.size();
    const auto go_to = [&](const Shape& next) -> Result<void> {
      LEMMA_ASSIGN_OR_RETURN(const ValueId step,
                             graph_.add("Expand", {result.back()}, {{"shape", next}}));
      result.push_back(step);
      return {};
    };
    for (std::size_t i = current.size(); i-- > 0;) {
      if (current[i] == shape[in_front + i]) continue;
      current[i] = shape[in_front + i];
      LEMMA_RETURN_IF_ERROR(go_to(current));
    }
    if (in_front > 0) LEMMA_RETURN_IF_ERROR(go_to(shape));
    return result;
  }

  /// The operands of an elementwise operation, broadcast to the shape of its result: the gradient of a broadcast is that
  /// of Expand, in one place.
  Result<std::vector<Stretch>> stretched(const Node& node) {
    std::vector<Stretch> result;
    for (const ValueId operand : node.inputs) result.push_back({operand});
    if (!graph_.op(node).has(elementwise)) return result;
    const Shape shape = *graph_.type(node.output()).shape;
    for (Stretch& operand : result)
      if (!operand[0].is_none()) {
        LEMMA_ASSIGN_OR_RETURN(operand, stretch(operand[0], shape));
      }
    return result;
  }

  Result<ValueId> gradient_of_stretch(const Stretch& steps, ValueId gradient) {
    for (std::size_t i = steps.size(); i-- > 1;) {
      const Node expand = graph_.node(graph_.producer(steps[i]));
      LEMMA_ASSIGN_OR_RETURN(gradient,
                             gradient_of(expand, {steps[i - 1]}, std::vector{gradient}, 0));
    }
    return gradient;
  }

  Result<ValueId> gradient_of(const Node& node, std::vector<ValueId> operands,
                              std::span<const ValueId> gradients, std::uint32_t operand) {
    const OperatorRecord& forward = graph_.op(node);
    const auto op = find_operator(gradient_name(forward.name, operand));
    if (!op) return unsupported(fmt::format("{} has no gradient", forward.name));
    while (gradients.back().is_none()) gradients = gradients.first(gradients.size() - 1);
    operands.insert(operands.end(), gradients.begin(), gradients.end());
    auto added = graph_.add_operation(
        *op, std::move(operands),
        gradient_attributes(forward, node.attributes, node.output_count, gradients.size()));
    if (!added) return with_context(record(*op).name, std::move(added.error()));
    return graph_.node(*added).output();
  }

  Graph& graph_;
  std::size_t node_count_;
  std::vector<ValueId> gradients_;  // by value; none(): nothing has come to it
  std::vector<bool> depends_;
  std::vector<ValueId> held_;
  std::vector<ValueId> is_leaf_;
};

}  // namespace

Result<std::vector<ValueId>> backward(Graph& graph, std::span<const ValueGradient> seeds,
                                      std::span<const ValueId> with_respect_to,
                                      std::span<const ValueId> held) {
  Backward pass(graph, with_respect_to, held);
  LEMMA_RETURN_IF_ERROR(pass.run(seeds));
  std::vector<ValueId> result;
  for (const ValueId value : with_respect_to) result.push_back(pass.gradient(value));
  return result;
}

}  // namespace lemma::differentiate
