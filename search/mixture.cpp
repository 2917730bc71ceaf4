#include "search/mixture.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facts/weight_only.h"
#include "ir/rebuild.h"

namespace lemma {

namespace {

constexpr std::uint32_t none = 0xffffffffU;

/// Sets of numbers that grow together.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }
  std::uint32_t find(std::uint32_t member) {
    while (parent_[member] != member) member = parent_[member] = parent_[parent_[member]];
    return member;
  }
  void unite(std::uint32_t member, std::uint32_t other) { parent_[find(member)] = find(other); }

 private:
  std::vector<std::uint32_t> parent_;
};

/// "2 Mul, Conv".
std::string counted(const std::map<std::string_view, std::size_t>& names) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : names)
    parts.push_back(count == 1 ? std::string(name) : fmt::format("{} {}", count, name));
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

class MixtureBuilder {
 public:
  MixtureBuilder(const Graph& before, const Graph& after, Derivation derivation)
      : graphs_{&before, &after}, derivation_(std::move(derivation)) {}

  Result<std::optional<Mixture>> build() {
    LEMMA_ASSIGN_OR_RETURN(const bool all_known, number_values());
    if (!all_known) return std::nullopt;
    result_.before_ = graphs_[0];
    for (const GraphOutput& output : graphs_[0]->outputs())
      result_.outputs_.push_back(classes_[0][output.value.v]);
    for (const int side : {0, 1}) choose_units(side);
    find_common_units();
    find_kinds();
    return std::move(result_);
  }

 private:
  using Unit = Mixture::Unit;

  /// False: a value has no term.
  Result<bool> number_values() {
    std::vector<ValueId> terms[2];
    for (const int side : {0, 1}) {
      LEMMA_ASSIGN_OR_RETURN(terms[side], derivation_.add_graph(*graphs_[side]));
    }
    const std::vector<std::uint32_t> class_of = derivation_.classes();
    for (const int side : {0, 1}) {
      classes_[side].assign(terms[side].size(), none);
      for (const NodeId id : graphs_[side]->live_nodes())
        for (std::uint32_t k = 0; k < graphs_[side]->node(id).output_count; ++k) {
          const ValueId value = graphs_[side]->node(id).output(k);
          if (terms[side][value.v].is_none()) return false;
          classes_[side][value.v] = class_of[terms[side][value.v].v];
        }
    }
    class_count_ = class_of.size();
    return true;
  }

  /// Each class by the first node that gives it, as far as the outputs need it. Inputs always stay.
  void choose_units(int side) {
    const Graph& graph = *graphs_[side];
    const std::vector<bool> weight_only = weight_only_nodes(graph);
    Mixture::Side& chosen = result_.sides_[side];
    std::vector<Unit> units;
    std::vector<std::uint32_t> first(class_count_, none);
    for (const NodeId id : graph.live_nodes()) {
      const Node& node = graph.node(id);
      Unit unit{&graph, id, weight_only[id.v], {}, {}, std::nullopt};
      for (const ValueId input : node.inputs)
        unit.inputs.push_back(input.is_none() ? none : classes_[side][input.v]);
      for (std::uint32_t k = 0; k < node.output_count; ++k) {
        unit.outputs.push_back(classes_[side][node.output(k).v]);
        std::uint32_t& place = first[unit.outputs.back()];
        if (place == none) place = static_cast<std::uint32_t>(units.size());
      }
      units.push_back(std::move(unit));
    }
    std::vector<char> needed(units.size(), 0);
    for (const GraphOutput& output : graph.outputs())
      needed[first[classes_[side][output.value.v]]] = 1;
    for (std::size_t i = units.size(); i-- > 0;)
      if (needed[i] != 0 || graph.node(units[i].node).kind == NodeKind::input)
        for (const std::uint32_t input : units[i].inputs)
          if (input != none) needed[first[input]] = 1;
    chosen.unit_of.assign(class_count_, none);
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (needed[i] == 0 && graph.node(units[i].node).kind != NodeKind::input) continue;
      for (const std::uint32_t output : units[i].outputs)
        if (first[output] == i)
          chosen.unit_of[output] = static_cast<std::uint32_t>(chosen.units.size());
      chosen.units.push_back(std::move(units[i]));
    }
  }

  /// Alike nodes on equal values that give the same values.
  void find_common_units() {
    std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> known;
    for (const int side : {0, 1}) common_[side].assign(result_.sides_[side].units.size(), 0);
    for (std::uint32_t i = 0; i < result_.sides_[0].units.size(); ++i)
      known[key_of(result_.sides_[0].units[i])].push_back(i);
    for (std::uint32_t i = 0; i < result_.sides_[1].units.size(); ++i) {
      const Unit& unit = result_.sides_[1].units[i];
      for (const std::uint32_t other : known[key_of(unit)]) {
        const Unit& alike = result_.sides_[0].units[other];
        if (unit.graph->node(unit.node).attributes != alike.graph->node(alike.node).attributes)
          continue;
        common_[0][other] = common_[1][i] = 1;
        break;
      }
    }
  }

  static std::vector<std::uint32_t> key_of(const Unit& unit) {
    const Node& node = unit.graph->node(unit.node);
    std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(node.kind),
                                      node.kind == NodeKind::operation ? node.op.v : none,
                                      static_cast<std::uint32_t>(unit.outputs.size())};
    key.insert(key.end(), unit.outputs.begin(), unit.outputs.end());
    key.insert(key.end(), unit.inputs.begin(), unit.inputs.end());
    return key;
  }

  /// Number of a unit among those of both sides.
  std::uint32_t number(int side, std::uint32_t unit) const {
    return side == 0 ? unit : static_cast<std::uint32_t>(common_[0].size()) + unit;
  }

  /// Nodes that differ belong to one place if they give the same value, or if one reads what the other
  /// gives and the other graph does not have.
  void find_kinds() {
    DisjointSets places(common_[0].size() + common_[1].size());
    for (const int side : {0, 1}) {
      const Mixture::Side &here = result_.sides_[side], &there = result_.sides_[1 - side];
      for (std::uint32_t i = 0; i < here.units.size(); ++i) {
        if (common_[side][i] != 0) continue;
        for (const std::uint32_t output : here.units[i].outputs)
          if (const std::uint32_t other = there.unit_of[output];
              other != none && common_[1 - side][other] == 0)
            places.unite(number(side, i), number(1 - side, other));
        for (const std::uint32_t input : here.units[i].inputs)
          if (input != none && there.unit_of[input] == none)
            places.unite(number(side, i), number(side, here.unit_of[input]));
      }
    }
    name_kinds(places);
  }

  void name_kinds(DisjointSets& places) {
    struct Place {
      std::map<std::string_view, std::size_t> names[2];
      std::vector<Unit*> units;
    };
    std::map<std::uint32_t, Place> by_root;
    std::vector<std::uint32_t> order;
    for (const int side : {0, 1})
      for (std::uint32_t i = 0; i < result_.sides_[side].units.size(); ++i) {
        if (common_[side][i] != 0) continue;
        const std::uint32_t root = places.find(number(side, i));
        const auto [where, is_new] = by_root.try_emplace(root);
        if (is_new) order.push_back(root);
        Unit& unit = result_.sides_[side].units[i];
        where->second.units.push_back(&unit);
        const Node& node = unit.graph->node(unit.node);
        if (node.kind == NodeKind::operation && !unit.weight_only)
          ++where->second.names[side][unit.graph->op(node).name];
      }
    std::map<std::string, std::size_t> kind_of;
    for (const std::uint32_t root : order) {
      Place& place = by_root.at(root);
      const std::string text =
          fmt::format("{} -> {}", counted(place.names[0]), counted(place.names[1]));
      const std::size_t kind = kind_of.try_emplace(text, kind_of.size()).first->second;
      if (kind == result_.kinds_.size()) result_.kinds_.push_back({text, 0});
      ++result_.kinds_[kind].places;
      for (Unit* unit : place.units) unit->kind = kind;
    }
  }

  const Graph* graphs_[2];
  Derivation derivation_;
  std::vector<std::uint32_t> classes_[2];  // by value
  std::size_t class_count_ = 0;
  std::vector<char> common_[2];  // by unit
  Mixture result_;
};

class MixtureWriter {
 public:
  MixtureWriter(const Mixture& mixture, const std::vector<bool>& taken)
      : mixture_(mixture),
        taken_(taken),
        values_(mixture.sides_[0].unit_of.size(), ValueId::none()),
        states_(values_.size(), State::unseen) {
    graph_.set_name(mixture.before_->name());
  }

  Result<std::optional<Graph>> write() {
    for (const Mixture::Unit& unit : mixture_.sides_[0].units)
      if (unit.graph->node(unit.node).kind == NodeKind::input) LEMMA_RETURN_IF_ERROR(add(unit));
    for (std::size_t i = 0; i < mixture_.outputs_.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const bool there, compute(mixture_.outputs_[i]));
      if (!there) return std::nullopt;
      LEMMA_RETURN_IF_ERROR(
          graph_.add_output(mixture_.before_->outputs()[i].name, values_[mixture_.outputs_[i]]));
    }
    return std::move(graph_);
  }

 private:
  enum class State : std::uint8_t { unseen, open, done };

  const Mixture::Unit& chosen(std::uint32_t value) const {
    const Mixture::Side &before = mixture_.sides_[0], &after = mixture_.sides_[1];
    const std::uint32_t old = before.unit_of[value], fresh = after.unit_of[value];
    if (fresh == none) return before.units[old];
    if (old == none) return after.units[fresh];
    const auto kind = before.units[old].kind;
    return kind && taken_[*kind] ? after.units[fresh] : before.units[old];
  }

  /// False: a cycle.
  Result<bool> compute(std::uint32_t root) {
    std::vector<std::uint32_t> stack = {root};
    while (!stack.empty()) {
      const std::uint32_t value = stack.back();
      if (states_[value] == State::done) {
        stack.pop_back();
        continue;
      }
      const Mixture::Unit& unit = chosen(value);
      const std::size_t before = stack.size();
      for (const std::uint32_t input : unit.inputs) {
        if (input == none || states_[input] == State::done) continue;
        if (states_[input] == State::open) return false;
        stack.push_back(input);
      }
      states_[value] = State::open;
      if (stack.size() != before) continue;
      LEMMA_RETURN_IF_ERROR(add(unit));
      stack.pop_back();
    }
    return true;
  }

  Result<void> add(const Mixture::Unit& unit) {
    const Node& node = unit.graph->node(unit.node);
    std::vector<ValueId> inputs;
    for (const std::uint32_t input : unit.inputs)
      inputs.push_back(input == none ? ValueId::none() : values_[input]);
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                           add_copy(graph_, *unit.graph, node, std::move(inputs)));
    enter(unit, node, outputs);
    return {};
  }

  /// Enters what the node gives; but a value that is taken from elsewhere stays what it is.
  void enter(const Mixture::Unit& unit, const Node& node, const std::vector<ValueId>& outputs) {
    for (std::uint32_t k = 0; k < node.output_count; ++k) {
      const std::uint32_t value = unit.outputs[k];
      if (states_[value] == State::done || &chosen(value) != &unit) continue;
      values_[value] = outputs[k];
      states_[value] = State::done;
      graph_.suggest_name(outputs[k], unit.graph->suggested_name(node.output(k)));
    }
  }

  const Mixture& mixture_;
  const std::vector<bool>& taken_;
  std::vector<ValueId> values_;  // by class
  std::vector<State> states_;
  Graph graph_;
};

Result<std::optional<Mixture>> Mixture::of(const Graph& before, const Graph& after,
                                           Derivation derivation) {
  return MixtureBuilder(before, after, std::move(derivation)).build();
}

Result<std::optional<Graph>> Mixture::graph(const std::vector<bool>& taken) const {
  return MixtureWriter(*this, taken).write();
}

}  // namespace lemma
