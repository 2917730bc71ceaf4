#include "plans/relations/relations.h"

#include <algorithm>
#include <map>
#include <set>

#include "made_operators/per_device.h"
#include "plans/relations/placed_claim.h"
#include "plans/relations/samples.h"

namespace lemma::plans {

namespace {

/// How far behind related values claims look for the value of the single-device graph, in operators.
constexpr std::size_t most_operators_between = 16;
constexpr std::size_t most_candidates = 24;
/// Parts of a value that are looked at where no samples tell which one it may be.
constexpr std::size_t most_windows = 16;
/// So many claims that are not proved, and none that is between them, are the sign of a program that is wrong: from then
/// on only values whose operands are all related are looked at.
constexpr std::size_t most_failures_in_a_row = 40;

/// By value, whether it is computed from constants alone.
std::vector<bool> fixed_values(const Graph& graph) {
  std::vector<bool> fixed(graph.value_count(), false);
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node(NodeId{i});
    if (node.kind == NodeKind::input || node.kind == NodeKind::opaque) continue;
    const bool is_fixed = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId operand) {
      return operand.is_none() || fixed[operand.v];
    });
    for (std::uint32_t k = 0; k < node.output_count; ++k) fixed[node.output(k).v] = is_fixed;
  }
  return fixed;
}

class Search {
 public:
  Search(const Graph& single, const Program& program)
      : single_(single),
        program_(program),
        samples_(Samples::compute(single, program)),
        is_fixed_(fixed_values(program.graph)),
        is_fixed_single_(fixed_values(single)) {
    result_.of.resize(program.graph.value_count());
    readers_.resize(single.value_count());
    for (const NodeId id : single.live_nodes())
      for (const ValueId operand : single.node(id).inputs)
        if (!operand.is_none() && (readers_[operand.v].empty() || readers_[operand.v].back() != id))
          readers_[operand.v].push_back(id);
  }

  Relations operator()() && {
    for (const ProgramInput& input : program_.inputs)
      result_.of[input.value.v] = Relation{input.single, input.placement, {}, {}};
    for (const NodeId id : program_.graph.live_nodes()) {
      const Node& node = program_.graph.node(id);
      if (node.kind != NodeKind::operation) continue;
      for (std::uint32_t i = 0; i < node.output_count; ++i) relate(node, node.output(i));
    }
    result_.claims = claims_.all();
    return std::move(result_);
  }

 private:
  void relate(const Node& node, ValueId value) {
    const Leaves leaves = leaves_of(program_.graph, result_.of, value);
    if (leaves.related.empty() || leaves.is_too_large) return;
    if (const auto same = copied_everywhere(node, value)) {
      result_.of[value.v] = Relation{*same, replicated(program_.mesh), {}, {}};
      return;
    }
    if (failures_in_a_row_ >= most_failures_in_a_row && !reads_related_only(node)) return;
    std::set<ValueId> tried;
    for (const ValueId candidate : candidates(node, value, leaves)) {
      if (!tried.insert(candidate).second) continue;
      if (tried.size() > most_candidates) return;
      if (is_related(node, value, leaves, candidate)) return;
    }
  }

  /// What the devices of a mesh compute by a node, or the one device of a mesh without axes.
  std::optional<OperatorId> local_operator(const Node& node) const {
    const OperatorRecord& op = program_.graph.op(node);
    if (made_operators::is_per_device(op)) return made_operators::local_operator(op);
    if (program_.mesh.rank() == 0) return node.op;
    return std::nullopt;
  }

  /// Copies of an operator whose operands are the same on all devices give what it gives: that is the definition of copies.
  std::optional<ValueId> copied_everywhere(const Node& node, ValueId value) const {
    const auto local_op = local_operator(node);
    if (!local_op) return std::nullopt;
    for (const ValueId operand : node.inputs)
      if (!operand.is_none() && (!result_.of[operand.v] || !result_.of[operand.v]->window.empty() ||
                                 !(result_.of[operand.v]->placement == replicated(program_.mesh))))
        return std::nullopt;
    const OperatorId local = *local_op;
    const Attributes attributes = made_operators::local_attributes_of(node.attributes);
    for (const ValueId operand : node.inputs) {
      if (operand.is_none()) continue;
      for (const NodeId reader : readers_[result_.of[operand.v]->single.v]) {
        const Node& other = single_.node(reader);
        if (other.kind == NodeKind::operation && other.op == local &&
            other.output_count == node.output_count && other.attributes == attributes &&
            reads_the_same(node, other))
          return other.output(program_.graph.output_index(value));
      }
    }
    return std::nullopt;
  }

  bool is_related(const Node& node, ValueId value, const Leaves& leaves, ValueId candidate) {
    const TensorType &whole = single_.type(candidate), &given = program_.graph.type(value);
    const std::size_t rank = program_.mesh.rank();
    if (!whole.shape || whole.data_type != given.data_type || given.rank() < rank) return false;
    const Shape local(given.shape->begin() + static_cast<long>(rank), given.shape->end());
    for (const Placement& placement :
         placements_between(*whole.shape, local, program_.mesh, reductions(node, leaves))) {
      if (!is_possible(node, leaves, placement)) continue;
      if (samples_ && !samples_->may_be(value, candidate, placement)) continue;
      if (is_proved(leaves, {value, candidate, placement, {}})) return true;
    }
    if (rank > 0) return false;
    const std::vector<Window> parts = windows(leaves, value, candidate);
    return std::any_of(parts.begin(), parts.end(), [&](const Window& window) {
      return is_proved(leaves, {value, candidate, {}, window});
    });
  }

  bool is_proved(const Leaves& leaves, const SupposedRelation& supposed) {
    const auto asked = placed_claims(single_, program_, result_.of, leaves, supposed);
    if (!asked) return false;
    std::vector<std::size_t> proved;
    for (const Claim& claim : *asked) {
      const auto number = claims_.ask(claim);
      failures_in_a_row_ = number ? 0 : failures_in_a_row_ + 1;
      if (!number) return false;
      proved.push_back(*number);
    }
    result_.of[supposed.value.v] =
        Relation{supposed.single, supposed.placement, supposed.window, std::move(proved)};
    return true;
  }

  /// The parts of a single-device value, smaller than all of it, that a value may be.
  std::vector<Window> windows(const Leaves& leaves, ValueId value, ValueId candidate) const {
    const auto local = constant_sizes(*program_.graph.type(value).shape),
               whole = constant_sizes(*single_.type(candidate).shape);
    if (!local || !whole || local->size() != whole->size() || *local == *whole) return {};
    for (std::size_t axis = 0; axis < local->size(); ++axis)
      if ((*local)[axis] > (*whole)[axis]) return {};
    if (samples_)
      if (auto windows = samples_->windows(value, candidate)) return *windows;
    return likely_windows(leaves, *local, *whole);
  }

  /// Equal parts, and those that begin where operands begin: along each axis alone.
  std::vector<Window> likely_windows(const Leaves& leaves, const std::vector<std::int64_t>& local,
                                     const std::vector<std::int64_t>& whole) const {
    std::vector<Window> result = {{}};
    for (std::size_t axis = 0; axis < local.size(); ++axis) {
      std::set<std::int64_t> begins = {0};
      if (local[axis] > 0 && local[axis] < whole[axis]) {
        for (const ValueId leaf : leaves.related)
          for (const Interval& interval : result_.of[leaf.v]->window) begins.insert(interval.begin);
        for (std::int64_t begin = 0; begin < whole[axis]; begin += local[axis])
          begins.insert(begin);
      }
      std::vector<Window> longer;
      for (const Window& window : result)
        for (const std::int64_t begin : begins) {
          if (begin + local[axis] > whole[axis] || longer.size() >= most_windows) continue;
          longer.push_back(window);
          longer.back().push_back({begin, local[axis]});
        }
      result = std::move(longer);
    }
    return result;
  }

  bool reads_related_only(const Node& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId operand) { return operand.is_none() || result_.of[operand.v]; });
  }

  /// What devices hold alike of all operands, they hold alike of the result, unless they exchange it.
  bool is_possible(const Node& node, const Leaves& leaves, const Placement& placement) const {
    if (!made_operators::is_per_device(program_.graph.op(node))) return true;
    for (std::size_t axis = 0; axis < placement.size(); ++axis) {
      if (placement[axis].sharing == Sharing::replicated) continue;
      const bool differs =
          std::any_of(leaves.related.begin(), leaves.related.end(), [&](ValueId leaf) {
            return result_.of[leaf.v]->placement[axis].sharing != Sharing::replicated;
          });
      if (!differs) return false;
    }
    return true;
  }

  std::vector<Reduction> reductions(const Node& node, const Leaves& leaves) const {
    std::set<Reduction> result;
    for (const ValueId leaf : leaves.related)
      for (const Share& share : result_.of[leaf.v]->placement)
        if (share.sharing == Sharing::partial) result.insert(share.reduction);
    const std::string_view op = program_.graph.op(node).name;
    if (op == made_operators::per_device_name("ReduceMax")) result.insert(Reduction::max);
    if (op == made_operators::per_device_name("ReduceMin")) result.insert(Reduction::min);
    if (op == made_operators::per_device_name("ReduceMean")) result.insert(Reduction::mean);
    if (result.empty()) result.insert(Reduction::sum);
    return {result.begin(), result.end()};
  }

  /// The most likely first: results of the same operator on what the operands are; what the operands are themselves; then
  /// what is computed from these alone.
  std::vector<ValueId> candidates(const Node& node, ValueId value, const Leaves& leaves) const {
    std::vector<ValueId> result;
    const std::uint32_t output = program_.graph.output_index(value);
    if (const auto local = local_operator(node)) {
      for (const ValueId leaf : leaves.related)
        for (const NodeId reader : readers_[result_.of[leaf.v]->single.v]) {
          const Node& other = single_.node(reader);
          if (other.kind == NodeKind::operation && other.op == *local &&
              output < other.output_count && reads_the_same(node, other))
            result.push_back(other.output(output));
        }
    }
    for (const ValueId leaf : leaves.related) result.push_back(result_.of[leaf.v]->single);
    add_computed_from(leaves, result);
    return result;
  }

  /// Whether operands that are related are those of the other node.
  bool reads_the_same(const Node& node, const Node& other) const {
    if (node.inputs.size() != other.inputs.size()) return false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].is_none() != other.inputs[i].is_none()) return false;
      if (node.inputs[i].is_none()) continue;
      const auto& relation = result_.of[node.inputs[i].v];
      if (relation && relation->single != other.inputs[i]) return false;
    }
    return true;
  }

  /// The values of the single-device graph that follow from what the leaves are, nearest first.
  void add_computed_from(const Leaves& leaves, std::vector<ValueId>& result) const {
    std::set<ValueId> known;
    std::vector<ValueId> latest;
    for (const ValueId leaf : leaves.related)
      if (known.insert(result_.of[leaf.v]->single).second)
        latest.push_back(result_.of[leaf.v]->single);
    for (std::size_t step = 0; step < most_operators_between && !latest.empty(); ++step) {
      std::set<NodeId> readers;
      for (const ValueId value : latest)
        readers.insert(readers_[value.v].begin(), readers_[value.v].end());
      latest.clear();
      for (const NodeId id : readers) {
        const Node& reader = single_.node(id);
        const bool follows =
            reader.kind == NodeKind::operation &&
            std::all_of(reader.inputs.begin(), reader.inputs.end(), [&](ValueId operand) {
              return operand.is_none() || known.contains(operand) || is_fixed_single_[operand.v];
            });
        if (!follows) continue;
        for (std::uint32_t i = 0; i < reader.output_count; ++i)
          if (known.insert(reader.output(i)).second) {
            latest.push_back(reader.output(i));
            result.push_back(reader.output(i));
          }
      }
    }
  }

  const Graph& single_;
  const Program& program_;
  std::optional<Samples> samples_;
  std::vector<bool> is_fixed_,
      is_fixed_single_;  // by value of the program, of the single-device graph
  Claims claims_;
  std::size_t failures_in_a_row_ = 0;
  Relations result_;
  std::vector<std::vector<NodeId>> readers_;  // by value of the single-device graph
};

}  // namespace

Relations relate(const Graph& single, const Program& program) { return Search(single, program)(); }

}  // namespace lemma::plans
