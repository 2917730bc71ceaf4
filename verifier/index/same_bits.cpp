#include "verifier/index/same_bits.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/rebuild.h"
#include "verifier/index/comparison.h"

namespace lemma::verifier::index {
namespace {

using Objection = std::optional<std::string>;

class SameBits {
 public:
  SameBits(const Graph& left, const Graph& right, const Known& known)
      : left_{left, {}}, right_{right, {}}, known_(known) {}

  Objection run() {
    number_kernels(left_);
    number_kernels(right_);
    return objection_to(left_, values_of(left_.graph.outputs()), right_,
                        values_of(right_.graph.outputs()));
  }

 private:
  struct Side {
    const Graph& graph;
    Kernels kernels;
  };
  struct NumberedKernel {
    const Side* side = nullptr;
    NodeId node;
  };

  /// Kernels that are the same have one number. Their operands come before them.
  void number_kernels(Side& side) {
    for (const NodeId id : side.graph.live_nodes()) {
      if (!is_kernel(side.graph, side.graph.node(id))) continue;
      const auto same = std::ranges::find_if(different_, [&](const NumberedKernel& other) {
        return are_alike(*other.side, other.node, side, id);
      });
      side.kernels[id] = static_cast<std::uint32_t>(same - different_.begin());
      if (same == different_.end()) different_.push_back({&side, id});
    }
  }

  bool are_alike(const Side& a, NodeId x, const Side& b, NodeId y) const {
    const Node &one = a.graph.node(x), &other = b.graph.node(y);
    const bool is_same_application = one.op == other.op && one.output_count == other.output_count &&
                                     one.inputs.size() == other.inputs.size() &&
                                     what_is_computed(one) == what_is_computed(other);
    if (!is_same_application) return false;
    std::vector<ValueId> operands, others;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      if (one.inputs[i].is_none() != other.inputs[i].is_none()) return false;
      if (one.inputs[i].is_none()) continue;
      operands.push_back(one.inputs[i]);
      others.push_back(other.inputs[i]);
      if (!have_one_type(a.graph.type(operands.back()), b.graph.type(others.back()))) return false;
    }
    return !objection_to(a, operands, b, others);
  }

  /// Without whether reduced axes stay, with size 1: that says how results are laid out.
  static Attributes what_is_computed(const Node& node) {
    Attributes result = node.attributes;
    result.erase("keepdims");
    return result;
  }

  bool have_one_type(const TensorType& a, const TensorType& b) const {
    return a.data_type == b.data_type &&
           std::ranges::equal(*a.shape, *b.shape, [this](const Dimension& x, const Dimension& y) {
             return are_equal_sizes(known_, x, y);
           });
  }

  /// Why the values are not seen to have the same bits.
  Objection objection_to(const Side& a, const std::vector<ValueId>& values, const Side& b,
                         const std::vector<ValueId>& others) const {
    const auto [left, right] = compose_split([&](const IndexSplits& splits) {
      return ComposedSides{compose_run(a.graph, values, known_.facts(), splits, a.kernels),
                           compose_run(b.graph, others, known_.facts(), splits, b.kernels)};
    });
    for (std::size_t i = 0; i < left.size(); ++i)
      if (Objection objection = objection_to(left[i], right[i]))
        return fmt::format("the bits of value {} are {}", i, *objection);
    return std::nullopt;
  }

  Objection objection_to(const ComposedOutput& left, const ComposedOutput& right) const {
    Known known = known_;
    known.add(left.range);
    for (const ComposedOutput* side : {&left, &right}) {
      for (const Formula& fact : side->nonempty) known.add(fact);
      for (const Formula& fact : side->in_range) known.add(fact);
    }
    for (const ComposedOutput* side : {&left, &right})
      for (const Formula& obligation : side->obligations)
        if (!known.implies(obligation))
          return fmt::format("not known: a divisor may not be positive: {}", obligation->text);
    return objection_to_values(known, left.value, right.value);
  }

  Side left_, right_;
  const Known& known_;
  std::vector<NumberedKernel> different_;
};

/// Whether it is composed of operators that move elements only.
bool only_moves(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::operation && graph.op(node).compose != nullptr &&
         graph.op(node).has(data_movement);
}

Result<Graph> with_movements_expanded(const Graph& graph) {
  return rebuild(
      graph, [](const Graph& source, ValueId v) { return source.type(v); },
      [&graph](Graph& target, const Node& node,
               std::vector<ValueId> inputs) -> Result<std::vector<ValueId>> {
        if (!only_moves(graph, node))
          return add_copy(target, node, node.attributes, std::move(inputs));
        const std::vector<TensorType> types = graph.input_types(node);
        return graph.op(node).compose(target, {types, node.attributes, node.output_count}, inputs);
      });
}

}  // namespace

Objection objection_to_bits(const Graph& left, const Graph& right, const Known& known) {
  const auto a = with_movements_expanded(left), b = with_movements_expanded(right);
  if (!a || !b) return (a ? b : a).error().message;
  return SameBits(*a, *b, known).run();
}

}  // namespace lemma::verifier::index
