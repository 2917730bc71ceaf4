#pragma once
// Equality saturation over any language whose labels have a text: rules, and applying them until
// nothing new follows or a limit is reached. Deterministic, unless time is up.

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/limits.h"
#include "engine/matching.h"
#include "engine/pattern.h"
#include "engine/terms.h"
#include "engine/words.h"

namespace lemma::engine {

/// Whether a rule may be applied, given the canonical classes of the variables that its condition names.
template <typename Graph>
using ConditionFunction = std::function<bool(const Graph&, std::span<const ClassId>)>;

/// `condition`: the function that a name in a rule stands for, given the classes of the variables
/// behind it; an empty function if there is none.
template <typename L>
concept HasConditions = requires(const L& language, std::string_view name) {
  { language.condition(name) } -> std::convertible_to<ConditionFunction<graph_of<L>>>;
};

/// A rule made ready for an e-graph: a match of `left` is united with `right`, if all conditions hold.
template <typename Graph>
struct Rule {
  struct Condition {                       // one of those behind `if`
    ConditionFunction<Graph> holds;        // asked for each match
    std::vector<std::uint32_t> variables;  // of the pattern, in the order of its arguments
  };
  std::string name;                   // as the text has it; for errors and reports
  Pattern left;                       // found in the e-graph
  Template right;                     // added for each match
  std::vector<Condition> conditions;  // all of them have to hold
};

namespace detail {

/// An error: the language has no such condition, or the left side no such variable.
template <typename Graph>
Result<typename Rule<Graph>::Condition> compile_condition(const Graph& egraph,
                                                          const Pattern& pattern,
                                                          const RuleText::Condition& text) {
  typename Rule<Graph>::Condition result;
  if constexpr (HasConditions<typename Graph::Language>)
    result.holds = egraph.language().condition(text.name);
  if (!result.holds) return bad_input("the language has no condition '" + text.name + "'");
  for (const std::string& name : text.variables) {
    const auto variable = pattern.variable(name);
    if (!variable) return bad_input("the left side has no " + name);
    result.variables.push_back(*variable);
  }
  return result;
}

/// Adds the forms of its words to the language of the e-graph, no nodes.
template <typename Graph>
Result<Rule<Graph>> compile_rule(Graph& egraph, const RuleText& text) {
  Rule<Graph> rule;
  rule.name = text.name;
  LEMMA_ASSIGN_OR_RETURN(rule.left, compile_pattern(text.left, forms_of(egraph, text.left)));
  LEMMA_ASSIGN_OR_RETURN(rule.right,
                         compile_template(text.right, forms_of(egraph, text.right), rule.left));
  for (const RuleText::Condition& condition : text.conditions) {
    LEMMA_ASSIGN_OR_RETURN(auto compiled, compile_condition(egraph, rule.left, condition));
    rule.conditions.push_back(std::move(compiled));
  }
  return rule;
}

}  // namespace detail

/// The rules of a text (engine/terms.h) for an e-graph, which may be empty, of a TextLanguage. Errors
/// begin with file and line.
template <typename Graph>
Result<std::vector<Rule<Graph>>> compile_rules(Graph& egraph, std::string_view text,
                                               std::string_view file) {
  static_assert(TextLanguage<typename Graph::Language>);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RuleText> texts, parse_rules(text, file));
  std::vector<Rule<Graph>> rules;
  for (const RuleText& rule : texts) {
    auto compiled = detail::compile_rule(egraph, rule);
    if (!compiled) return with_context(rule.place + ": " + rule.name, std::move(compiled.error()));
    rules.push_back(std::move(*compiled));
  }
  return rules;
}

/// The class of a term without variables, which is added.
template <typename Graph>
Result<ClassId> add_term(Graph& egraph, std::string_view text) {
  LEMMA_ASSIGN_OR_RETURN(const Term term, parse_term(text));
  std::vector<ClassId> added;  // by node
  for (const Term::Node& node : term.nodes) {
    if (node.is_variable()) return bad_input("the variable " + node.word + " in a term");
    std::vector<ClassId> children;
    for (const std::uint32_t child : node.children) children.push_back(added[child]);
    added.push_back(egraph.add(egraph.language().form_of(node.word), children));
  }
  return added.back();
}

/// What one rule did in a saturation.
struct RuleCounts {
  std::size_t matches = 0;       // new places found
  std::size_t applications = 0;  // of them, those that changed the e-graph
  std::size_t rests = 0;         // times that the scheduler made the rule rest
};

/// How a saturation went.
struct Report {
  StopReason stop = StopReason::saturated;  // what ended it
  std::size_t iterations = 0;               // rounds, one that was cut short included
  double seconds = 0;                       // by the clock, the last rebuild() included
  std::vector<RuleCounts> rules;            // in the order of the rules given
};

namespace detail {

/// One saturation; all that it is given outlives it.
template <typename Graph>
class Saturator {
 public:
  /// The time begins to run here.
  Saturator(Graph& egraph, std::span<const Rule<Graph>> rules, const RoundLimits& limits)
      : egraph_(egraph),
        rules_(rules),
        limits_(limits),
        watch_(limits),
        scheduler_(limits, rules.size()) {
    report_.rules.resize(rules.size());
  }

  /// To be called once.
  Report run() {
    report_.iterations = run_rounds(
        egraph_, limits_, watch_, scheduler_,
        [this](std::size_t iteration, std::uint32_t now) { return round(iteration, now); });
    egraph_.rebuild();
    report_.stop = watch_.reason();
    report_.seconds = watch_.seconds();
    for (std::size_t i = 0; i < rules_.size(); ++i)
      report_.rules[i].rests = scheduler_.rest_count(i);
    return report_;
  }

 private:
  using Found = std::pair<std::size_t, Matcher<Graph>>;  // by a rule

  Round round(std::size_t iteration, std::uint32_t now) {
    Round result{false, true};
    std::vector<Found> found;
    for (std::size_t i = 0; i < rules_.size() && !watch_.interrupted(); ++i)
      if (!search(i, iteration, found)) result.complete = false;
    for (const auto& [i, matcher] : found) {
      bool complete = true;
      const Matches& matches = matcher.matches();
      for (std::size_t k = 0; k < matches.size(); ++k) {
        if (watch_.exhausted(egraph_)) {
          complete = false;
          break;
        }
        result.changed = apply(i, matches[k]) || result.changed;
      }
      if (complete) scheduler_.applied(i, now);
      result.complete = result.complete && complete;
    }
    return result;
  }

  /// False, and the rule rests, if there are too many matches.
  bool search(std::size_t i, std::size_t iteration, std::vector<Found>& found) {
    if (scheduler_.rests(i, iteration)) return false;
    Matcher<Graph> matcher(egraph_, rules_[i].left,
                           {scheduler_.since(i), scheduler_.match_limit(i), &watch_});
    if (!matcher.run()) {
      if (!watch_.stopped()) scheduler_.rest(i, iteration);
      return false;
    }
    report_.rules[i].matches += matcher.matches().size();
    found.emplace_back(i, std::move(matcher));
    return true;
  }

  bool apply(std::size_t i, std::span<const ClassId> match) {
    const Rule<Graph>& rule = rules_[i];
    for (const auto& condition : rule.conditions) {
      operands_.clear();
      for (const std::uint32_t variable : condition.variables)
        operands_.push_back(egraph_.find(match[variable]));
      if (!condition.holds(egraph_, operands_)) return false;
    }
    const std::size_t nodes_before = egraph_.id_count();
    slots_.assign(match.begin(), match.end());
    const ClassId left = match[rule.left.root()];
    for (const Template::Node& node : rule.right.nodes) {
      operands_.clear();
      for (const std::uint32_t slot : node.operands) operands_.push_back(slots_[slot]);
      // The root joins the class that it is equal to.
      const bool is_root = &node == &rule.right.nodes.back();
      slots_.push_back(egraph_.add(node.form, operands_, is_root ? left : ClassId::none()));
    }
    const bool united = egraph_.unite(left, slots_[rule.right.root]);
    if (!united && egraph_.id_count() == nodes_before) return false;
    ++report_.rules[i].applications;
    return true;
  }

  Graph& egraph_;
  std::span<const Rule<Graph>> rules_;
  const RoundLimits& limits_;
  Watch watch_;
  Scheduler scheduler_;
  Report report_;
  std::vector<ClassId> slots_, operands_;  // of the match being applied
};

}  // namespace detail

/// The e-graph is rebuilt at the end, whatever stopped it. Limits are checked within iterations, so
/// that nodes exceed theirs by one right side at most.
template <typename Graph>
Report saturate(Graph& egraph, std::span<const Rule<Graph>> rules, const RoundLimits& limits = {}) {
  return detail::Saturator<Graph>(egraph, rules, limits).run();
}

}  // namespace lemma::engine
