#include "plans/relations/placed_claim.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ir/rebuild.h"
#include "plans/relations/relations.h"

namespace lemma::plans {

namespace {

constexpr std::size_t most_pending_operators = 48;
constexpr std::size_t most_single_operators = 48;

/// The number that all elements of a constant are: finite, of a type that is computed with, and one that f64 has. Larger
/// integers round to each other there.
std::optional<double> uniform_value(const Constant& constant) {
  constexpr double most = 9007199254740992;  // 2 to the 53rd power
  if (constant.is_symbolic() || constant.element_count() == 0) return std::nullopt;
  if (!is_real(constant.type().data_type) && !is_integer(constant.type().data_type) &&
      constant.type().data_type != DataType::boolean)
    return std::nullopt;
  const std::vector<double> elements = constant.reals();
  if (elements.empty()) return std::nullopt;
  for (const double element : elements)
    if (element != elements.front()) return std::nullopt;
  const double value = elements.front();
  if (!std::isfinite(value) || (!is_real(constant.type().data_type) && std::abs(value) >= most))
    return std::nullopt;
  return value;
}

/// Builds both sides of a claim over common inputs.
class Sides {
 public:
  Sides(const Graph& single, const Program& program,
        const std::vector<std::optional<Relation>>& relations)
      : single_(single), program_(program), relations_(relations) {}

  /// Partial values come first: what they add up to is the single-device value.
  Result<void> enter(const Leaves& leaves) {
    for (const bool partial : {true, false})
      for (const ValueId leaf : leaves.related)
        if (is_partial(relations_[leaf.v]->placement) == partial)
          LEMMA_RETURN_IF_ERROR(enter(leaf, *relations_[leaf.v]));
    return {};
  }

  Result<ValueId> of_program(ValueId value) {
    if (const auto known = placed_.find(value); known != placed_.end()) return known->second;
    const NodeId id = program_.graph.producer(value);
    const Node& node = program_.graph.node(id);
    if (node.kind == NodeKind::constant) return constant(program_.graph.constant(node));
    if (node.kind != NodeKind::operation) return unsupported("not an operation");
    return copied(program_.graph, node, value, placed_,
                  [this](ValueId operand) { return of_program(operand); });
  }

  Result<ValueId> of_single(ValueId value) {
    if (const auto known = wholes_.find(value); known != wholes_.end()) return known->second;
    const Node& node = single_.node(single_.producer(value));
    if (node.kind == NodeKind::constant) return constant(single_.constant(node));
    if (node.kind != NodeKind::operation || ++single_operators_ > most_single_operators)
      return unsupported("not computed from what the operands are");
    return copied(single_, node, value, wholes_,
                  [this](ValueId operand) { return of_single(operand); });
  }

  Graph& graph() { return graph_; }

 private:
  Result<void> enter(ValueId leaf, const Relation& relation) {
    const auto known = wholes_.find(relation.single);
    ValueId whole;
    if (is_partial(relation.placement)) {
      if (known != wholes_.end())
        return unsupported("two values that have to be added up to the same one");
      LEMMA_ASSIGN_OR_RETURN(const ValueId parts, partial_input(relation));
      LEMMA_ASSIGN_OR_RETURN(placed_[leaf],
                             place(graph_, parts, relation.placement, program_.mesh));
      LEMMA_ASSIGN_OR_RETURN(wholes_[relation.single], reduced(graph_, parts, relation.placement));
      return {};
    }
    if (known != wholes_.end()) {
      whole = known->second;
    } else {
      LEMMA_ASSIGN_OR_RETURN(whole, whole_of(relation.single));
      wholes_[relation.single] = whole;
    }
    LEMMA_ASSIGN_OR_RETURN(placed_[leaf], place(graph_, whole, relation.placement, program_.mesh));
    LEMMA_ASSIGN_OR_RETURN(placed_[leaf], cut(graph_, placed_[leaf], relation.window));
    return {};
  }

  Result<ValueId> whole_of(ValueId single) {
    if (const Constant* constant = single_.constant_of(single))
      if (uniform_value(*constant)) return this->constant(*constant);
    return new_input(single_.type(single));
  }

  /// Any tensors on the devices along the partial axes, the same along the others.
  Result<ValueId> partial_input(const Relation& relation) {
    TensorType type = single_.type(relation.single);
    Shape shape;
    for (std::size_t i = 0; i < relation.placement.size(); ++i)
      if (relation.placement[i].sharing == Sharing::partial)
        shape.emplace_back(program_.mesh.axes[i].size);
    shape.insert(shape.end(), type.shape->begin(), type.shape->end());
    return new_input({type.data_type, std::move(shape)});
  }

  Result<ValueId> new_input(TensorType type) {
    return graph_.add_input(fmt::format("x{}", graph_.inputs().size()), std::move(type));
  }

  /// A number by itself where all elements are one, so that claims are about it; otherwise any tensor.
  Result<ValueId> constant(const Constant& constant) {
    if (const auto value = uniform_value(constant))
      return graph_.add("ConstantOfShape", {},
                        {{"shape", *constant.type().shape},
                         {"data_type", constant.type().data_type},
                         {"value", *value}});
    for (const auto& [other, value] : constants_)
      if (*other == constant) return value;
    LEMMA_ASSIGN_OR_RETURN(const ValueId value, new_input(constant.type()));
    constants_.emplace_back(&constant, value);
    return value;
  }

  template <typename Operand>
  Result<ValueId> copied(const Graph& from, const Node& node, ValueId value,
                         std::map<ValueId, ValueId>& known, Operand operand_of) {
    std::vector<ValueId> operands;
    for (const ValueId operand : node.inputs) {
      ValueId here = ValueId::none();
      if (!operand.is_none()) {
        LEMMA_ASSIGN_OR_RETURN(here, operand_of(operand));
      }
      operands.push_back(here);
    }
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                           add_copy(graph_, node, node.attributes, std::move(operands)));
    for (std::uint32_t i = 0; i < node.output_count; ++i) known.emplace(node.output(i), outputs[i]);
    return outputs[from.output_index(value)];
  }

  const Graph& single_;
  const Program& program_;
  const std::vector<std::optional<Relation>>& relations_;
  Graph graph_;
  std::map<ValueId, ValueId> wholes_,
      placed_;  // by value of the single-device graph, of the program
  std::vector<std::pair<const Constant*, ValueId>> constants_;
  std::size_t single_operators_ = 0;
};

Result<Claim> finished(Graph graph, ValueId left, ValueId right) {
  LEMMA_RETURN_IF_ERROR(graph.add_output("left", left));
  LEMMA_RETURN_IF_ERROR(graph.add_output("right", right));
  return Claim{std::move(graph), left, right};
}

}  // namespace

Leaves leaves_of(const Graph& program, const std::vector<std::optional<Relation>>& relations,
                 ValueId value) {
  Leaves result;
  std::set<ValueId> seen;
  std::set<NodeId> pending;
  std::vector<ValueId> open = {value};
  while (!open.empty() && !result.is_too_large) {
    const ValueId next = open.back();
    open.pop_back();
    if (!seen.insert(next).second) continue;
    if (next != value && relations[next.v]) {
      result.related.push_back(next);
      continue;
    }
    const NodeId id = program.producer(next);
    pending.insert(id);
    result.is_too_large = pending.size() > most_pending_operators;
    const std::vector<ValueId>& operands = program.node(id).inputs;
    for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand)
      if (!operand->is_none()) open.push_back(*operand);
  }
  return result;
}

Result<std::vector<Claim>> placed_claims(const Graph& single, const Program& program,
                                         const std::vector<std::optional<Relation>>& relations,
                                         const Leaves& leaves, const SupposedRelation& supposed) {
  Sides sides(single, program, relations);
  LEMMA_RETURN_IF_ERROR(sides.enter(leaves));
  LEMMA_ASSIGN_OR_RETURN(const ValueId whole, sides.of_single(supposed.single));
  LEMMA_ASSIGN_OR_RETURN(const ValueId value, sides.of_program(supposed.value));
  std::vector<Claim> claims;
  if (!is_partial(supposed.placement)) {
    LEMMA_ASSIGN_OR_RETURN(ValueId placed,
                           place(sides.graph(), whole, supposed.placement, program.mesh));
    LEMMA_ASSIGN_OR_RETURN(placed, cut(sides.graph(), placed, supposed.window));
    LEMMA_ASSIGN_OR_RETURN(Claim claim, finished(sides.graph(), placed, value));
    claims.push_back(std::move(claim));
    return claims;
  }
  LEMMA_ASSIGN_OR_RETURN(const ValueId collected,
                         collect(sides.graph(), value, supposed.placement, program.mesh));
  LEMMA_ASSIGN_OR_RETURN(Claim claim, finished(sides.graph(), whole, collected));
  claims.push_back(std::move(claim));
  for (std::size_t i = 0; i < supposed.placement.size(); ++i) {
    if (supposed.placement[i].sharing != Sharing::replicated || program.mesh.axes[i].size == 1)
      continue;
    LEMMA_ASSIGN_OR_RETURN(
        const ValueId first,
        sides.graph().add("Broadcast", {value}, {{"device_axis", static_cast<std::int64_t>(i)}}));
    LEMMA_ASSIGN_OR_RETURN(Claim same, finished(sides.graph(), value, first));
    claims.push_back(std::move(same));
  }
  return claims;
}

}  // namespace lemma::plans
