#include "verifier/checker/explanation_terms.h"

#include <algorithm>

#include <fmt/format.h>

#include "facts/kept_operand.h"
#include "facts/opaque_facts.h"

namespace lemma::checker {

TermClasses::TermClasses(const Graph& graph, const std::map<ValueId, ValueFacts>& inputs,
                         std::vector<char> original)
    : graph_(graph), original_(std::move(original)), parent_(graph.value_count()) {
  for (std::uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
  facts_.resize(graph.value_count());
  operators_.resize(graph.node_count());
  numbers_seen_.resize(graph.node_count());
  original_.resize(graph.node_count(), 0);
  std::map<std::string, std::uint32_t> numbers;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.nodes()[i];
    const std::string label =
        node.kind == NodeKind::operation
            ? fmt::format("{}{} {}", graph.op(node).name, text(node.attributes), node.output_count)
            : fmt::format("{}", numbers.size());
    labels_.push_back(numbers.try_emplace(label, numbers.size()).first->second);
    const ValueId value = node.output();
    if (node.kind == NodeKind::constant) facts_[value.v] = facts_of_constant(graph.constant(node));
    if (node.kind != NodeKind::input) continue;
    const auto given = inputs.find(value);
    const DataType type = graph.type(value).data_type;
    facts_[value.v] =
        given != inputs.end()
            ? given->second
            : facts_of_cut_output(graph.input_name(node), type).value_or(facts_of_input(type));
  }
  close();
}

std::uint32_t TermClasses::find(ValueId value) const {
  std::uint32_t i = value.v;
  while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
  return i;
}

std::vector<std::uint32_t> TermClasses::form(NodeId node) const {
  std::vector<std::uint32_t> result = {labels_[node.v]};
  for (const ValueId input : graph_.node(node).inputs)
    result.push_back(input.is_none() ? input.v : find(input));
  return result;
}

/// Operands come before users, so one round carries an equality all the way up; another one is
/// needed only for what was found equal meanwhile.
bool TermClasses::unite_alike() {
  bool any = false;
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::vector<std::uint32_t>, const Node*> seen;
    for (std::size_t i = 0; i < graph_.node_count(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.kind != NodeKind::operation) continue;
      const Node& same =
          *seen.try_emplace(form({static_cast<std::uint32_t>(i)}), &node).first->second;
      for (std::uint32_t k = 0; k < node.output_count; ++k) {
        if (equal(node.output(k), same.output(k))) continue;
        equate(node.output(k), same.output(k));
        changed = any = true;
      }
    }
  }
  return any;
}

/// Operations that give an operand as it is, by what is known of the others. Whether one does changes only
/// with the numbers that its operands are known to be.
bool TermClasses::unite_kept() {
  bool any = false;
  for (std::size_t i = 0; i < graph_.node_count(); ++i) {
    const Node& node = graph_.nodes()[i];
    if (node.kind != NodeKind::operation || node.inputs.empty()) continue;
    std::vector<ValueFacts> operands;
    std::vector<std::optional<double>> numbers;
    for (const ValueId input : node.inputs) {
      operands.push_back(input.is_none() ? ValueFacts() : facts(input));
      numbers.push_back(common_number(operands.back()));
    }
    if (numbers == numbers_seen_[i]) continue;
    numbers_seen_[i] = std::move(numbers);
    for (std::uint32_t k = 0; k < node.output_count; ++k) {
      const auto kept = kept_operand(graph_, node, k, operands);
      if (!kept || equal(node.output(k), node.inputs[kept->operand])) continue;
      equate(node.output(k), node.inputs[kept->operand]);
      any = true;
    }
  }
  return any;
}

/// Learns what each term shows, given what is known of its operands.
bool TermClasses::learn_from_terms() {
  bool changed = false;
  for (std::size_t i = 0; i < graph_.node_count(); ++i) {
    const Node& node = graph_.nodes()[i];
    if (node.kind != NodeKind::operation) continue;
    std::vector<ValueFacts> operands;
    std::vector<std::uint32_t> identities;
    for (const ValueId input : node.inputs) {
      operands.push_back(input.is_none() ? ValueFacts() : facts(input));
      identities.push_back(input.is_none() ? input.v : find(input));
    }
    if (!operators_[i]) {
      const std::vector<TensorType> types = graph_.input_types(node);
      operators_[i] = std::make_unique<OperatorFacts>(
          graph_.op(node), Instance{types, node.attributes, node.output_count});
    }
    const auto results = operators_[i]->outputs(
        operands, identities, original_[i] != 0 ? Reads::succeed : Reads::must_be_shown);
    for (std::uint32_t k = 0; k < node.output_count && k < results.size(); ++k) {
      ValueFacts& own = facts_[find(node.output(k))];
      const ValueFacts more = both(own, results[k]);
      changed = changed || !(more == own);
      own = more;
    }
  }
  return changed;
}

void TermClasses::close() {
  for (bool changed = true; changed;) {
    const std::vector<ValueFacts> before = facts_;
    unite_alike();
    // A class knows what was known of each of its members.
    for (std::uint32_t i = 0; i < parent_.size(); ++i) {
      ValueFacts& own = facts_[find(ValueId{i})];
      own = both(own, before[i]);
    }
    changed = unite_kept();
  }
  // Bounds may get narrower for ever; whatever has been found by then is true.
  constexpr int most_rounds = 8;
  for (int round = 0; round < most_rounds && learn_from_terms(); ++round) {
  }
}

bool TermClasses::refines(ValueId a, ValueId b) {
  if (a.is_none() || b.is_none()) return a == b;
  if (equal(a, b)) return true;
  const auto [where, inserted] = known_.try_emplace({a, b}, false);
  if (!inserted) return where->second;
  bool result = std::any_of(refinements_.begin(), refinements_.end(), [&](const auto& use) {
    return equal(use.first, a) && equal(use.second, b);
  });
  const NodeId from = graph_.producer(a), to = graph_.producer(b);
  const Node &x = graph_.node(from), &y = graph_.node(to);
  if (!result && x.kind == NodeKind::operation && labels_[from.v] == labels_[to.v] &&
      graph_.output_index(a) == graph_.output_index(b) && x.inputs.size() == y.inputs.size()) {
    result = true;
    for (std::size_t i = 0; i < x.inputs.size() && result; ++i)
      result = refines(x.inputs[i], y.inputs[i]);
  }
  known_[{a, b}] = result;
  return result;
}

std::set<std::uint32_t> TermClasses::observed(const std::vector<ValueId>& roots) const {
  std::set<std::uint32_t> result;
  const auto look_at = [&](ValueId value) {
    const ValueFacts& known = facts(value);
    if (!(known.defined && known.finite())) result.insert(find(value));
  };
  for (const ValueId root : roots) look_at(root);
  for (std::size_t i = 0; i < graph_.node_count(); ++i)
    if (operators_[i] && operators_[i]->observes())
      for (const ValueId input : graph_.nodes()[i].inputs)
        if (!input.is_none()) look_at(input);
  for (std::size_t before = result.size() + 1; before != result.size();) {
    before = result.size();
    for (std::size_t i = graph_.node_count(); i-- > 0;) {
      const Node& node = graph_.nodes()[i];
      if (node.kind != NodeKind::operation) continue;
      bool looks = false;
      for (std::uint32_t k = 0; k < node.output_count; ++k)
        looks = looks || result.contains(find(node.output(k)));
      if (!looks) continue;
      for (const ValueId input : node.inputs)
        if (!input.is_none()) look_at(input);
    }
  }
  return result;
}

}  // namespace lemma::checker
