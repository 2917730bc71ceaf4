#include "report/graph_difference.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "facts/same_structure.h"
#include "ir/rebuild.h"
#include "report/model_summary.h"

namespace lemma {

namespace {

bool is_operator(const Node& node) {
  return node.kind == NodeKind::operation || node.kind == NodeKind::opaque;
}

class Differ {
 public:
  Differ(const Graph& before, const Graph& after)
      : graphs_{&before, &after},
        live_{live(before), live(after)},
        partner_{std::vector<ValueId>(before.value_count(), ValueId::none()),
                 std::vector<ValueId>(after.value_count(), ValueId::none())} {}

  GraphDifference run() {
    pair_leaves();
    pair_forward();
    pair_names();
    pair_backward();
    pair_with_other_constants();
    note_other_constants();
    GraphDifference result;
    result.only_before = changed(0);
    result.only_after = changed(1);
    result.places = places(result);
    count_operators(result);
    result.same_program = check_same_structure(*graphs_[0], *graphs_[1]).has_value();
    return result;
  }

 private:
  static std::vector<char> live(const Graph& graph) {
    std::vector<char> result(graph.node_count(), 0);
    for (const NodeId id : graph.live_nodes()) result[id.v] = 1;
    return result;
  }

  bool is_paired(int side, const Node& node) const {
    return !partner_[side][node.first_output].is_none();
  }

  void pair(const Node& a, const Node& b) {
    for (std::uint32_t k = 0; k < std::min(a.output_count, b.output_count); ++k) {
      partner_[0][a.output(k).v] = b.output(k);
      partner_[1][b.output(k).v] = a.output(k);
    }
  }

  bool do_the_same(const Node& a, const Node& b) const {
    if (a.kind != b.kind || a.inputs.size() != b.inputs.size()) return false;
    if (a.kind == NodeKind::operation)
      return a.op == b.op && a.attributes == b.attributes && a.output_count == b.output_count;
    if (a.kind != NodeKind::opaque) return false;
    const OpaqueOperator &x = graphs_[0]->opaque(a), &y = graphs_[1]->opaque(b);
    return x.domain == y.domain && x.name == y.name && x.meaning == y.meaning;
  }

  /// Inputs by name, constants by contents; of equal constants the first of one with the next of the other.
  void pair_leaves() {
    std::map<std::string, const Node*> inputs;
    std::map<std::uint64_t, std::vector<const Node*>> constants;
    for (const Node& node : graphs_[1]->nodes()) {
      if (node.kind == NodeKind::input) inputs.emplace(graphs_[1]->input_name(node), &node);
      if (node.kind == NodeKind::constant)
        constants[graphs_[1]->constant(node).digest()].push_back(&node);
    }
    for (const Node& node : graphs_[0]->nodes()) {
      if (node.kind == NodeKind::input) {
        const auto input = inputs.find(graphs_[0]->input_name(node));
        if (input != inputs.end()) pair(node, *input->second);
      }
      if (node.kind != NodeKind::constant) continue;
      const auto entry = constants.find(graphs_[0]->constant(node).digest());
      if (entry == constants.end()) continue;
      for (const Node* other : entry->second)
        if (graphs_[1]->constant(*other) == graphs_[0]->constant(node)) {
          partner_[0][node.first_output] = other->output();
          if (partner_[1][other->first_output].is_none())
            partner_[1][other->first_output] = node.output();
          break;
        }
    }
  }

  /// Pairs nodes from the inputs on: the same operation on the same values.
  void pair_forward() {
    std::map<std::vector<std::uint32_t>, std::vector<const Node*>> by_operands;
    for (const Node& node : graphs_[1]->nodes())
      if (is_operator(node) && is_live(1, node)) by_operands[operands(node)].push_back(&node);
    for (const Node& node : graphs_[0]->nodes()) {
      if (!is_operator(node) || !is_live(0, node)) continue;
      std::vector<std::uint32_t> key;
      for (const ValueId input : node.inputs)
        key.push_back(input.is_none() ? input.v : partner_[0][input.v].v);
      const auto entry = by_operands.find(key);
      if (entry == by_operands.end()) continue;
      for (const Node* other : entry->second)
        if (!is_paired(1, *other) && do_the_same(node, *other)) {
          pair(node, *other);
          break;
        }
    }
  }

  static std::vector<std::uint32_t> operands(const Node& node) {
    std::vector<std::uint32_t> result;
    for (const ValueId input : node.inputs) result.push_back(input.v);
    return result;
  }

  bool is_live(int side, const Node& node) const {
    return live_[side][graphs_[side]->producer(node.output()).v] != 0;
  }

  void pair_names() {
    std::map<std::string, const Node*> named;
    for (const Node& node : graphs_[1]->nodes()) {
      if (!is_operator(node) || !is_live(1, node) || is_paired(1, node)) continue;
      const std::string& name = graphs_[1]->suggested_name(node.output());
      if (!name.empty()) named.emplace(name, &node);
    }
    for (const Node& node : graphs_[0]->nodes()) {
      if (!is_operator(node) || !is_live(0, node) || is_paired(0, node)) continue;
      const auto entry = named.find(graphs_[0]->suggested_name(node.output()));
      if (entry != named.end() && !is_paired(1, *entry->second) &&
          do_the_same(node, *entry->second))
        pair(node, *entry->second);
    }
  }

  /// Pairs nodes from the outputs and from what is paired already: what stands at the same operand
  /// of both.
  void pair_backward() {
    std::vector<std::pair<ValueId, ValueId>> waiting;
    const auto add_operands = [&waiting](const Node& a, const Node& b) {
      for (std::size_t i = 0; i < a.inputs.size() && i < b.inputs.size(); ++i)
        waiting.emplace_back(a.inputs[i], b.inputs[i]);
    };
    for (std::size_t i = graphs_[0]->node_count(); i-- > 0;) {
      const Node& node = graphs_[0]->nodes()[i];
      if (is_operator(node) && is_paired(0, node)) add_operands(node, partner_node(node));
    }
    for (const GraphOutput& output : graphs_[0]->outputs())
      for (const GraphOutput& other : graphs_[1]->outputs())
        if (output.name == other.name) waiting.emplace_back(output.value, other.value);
    while (!waiting.empty()) {
      const auto [a, b] = waiting.back();
      waiting.pop_back();
      if (a.is_none() || b.is_none()) continue;
      exchanged_.emplace_back(a, b);
      const Node& x = graphs_[0]->node(graphs_[0]->producer(a));
      const Node& y = graphs_[1]->node(graphs_[1]->producer(b));
      if (is_paired(0, x) || is_paired(1, y) || !do_the_same(x, y) ||
          graphs_[0]->output_index(a) != graphs_[1]->output_index(b))
        continue;
      pair(x, y);
      add_operands(x, y);
    }
  }

  const Node& partner_node(const Node& node) const {
    return graphs_[1]->node(graphs_[1]->producer(partner_[0][node.first_output]));
  }

  // ---- Constants

  /// What a node reads, where all its constants look alike; nothing if it reads constants only, or something whose
  /// partner is not known. Of the graph before, what its operands are paired with.
  std::vector<std::uint32_t> operands_but_constants(int side, const Node& node) const {
    constexpr std::uint32_t some_constant = 0xffff'fffe;
    std::vector<std::uint32_t> result;
    bool has_others = false;
    for (const ValueId input : node.inputs) {
      if (!input.is_none() && graphs_[side]->constant_of(input) != nullptr) {
        result.push_back(some_constant);
        continue;
      }
      const ValueId value = input.is_none() || side == 1 ? input : partner_[0][input.v];
      if (!input.is_none() && value.is_none()) return {};
      result.push_back(value.v);
      has_others = has_others || !input.is_none();
    }
    return has_others ? result : std::vector<std::uint32_t>{};
  }

  /// What is left and does the same to the same values, but with other weights.
  void pair_with_other_constants() {
    std::map<std::vector<std::uint32_t>, std::vector<const Node*>> by_operands;
    for (const Node& node : graphs_[1]->nodes())
      if (is_operator(node) && is_live(1, node) && !is_paired(1, node))
        by_operands[operands_but_constants(1, node)].push_back(&node);
    by_operands.erase(std::vector<std::uint32_t>{});
    for (const Node& node : graphs_[0]->nodes()) {
      if (!is_operator(node) || !is_live(0, node) || is_paired(0, node)) continue;
      const auto readers = by_operands.find(operands_but_constants(0, node));
      if (readers == by_operands.end()) continue;
      for (const Node* other : readers->second)
        if (!is_paired(1, *other) && do_the_same(node, *other) &&
            have_constants_alike(node, *other)) {
          pair(node, *other);
          break;
        }
    }
  }

  /// Constants at the same operands have the same types.
  bool have_constants_alike(const Node& a, const Node& b) const {
    for (std::size_t i = 0; i < a.inputs.size(); ++i) {
      const Constant* x = a.inputs[i].is_none() ? nullptr : graphs_[0]->constant_of(a.inputs[i]);
      const Constant* y = b.inputs[i].is_none() ? nullptr : graphs_[1]->constant_of(b.inputs[i]);
      if (x != nullptr && y != nullptr && !(x->type() == y->type())) return false;
    }
    return true;
  }

  bool has_other_constants(const Node& before, const Node& after) const {
    for (std::size_t i = 0; i < before.inputs.size() && i < after.inputs.size(); ++i) {
      const ValueId a = before.inputs[i], b = after.inputs[i];
      if (a.is_none() || b.is_none() || partner_[0][a.v] == b) continue;
      const Constant *x = graphs_[0]->constant_of(a), *y = graphs_[1]->constant_of(b);
      if (x != nullptr && y != nullptr && x->digest() != y->digest()) return true;
    }
    return false;
  }

  void note_other_constants() {
    for (const int side : {0, 1}) has_other_constants_[side].assign(graphs_[side]->node_count(), 0);
    for (const NodeId id : graphs_[0]->live_nodes()) {
      const Node& node = graphs_[0]->node(id);
      if (!is_operator(node) || !is_paired(0, node)) continue;
      const NodeId other = graphs_[1]->producer(partner_[0][node.first_output]);
      if (!has_other_constants(node, graphs_[1]->node(other))) continue;
      has_other_constants_[0][id.v] = has_other_constants_[1][other.v] = 1;
      other_constants_.emplace_back(id, other);
    }
  }

  std::vector<char> changed(int side) const {
    std::vector<char> result = has_other_constants_[side];
    for (std::size_t i = 0; i < result.size(); ++i) {
      const Node& node = graphs_[side]->nodes()[i];
      if (is_operator(node) && is_live(side, node) && !is_paired(side, node)) result[i] = 1;
    }
    return result;
  }

  // ---- Places

  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  std::vector<ChangedPlace> places(const GraphDifference& difference) {
    const std::vector<char>* only[2] = {&difference.only_before, &difference.only_after};
    const std::size_t first[2] = {0, graphs_[0]->node_count()};
    parent_.resize(first[1] + graphs_[1]->node_count());
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (const int side : {0, 1})
      for (std::size_t i = 0; i < graphs_[side]->node_count(); ++i) {
        if ((*only[side])[i] == 0) continue;
        for (const ValueId input : graphs_[side]->nodes()[i].inputs) {
          if (input.is_none()) continue;
          const std::size_t read = graphs_[side]->producer(input).v;
          // A chain of operators with other weights is no single place.
          const bool only_weights =
              has_other_constants_[side][i] != 0 && has_other_constants_[side][read] != 0;
          if ((*only[side])[read] != 0 && !only_weights)
            parent_[find(first[side] + i)] = find(first[side] + read);
        }
      }
    for (const auto& [before, after] : other_constants_)
      parent_[find(first[0] + before.v)] = find(first[1] + after.v);
    join_exchanged(only, first);
    std::map<std::size_t, std::size_t> number;  // of places, by root
    std::vector<ChangedPlace> result;
    for (const int side : {0, 1})
      for (std::uint32_t i = 0; i < graphs_[side]->node_count(); ++i) {
        if ((*only[side])[i] == 0) continue;
        const auto [where, is_new] = number.try_emplace(find(first[side] + i), result.size());
        if (is_new) result.emplace_back();
        ChangedPlace& place = result[where->second];
        (side == 0 ? place.before : place.after).push_back({i});
      }
    for (ChangedPlace& place : result)
      place.text = fmt::format("{} -> {}{}", counts(0, place.before), counts(1, place.after),
                               differs_in_constants(place) ? " with other constants" : "");
    return result;
  }

  /// The place's operators stayed, but not all of their constants.
  bool differs_in_constants(const ChangedPlace& place) const {
    const auto has = [this](int side, const std::vector<NodeId>& nodes) {
      return std::all_of(nodes.begin(), nodes.end(),
                         [this, side](NodeId id) { return has_other_constants_[side][id.v] != 0; });
    };
    return has(0, place.before) && has(1, place.after);
  }

  /// What stands at the same operand of paired nodes was exchanged. Where one of the two is no node that was
  /// added or taken away, another value leads there: that which the other one's nodes read.
  void join_exchanged(const std::vector<char>* const* only, const std::size_t* first) {
    for (const auto& [a, b] : exchanged_) {
      const NodeId x = graphs_[0]->producer(a), y = graphs_[1]->producer(b);
      if ((*only[0])[x.v] != 0 && (*only[1])[y.v] != 0)
        parent_[find(first[0] + x.v)] = find(first[1] + y.v);
    }
  }

  std::string counts(int side, const std::vector<NodeId>& nodes) const {
    std::map<std::string, std::size_t> names;
    for (const NodeId id : nodes) ++names[operator_name(*graphs_[side], graphs_[side]->node(id))];
    std::string result;
    for (const auto& [name, count] : names)
      result += fmt::format("{}{}{}", result.empty() ? "" : ", ",
                            count > 1 ? fmt::format("{} ", count) : "", name);
    return result.empty() ? "nothing" : result;
  }

  void count_operators(GraphDifference& result) const {
    for (const int side : {0, 1})
      for (const Node& node : graphs_[side]->nodes()) {
        if (!is_operator(node) || !is_live(side, node)) continue;
        auto& counts = result.operators[operator_name(*graphs_[side], node)];
        ++(side == 0 ? counts.first : counts.second);
      }
    std::erase_if(result.operators,
                  [](const auto& entry) { return entry.second.first == entry.second.second; });
  }

  const Graph* graphs_[2];
  std::vector<char> live_[2];
  std::vector<ValueId> partner_[2];                     // by value
  std::vector<std::pair<ValueId, ValueId>> exchanged_;  // at the same operand
  std::vector<char> has_other_constants_[2];            // by node: it is paired with one that has
  std::vector<std::pair<NodeId, NodeId>> other_constants_;
  std::vector<std::size_t> parent_;
};

}  // namespace

GraphDifference difference(const Graph& before, const Graph& after) {
  return Differ(before, after).run();
}

std::string operator_name(const Graph& graph, const Node& node) {
  return node.kind == NodeKind::opaque ? qualified_name(graph.opaque(node))
                                       : std::string(graph.op(node).name);
}

Result<Graph> part_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  Graph part;
  std::vector<ValueId> values(graph.value_count(), ValueId::none());
  const std::set<NodeId> inside(nodes.begin(), nodes.end());
  const auto operand = [&](ValueId value) -> Result<ValueId> {
    if (value.is_none() || !values[value.v].is_none())
      return value.is_none() ? value : values[value.v];
    const Node& producer = graph.node(graph.producer(value));
    if (producer.kind == NodeKind::constant)
      return values[value.v] = part.add_constant(graph.constant(producer));
    const std::string& name =
        producer.kind == NodeKind::input ? graph.input_name(producer) : graph.suggested_name(value);
    LEMMA_ASSIGN_OR_RETURN(
        values[value.v],
        part.add_input(name.empty() ? fmt::format("value {}", value.v) : name, graph.type(value)));
    return values[value.v];
  };
  for (const NodeId id : inside) {
    const Node& node = graph.node(id);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) {
      LEMMA_ASSIGN_OR_RETURN(const ValueId value, operand(input));
      inputs.push_back(value);
    }
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                           add_copy(part, graph, node, std::move(inputs)));
    for (std::uint32_t k = 0; k < node.output_count; ++k) values[node.output(k).v] = outputs[k];
  }
  std::set<ValueId> read;
  for (const NodeId id : graph.live_nodes())
    if (!inside.contains(id))
      for (const ValueId input : graph.node(id).inputs)
        if (!input.is_none() && inside.contains(graph.producer(input))) read.insert(input);
  for (const GraphOutput& output : graph.outputs())
    if (inside.contains(graph.producer(output.value))) read.insert(output.value);
  for (const ValueId value : read) {
    const std::string& name = graph.suggested_name(value);
    LEMMA_RETURN_IF_ERROR(
        part.add_output(name.empty() ? fmt::format("value {}", value.v) : name, values[value.v]));
  }
  return part;
}

}  // namespace lemma
