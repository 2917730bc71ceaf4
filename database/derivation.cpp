#include "database/derivation.h"

#include <algorithm>
#include <limits>
#include <set>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "egraph/match.h"
#include "egraph/obligations.h"
#include "egraph/rule_use.h"
#include "egraph/saturation.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_analysis.h"

namespace lemma::database {
namespace {

/// Marks that steer the search mean nothing here.
Substitution without_marks(Substitution rule) {
  for (RuleInput& input : rule.inputs) input.weight = false;
  return rule;
}

/// Cases spread over all; a rule has so many where it broadcasts.
std::vector<const RuleCase*> spread(const std::vector<RuleCase>& cases, std::size_t limit) {
  std::vector<const RuleCase*> result;
  const std::size_t count = std::min(cases.size(), limit);
  for (std::size_t i = 0; i < count; ++i) result.push_back(&cases[i * cases.size() / count]);
  return result;
}

/// One case: its sides in an e-graph.
class CaseDerivation {
 public:
  CaseDerivation(const Substitution& rule, const RuleCase& rule_case, const DerivationRules& rules,
                 Start start, const DerivationLimits& limits)
      : rule_(rule), case_(rule_case), rules_(rules), start_(start), limits_(limits) {}

  /// Why it was not found; empty if it was.
  std::string run(std::set<std::string>& used) {
    if (!build()) return "a side is not well typed";
    SaturationLimits limits;
    limits.node_limit = limits_.nodes;
    limits.iterations = limits_.iterations;
    limits.time_limit_seconds = std::numeric_limits<double>::infinity();
    limits.memory_limit_bytes = std::numeric_limits<std::size_t>::max();
    limits.match_limit = limits_.matches;
    limits.log_applications = true;
    limits.is_reached = [this] { return met(); };
    const SaturationReport report = saturate(egraph_, rules_.compiled(), limits);
    if (report.stop == StopReason::failed) return report.failure;
    std::string refinement;
    if (!met()) {
      if (!rule_.bidirectional && start_ == Start::both_sides) refinement = refining_rule();
      if (refinement.empty()) return std::string(name(report.stop));
      used.insert(refinement);
    }
    for (const Application& application : report.log)
      used.insert(rules_.compiled()[application.rule].rule.name);
    return "";
  }

 private:
  bool build() {
    Graph graph;
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < case_.inputs.size(); ++i)
      inputs.push_back(*graph.add_input(rule_.inputs[i].name, case_.inputs[i]));
    const auto left = instantiate(rule_, rule_.left, inputs, case_.bindings, graph);
    const auto right = instantiate(rule_, rule_.right, inputs, case_.bindings, graph);
    if (!left || !right) return false;
    std::size_t number = 0;
    for (const ValueId value : *left)
      if (!graph.add_output(fmt::format("left{}", number++), value)) return false;
    // Without the right side in the e-graph, its terms are looked for when all is done.
    if (start_ == Start::both_sides)
      for (const ValueId value : *right)
        if (!graph.add_output(fmt::format("right{}", number++), value)) return false;
    graph_ = std::move(graph);
    const std::vector<ClassId> classes = egraph_.add_graph(graph_);
    left_.clear();
    for (const ValueId value : *left) left_.push_back(classes[value.v]);
    right_values_ = *right;
    class_of_ = classes;
    return true;
  }

  /// The class of each value of the graph as far as it is in the e-graph.
  ClassId class_of(ValueId value) const {
    const ClassId known = class_of_[value.v];
    return known.is_none() ? known : egraph_.find(known);
  }

  bool met() {
    if (start_ == Start::left_side && !find_right_side()) return false;
    for (std::size_t i = 0; i < left_.size(); ++i) {
      const ClassId right = class_of(right_values_[i]);
      if (right.is_none() || egraph_.find(left_[i]) != right) return false;
    }
    return true;
  }

  /// A rule that, applied once to the left side or to what equals it, gives the right side or what equals that. So one
  /// refinement follows from another. Nothing is united: where the left side is undefined, the right one may be a number.
  std::string refining_rule() {
    std::vector<ClassId> right;
    for (const ValueId value : right_values_) right.push_back(class_of(value));
    for (const CompiledRule& compiled : rules_.compiled()) {
      if (compiled.backward || compiled.rule.bidirectional ||
          !RuleMatcher::can_match(egraph_, compiled))
        continue;
      RuleMatcher matcher(compiled, /*refinements=*/true);
      SearchLimits limits;
      limits.matches = 16 * limits_.matches;  // of one search, not of each iteration
      limits.interrupted = [] { return false; };
      MatchList matches;
      matcher.find(egraph_, limits, matches);
      for (std::size_t i = 0; i < matches.size(); ++i)
        if (refines(matcher, matches, i, right)) return compiled.rule.name;
    }
    return "";
  }

  bool refines(const RuleMatcher& matcher, const MatchList& matches, std::size_t i,
               const std::vector<ClassId>& right) {
    const auto outputs = matches.classes(i).last(matcher.rule().left_variables.size());
    if (outputs.size() != left_.size()) return false;
    for (std::size_t k = 0; k < left_.size(); ++k)
      if (egraph_.find(outputs[k]) != egraph_.find(left_[k])) return false;
    if (!obligations_at(egraph_, matcher.rule(), matches.classes(i)).inputs_defined) return false;
    std::vector<ClassId> found;
    if (!matcher.instantiate(egraph_, matches.classes(i), matches.bound(i), found)) return false;
    for (std::size_t k = 0; k < found.size(); ++k)
      if (egraph_.find(found[k]) != right[k]) return false;
    return found.size() == right.size();
  }

  /// Looks whether the terms of the right side have come to be, operands first.
  bool find_right_side() {
    for (const NodeId id : nodes_below(right_values_)) {
      const Node& node = graph_.node(id);
      for (std::uint32_t output = 0; output < node.output_count; ++output)
        if (class_of_[node.output(output).v].is_none() && !find_node(node, output)) return false;
    }
    return true;
  }

  std::vector<NodeId> nodes_below(const std::vector<ValueId>& roots) const {
    std::set<NodeId> seen;
    std::vector<NodeId> open;
    for (const ValueId root : roots) open.push_back(graph_.producer(root));
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (!seen.insert(id).second) continue;
      for (const ValueId input : graph_.node(id).inputs)
        if (!input.is_none()) open.push_back(graph_.producer(input));
    }
    return {seen.begin(), seen.end()};
  }

  bool find_node(const Node& node, std::uint32_t output) {
    if (node.kind != NodeKind::operation) return false;
    std::vector<ClassId> operands;
    for (const ValueId input : node.inputs)
      operands.push_back(input.is_none() ? ClassId::none() : class_of(input));
    for (const ENodeId candidate : egraph_.nodes_of(node.op)) {
      const ENode& existing = egraph_.node(candidate);
      if (existing.duplicate || existing.output_count != node.output_count ||
          !(egraph_.attributes(existing) == node.attributes) || !same_operands(candidate, operands))
        continue;
      if (node.output_count == 1) {
        class_of_[node.output().v] = candidate.founded();
        return true;
      }
      return find_projection(candidate, node, output);
    }
    return false;
  }

  bool find_projection(ENodeId tuple, const Node& node, std::uint32_t output) {
    for (const ENodeId id : egraph_.projections()) {
      const ENode& projection = egraph_.node(id);
      if (projection.duplicate || projection.payload != output ||
          egraph_.find(egraph_.children(id)[0]) != egraph_.find(tuple.founded()))
        continue;
      class_of_[node.output(output).v] = id.founded();
      return true;
    }
    return true;  // an output that nobody asked for need not be there
  }

  bool same_operands(ENodeId id, const std::vector<ClassId>& operands) const {
    const auto children = egraph_.children(id);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const ClassId child = i < children.size() ? children[i] : ClassId::none();
      if (child.is_none() != operands[i].is_none()) return false;
      if (!child.is_none() && egraph_.find(child) != egraph_.find(operands[i])) return false;
    }
    return true;
  }

  const Substitution& rule_;
  const RuleCase& case_;
  const DerivationRules& rules_;
  Start start_;
  const DerivationLimits& limits_;
  Graph graph_;
  EGraph egraph_;
  std::vector<ClassId> left_, class_of_;
  std::vector<ValueId> right_values_;
};

}  // namespace

void DerivationRules::add(const Substitution& rule) {
  names_.push_back(rule.name);
  const std::vector<RuleUse> uses = uses_of(rule, unit_costs(rule));
  const auto add_direction = [&](const Substitution& direction, bool backward) {
    auto compiled = compile_rule(direction);
    if (!compiled) return;
    compiled->backward = backward;
    compiled_.push_back(std::move(*compiled));
    is_searched_.push_back(std::any_of(uses.begin(), uses.end(), [backward](const RuleUse& use) {
      return use.backward == backward;
    }));
  };
  const Substitution plain = without_marks(rule);
  add_direction(plain, false);
  if (rule.bidirectional) add_direction(reversed(plain), true);
}

DerivationRules DerivationRules::only(const std::vector<std::string>& names) const {
  DerivationRules result;
  const absl::flat_hash_set<std::string_view> chosen(names.begin(), names.end());
  const auto wanted = [&chosen](const std::string& name) { return chosen.contains(name); };
  for (const std::string& name : names_)
    if (wanted(name)) result.names_.push_back(name);
  for (std::size_t i = 0; i < compiled_.size(); ++i) {
    if (!wanted(compiled_[i].rule.name)) continue;
    result.compiled_.push_back(compiled_[i]);
    result.is_searched_.push_back(is_searched_[i]);
  }
  return result;
}

DerivationRules DerivationRules::as_searched() const {
  DerivationRules result;
  result.names_ = names_;
  for (std::size_t i = 0; i < compiled_.size(); ++i)
    if (is_searched_[i]) result.compiled_.push_back(compiled_[i]);
  result.is_searched_.assign(result.compiled_.size(), true);
  return result;
}

DerivationRules DerivationRules::as_refinements() const {
  DerivationRules result = *this;
  for (CompiledRule& compiled : result.compiled_) {
    compiled.rule.bidirectional = true;
    for (RuleInput& input : compiled.rule.inputs) input.defined = false;
    compiled.bitwise =
        true;  // infinities of the model do not concern whether a rule is within reach
  }
  return result;
}

DerivationRules DerivationRules::without(const std::string& name) const {
  std::vector<std::string> others;
  for (const std::string& other : names_)
    if (other != name) others.push_back(other);
  return only(others);
}

Derivation derive(const Substitution& rule, const DerivationRules& rules, Start start,
                  const DerivationLimits& limits) {
  Derivation result;
  const auto cases = covered_cases(rule);
  if (!cases) {
    result.stopped = cases.error().message;
    return result;
  }
  result.cases = cases->size();
  std::set<std::string> used;
  for (const RuleCase* rule_case : spread(*cases, limits.cases)) {
    const std::string failure = CaseDerivation(rule, *rule_case, rules, start, limits).run(used);
    if (!failure.empty()) {
      result.stopped = rule_case->text.empty() ? failure : rule_case->text + ": " + failure;
      return result;
    }
    ++result.tried;
  }
  result.derivable = result.tried > 0;
  result.used.assign(used.begin(), used.end());
  return result;
}

std::vector<std::string> needed_rules(const Substitution& rule, const DerivationRules& rules,
                                      const Derivation& derivation, Start start,
                                      const DerivationLimits& limits) {
  std::vector<std::string> needed = derivation.used;
  for (std::size_t i = needed.size(); i-- > 0;) {
    std::vector<std::string> fewer = needed;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    const Derivation again = derive(rule, rules.only(fewer), start, limits);
    if (!again.derivable) continue;
    needed.clear();
    for (const std::string& name : fewer)
      if (std::binary_search(again.used.begin(), again.used.end(), name)) needed.push_back(name);
    i = std::min(i, needed.size());
  }
  return needed;
}

}  // namespace lemma::database
