#include "search/rewrite.h"

#include <algorithm>
#include <utility>

#include "ir/rebuild.h"

namespace lemma {

namespace {

class PlaceRewriter {
 public:
  PlaceRewriter(const Graph& graph, const CompiledRule& rule, const Rewrite& rewrite)
      : graph_(graph),
        rule_(rule),
        rewrite_(rewrite),
        values_(graph.value_count(), ValueId::none()),
        is_left_(graph.value_count(), 0) {
    for (const ValueId value : rewrite.left) is_left_[value.v] = 1;
    const std::vector<char> needed = needed_terms(rule.rule, rule.rule.right);
    for (std::size_t i = 0; i < needed.size(); ++i) {
      const RuleTerm& term = rule.rule.terms[i];
      if (needed[i] != 0 && term.is_input) right_needs_.push_back(rewrite.inputs[term.input]);
    }
  }

  Result<Graph> run() {
    if (needs_itself()) return internal_error("the right side of a rule needs its left side");
    result_.set_name(graph_.name());
    for (const NodeId id : graph_.inputs()) LEMMA_RETURN_IF_ERROR(copy(graph_.node(id)));
    const std::vector<char> alive = nodes_that_stay();
    for (std::uint32_t i = 0; i < alive.size(); ++i) {
      const Node& node = graph_.node({i});
      if (alive[i] == 0 || node.kind == NodeKind::input) continue;
      LEMMA_RETURN_IF_ERROR(make_node({i}));
    }
    for (const GraphOutput& output : graph_.outputs()) {
      LEMMA_RETURN_IF_ERROR(make(output.value));
      LEMMA_RETURN_IF_ERROR(result_.add_output(output.name, values_[output.value.v]));
    }
    return std::move(result_);
  }

  /// The values of the result, by value of the graph; none() for those that are gone.
  const std::vector<ValueId>& values() const { return values_; }

 private:
  /// Whether what the right side is made from is computed from what it replaces.
  bool needs_itself() const {
    std::uint32_t lowest = 0xffffffffU;  // operands have smaller numbers than users
    for (const ValueId value : rewrite_.left) lowest = std::min(lowest, value.v);
    std::vector<char> seen(graph_.node_count(), 0);
    std::vector<ValueId> stack = right_needs_;
    while (!stack.empty()) {
      const ValueId value = stack.back();
      stack.pop_back();
      if (value.is_none() || value.v < lowest) continue;
      if (is_left_[value.v] != 0) return true;
      const NodeId id = graph_.producer(value);
      if (std::exchange(seen[id.v], 1) != 0) continue;
      const auto& inputs = graph_.node(id).inputs;
      stack.insert(stack.end(), inputs.begin(), inputs.end());
    }
    return false;
  }

  /// Nodes of the graph from which an output can be reached once the left side is gone.
  std::vector<char> nodes_that_stay() const {
    std::vector<char> alive(graph_.node_count(), 0);
    std::vector<ValueId> stack;
    bool right_entered = false;
    const auto enter = [&](ValueId value) {
      if (!value.is_none()) stack.push_back(value);
    };
    for (const GraphOutput& output : graph_.outputs()) enter(output.value);
    while (!stack.empty()) {
      const ValueId value = stack.back();
      stack.pop_back();
      if (is_left_[value.v] != 0) {
        if (!right_entered) stack.insert(stack.end(), right_needs_.begin(), right_needs_.end());
        right_entered = true;
        continue;
      }
      const NodeId id = graph_.producer(value);
      if (alive[id.v] != 0) continue;
      alive[id.v] = 1;
      for (const ValueId input : graph_.node(id).inputs) enter(input);
    }
    return alive;
  }

  Result<void> make_node(NodeId id) {
    const Node& node = graph_.node(id);
    for (std::uint32_t k = 0; k < node.output_count; ++k)
      if (is_left_[node.output(k).v] == 0) return make(node.output(k));
    return {};
  }

  /// Adds a value, after what it needs. Without recursion.
  Result<void> make(ValueId root) {
    std::vector<ValueId> stack = {root};
    while (!stack.empty()) {
      const ValueId value = stack.back();
      if (!values_[value.v].is_none()) {
        stack.pop_back();
        continue;
      }
      const bool left = is_left_[value.v] != 0;
      const Node& node = graph_.node(graph_.producer(value));
      const std::size_t before = stack.size();
      for (const ValueId need : left ? right_needs_ : node.inputs)
        if (!need.is_none() && values_[need.v].is_none()) stack.push_back(need);
      if (stack.size() != before) continue;
      stack.pop_back();
      LEMMA_RETURN_IF_ERROR(left ? add_right_side() : copy(node));
    }
    return {};
  }

  Result<void> add_right_side() {
    std::vector<ValueId> inputs;
    for (const ValueId input : rewrite_.inputs) inputs.push_back(values_[input.v]);
    LEMMA_ASSIGN_OR_RETURN(
        const std::vector<ValueId> right,
        instantiate(rule_.rule, rule_.rule.right, inputs, *rewrite_.bindings, result_));
    for (std::size_t k = 0; k < right.size(); ++k) {
      values_[rewrite_.left[k].v] = right[k];
      result_.suggest_name(right[k], graph_.suggested_name(rewrite_.left[k]));
    }
    return {};
  }

  /// Copies a node. What the rule replaces stays what it is. Constants get their names where the
  /// graph is written.
  Result<void> copy(const Node& node) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                           add_copy(result_, graph_, node, operands_in(node, values_)));
    for (std::uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId old = node.output(k);
      if (is_left_[old.v] != 0) continue;
      values_[old.v] = outputs[k];
      if (node.kind != NodeKind::constant)
        result_.suggest_name(outputs[k], graph_.suggested_name(old));
    }
    return {};
  }

  const Graph& graph_;
  const CompiledRule& rule_;
  const Rewrite& rewrite_;
  std::vector<ValueId> values_;
  std::vector<char> is_left_;
  std::vector<ValueId> right_needs_;
  Graph result_;
};

}  // namespace

Result<Graph> rewritten(const Graph& graph, const CompiledRule& rule, const Rewrite& rewrite,
                        std::vector<ValueId>* values) {
  PlaceRewriter rewriter(graph, rule, rewrite);
  auto result = rewriter.run();
  if (values != nullptr) *values = rewriter.values();
  return result;
}

}  // namespace lemma
