#include "verifier/checker/explanation.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "ir/copied_elements.h"
#include "ir/graph_text.h"
#include "ir/quoted.h"
#include "ir/run_time_conditions.h"
#include "rule_language/digests.h"
#include "rule_language/rule_database.h"
#include "rule_language/substitution_use.h"
#include "verifier/checker/explanation_terms.h"

namespace lemma::checker {
namespace {

/// A use of a rule, to be judged in its turn.
struct Step {
  std::string name;  // "line 7 after the graph: RULE", for messages
  const Substitution* rule = nullptr;
  bool refinement = false;  // 'refine': the right side takes the place of the left one
  std::vector<ValueId> inputs;
  Sides sides;
};

/// An output before, at stages on the way, and after.
struct Chain {
  std::string name;
  std::vector<ValueId> values;
};

class Replayer {
 public:
  Replayer(const RuleTable& rules, const RuleNames& bitwise) : rules_(rules), bitwise_(bitwise) {}

  Result<ExplanationSize> run(std::string_view text) {
    if (!text.starts_with("lemma explanation 2\ngraph ") || !text.ends_with("\nend\n"))
      return bad_input("it is not an explanation of format 2, or not whole");
    text.remove_prefix(text.find('\n') + 1);
    text.remove_suffix(std::string_view("end\n").size());
    std::size_t end = text.find('\n') + 1;
    while (text.substr(end).starts_with("  ")) end = text.find('\n', end) + 1;
    LEMMA_ASSIGN_OR_RETURN(graph_, parse_graph(text.substr(0, end)));
    stated_values_ = graph_.value_count();
    collect_symbols();
    for (text.remove_prefix(end); !text.empty();) {
      const std::size_t length = text.find('\n');
      ++line_;
      if (auto taken = take(text.substr(0, length)); !taken)
        return with_context(fmt::format("line {} after the graph", line_),
                            std::move(taken.error()));
      text.remove_prefix(length + 1);
    }
    if (used_ != listed_) return bad_input("a rule is listed that no step uses");
    size_.rules = listed_.size();
    LEMMA_RETURN_IF_ERROR(read_outputs());
    LEMMA_RETURN_IF_ERROR(judge());
    return size_;
  }

 private:
  Result<void> take(std::string_view line) {
    if (line.starts_with("rule ")) return take_rule(line);
    if (line.starts_with("step ") || line.starts_with("refine ")) return take_step(line);
    if (line.starts_with("given ")) return take_given(line);
    if (line.starts_with("copies ")) return take_copies(line);
    if (!line.starts_with("outside "))
      return bad_input("it is no rule, step, refine, copies, given or 'outside'");
    size_.outside.emplace_back(line.substr(8));
    return {};
  }

  Result<void> take_rule(std::string_view line) {
    const auto parts = words(line);
    if (parts.size() != 3) return bad_input("expected 'rule NAME DIGEST'");
    const auto rule = rules_.find(parts[1]);
    if (rule == rules_.end())
      return bad_input(fmt::format("no certificate that holds proves the rule '{}'", parts[1]));
    if (digests_.of_substitution(*rule->second) != parts[2])
      return bad_input(fmt::format("the rule '{}' is another one now", parts[1]));
    if (!listed_.insert(std::string(parts[1])).second) return bad_input("it is there twice");
    return {};
  }

  Result<void> take_step(std::string_view line) {
    const std::size_t colon = line.find(": ");
    const auto head = words(line.substr(0, colon));
    if (colon == std::string_view::npos || head.size() != 3)
      return bad_input("expected 'step RULE DIRECTION: VALUES'");
    if (listed_.find(std::string(head[1])) == listed_.end())
      return bad_input(fmt::format("the rule '{}' is not listed", head[1]));
    used_.emplace(head[1]);
    const Substitution& rule = *rules_.find(head[1])->second;
    const bool refinement = head[0] == "refine";
    const bool backward = head[2] == "backward" && rule.bidirectional && !refinement;
    if (head[2] != "forward" && !backward)
      return bad_input(fmt::format("the rule cannot be used '{}'", head[2]));
    LEMMA_ASSIGN_OR_RETURN(const SubstitutionUse use, parse_use(rule, line.substr(colon + 2)));
    auto sides = sides_of(graph_, use);
    if (!sides) return with_context(rule.name, std::move(sides.error()));
    steps_.push_back({fmt::format("line {} after the graph: {}", line_, rule.name), &rule,
                      refinement, use.inputs, std::move(*sides)});
    ++size_.steps;
    return {};
  }

  /// copies %3 %4. Both values consist of the same elements of other values, which only moved.
  Result<void> take_copies(std::string_view line) {
    const auto parts = words(line);
    if (parts.size() != 3) return bad_input("expected 'copies VALUE VALUE'");
    LEMMA_ASSIGN_OR_RETURN(const ValueId a, parse_value(parts[1]));
    LEMMA_ASSIGN_OR_RETURN(const ValueId b, parse_value(parts[2]));
    constexpr std::size_t most_steps = 1'000'000'000;
    if (!elements_) elements_.emplace(graph_, most_steps);
    const auto first = elements_->of(a), second = elements_->of(b);
    if (!first || graph_.type(a) != graph_.type(b) || first != second)
      return bad_input("nothing shows that both are copies of the same elements");
    copies_.emplace_back(a, b);
    ++size_.steps;
    return {};
  }

  /// given %3: FACTS. Of a constant that stands as an input; it is shown as something not checked.
  Result<void> take_given(std::string_view line) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) return bad_input("expected 'given VALUE: FACTS'");
    LEMMA_ASSIGN_OR_RETURN(const ValueId value, parse_value(line.substr(6, colon - 6)));
    const Node& node = graph_.node(graph_.producer(value));
    if (node.kind != NodeKind::input || given_.contains(value))
      return bad_input("it is no input, or given twice");
    LEMMA_ASSIGN_OR_RETURN(given_[value], parse_facts(line.substr(colon + 2)));
    size_.outside.push_back(
        fmt::format("given: that '{}' is {}", graph_.input_name(node), line.substr(colon + 2)));
    return {};
  }

  Result<SubstitutionUse> parse_use(const Substitution& rule, std::string_view text) const {
    std::vector<std::string> names;
    for (const RuleInput& input : rule.inputs) names.push_back(input.name);
    for (std::string& variable : variable_names(rule)) names.push_back(std::move(variable));
    LEMMA_ASSIGN_OR_RETURN(const auto values, named_values(text, names));
    SubstitutionUse use{&rule, {}, {}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i < rule.inputs.size()) {
        LEMMA_ASSIGN_OR_RETURN(const ValueId value, parse_value(values[i]));
        use.inputs.push_back(value);
        continue;
      }
      LEMMA_ASSIGN_OR_RETURN(const RuleExpression value, parse_rule_expression(values[i]));
      LEMMA_RETURN_IF_ERROR(bind_variable(rule, names[i], value, symbols_, use.bindings));
    }
    return use;
  }

  /// Numbers in the text are those of the values: the graph is printed whole and in order.
  Result<ValueId> parse_value(std::string_view text) const {
    std::uint32_t number = 0;
    const char* const end = text.data() + text.size();
    if (!text.starts_with("%") || std::from_chars(text.data() + 1, end, number).ptr != end ||
        number >= stated_values_)
      return bad_input(fmt::format("'{}' is no value of the graph", text));
    return ValueId{number};
  }

  void collect_symbols() {
    std::map<std::string, int> names;
    for (std::uint32_t i = 0; i < graph_.value_count(); ++i)
      if (const auto& shape = graph_.type(ValueId{i}).shape)
        for (const Dimension& size : *shape) lemma::collect_symbols(size, names);
    for (const auto& [name, count] : names) symbols_.dimensions[name] = Dimension::symbol(name);
  }

  /// Outputs come in chains: before X, stage X any number of times, after X.
  Result<void> read_outputs() {
    const std::vector<GraphOutput>& outputs = graph_.outputs();
    for (std::size_t i = 0; i < outputs.size();) {
      if (!outputs[i].name.starts_with("before "))
        return bad_input(fmt::format("'{}' stands where 'before' is expected", outputs[i].name));
      Chain chain{outputs[i].name.substr(7), {outputs[i].value}};
      for (++i; i < outputs.size(); ++i) {
        const std::string& name = outputs[i].name;
        const bool last = name == "after " + chain.name;
        const std::string stage = fmt::format("stage {} {}", chain.values.size(), chain.name);
        if (!last && name != stage)
          return bad_input(fmt::format("'before {}' is followed by '{}'", chain.name, name));
        chain.values.push_back(outputs[i].value);
        if (last) break;
      }
      if (i++ == outputs.size()) return bad_input(fmt::format("'after {}' is missing", chain.name));
      chains_.push_back(std::move(chain));
    }
    if (chains_.empty()) return bad_input("there are no outputs");
    size_.outputs = chains_.size();
    return {};
  }

  /// Nodes of the graph before.
  std::vector<char> original_nodes() const {
    std::vector<char> result(graph_.node_count(), 0);
    for (const Chain& chain : chains_) result[graph_.producer(chain.values.front()).v] = 1;
    for (std::size_t i = result.size(); i-- > 0;)
      if (result[i] != 0)
        for (const ValueId input : graph_.nodes()[i].inputs)
          if (!input.is_none()) result[graph_.producer(input).v] = 1;
    return result;
  }

  /// Steps one by one, each from what was shown before it; then the outputs.
  Result<void> judge() {
    std::vector<ValueId> before;
    for (const Chain& chain : chains_) before.push_back(chain.values.front());
    // Whatever a step speaks of may take no more for granted than the original graph does.
    const RunTimeConditions accepted = conditions_below(graph_, before);
    for (const Node& node : graph_.nodes())
      LEMMA_RETURN_IF_ERROR(check_follows(run_time_conditions(graph_, node), accepted));
    const std::vector<char> original = original_nodes();
    taint_opaque_outputs(original);
    TermClasses classes(graph_, given_, original);
    for (const auto& [a, b] : copies_) classes.equate(a, b);
    for (const Step& step : steps_) {
      auto judged = judge(step, classes);
      if (!judged) {  // what follows from the last steps may not have been drawn yet
        classes.close();
        judged = judge(step, classes);
      }
      if (!judged) return with_context(step.name, std::move(judged.error()));
      for (std::size_t k = 0; k < step.sides.left.size(); ++k)
        if (step.refinement)
          classes.refine(step.sides.left[k], step.sides.right[k]);
        else
          classes.equate(step.sides.left[k], step.sides.right[k]);
    }
    classes.close();
    LEMMA_RETURN_IF_ERROR(check_observed(classes));
    LEMMA_RETURN_IF_ERROR(check_reads(classes, original));
    return check_outputs(classes);
  }

  /// An opaque operator that is given an infinity may hand it on.
  void taint_opaque_outputs(const std::vector<char>& original) {
    constexpr std::string_view prefix = "into opaque ";
    if (std::none_of(chains_.begin(), chains_.end(), goes_into_opaque)) return;
    for (bool changed = true; changed;) {
      changed = false;
      const TermClasses classes(graph_, given_, original);
      for (const Chain& chain : chains_) {
        if (!goes_into_opaque(chain) || classes.facts(chain.values.front()).finite()) continue;
        const std::string op =
            chain.name.substr(prefix.size(), chain.name.rfind('#') + 1 - prefix.size());
        for (const NodeId id : graph_.inputs()) {
          const ValueId value = graph_.node(id).output();
          if (!is_real(graph_.type(value).data_type) ||
              !graph_.input_name(graph_.node(id)).starts_with("input opaque " + op))
            continue;
          changed = given_.try_emplace(value, tainted()).second || changed;
        }
      }
    }
  }

  static ValueFacts tainted() {
    ValueFacts facts;
    facts.defined = true;
    return facts;
  }

  Result<void> judge(const Step& step, const TermClasses& classes) const {
    const Substitution& rule = *step.rule;
    for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
      const ValueFacts& facts = classes.facts(step.inputs[i]);
      if (rule.inputs[i].defined && !facts.defined)
        return bad_input(fmt::format("nothing shows that '{}' is defined", rule.inputs[i].name));
      if (!bitwise_.contains(rule.name) && !facts.finite())
        return bad_input(fmt::format("'{}' may carry an infinity", rule.inputs[i].name));
    }
    if (rule.bidirectional || step.refinement) return {};
    for (const ValueId left : step.sides.left)
      if (!classes.facts(left).defined)
        return bad_input("it is no equation: nothing shows that its left side is defined");
    return {};
  }

  static bool goes_into_opaque(const Chain& chain) {
    return chain.name.starts_with("into opaque ");
  }

  Result<void> check_observed(const TermClasses& classes) const {
    std::vector<ValueId> roots;
    for (const Chain& chain : chains_)
      if (goes_into_opaque(chain)) roots.push_back(chain.values.front());
    const std::set<std::uint32_t> observed = classes.observed(roots);
    for (const Step& step : steps_) {
      if (bitwise_.contains(step.rule->name)) continue;
      for (const ValueId left : step.sides.left)
        if (observed.contains(classes.find(left)))
          return with_context(step.name, Error{ErrorKind::bad_input,
                                               "something looks for NaN or infinities in it"});
    }
    return {};
  }

  /// No run may fail that did not fail before. What reads the same as an operation of the original does not.
  Result<void> check_reads(const TermClasses& classes, const std::vector<char>& original) const {
    std::set<std::vector<std::uint32_t>> known;
    for (std::uint32_t i = 0; i < original.size(); ++i)
      if (original[i] != 0) known.insert(classes.form({i}));
    for (std::size_t i = 0; i < graph_.node_count(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.kind != NodeKind::operation || (i < original.size() && original[i] != 0)) continue;
      const std::vector<TensorType> types = graph_.input_types(node);
      const OperatorFacts facts(graph_.op(node), {types, node.attributes, node.output_count});
      if (facts.may_read_outside() && !classes.facts(node.output()).defined &&
          !known.contains(classes.form({static_cast<std::uint32_t>(i)})))
        return bad_input(fmt::format("%{} ({}) may read outside its operand", node.output().v,
                                     graph_.op(node).name));
    }
    return {};
  }

  Result<void> check_outputs(TermClasses& classes) const {
    for (const Chain& chain : chains_)
      for (std::size_t i = 1; i < chain.values.size(); ++i) {
        const ValueId a = chain.values[i - 1], b = chain.values[i];
        // An opaque operator has to be given the same.
        const bool follows = goes_into_opaque(chain) && !classes.facts(a).defined
                                 ? classes.equal(a, b)
                                 : classes.refines(a, b);
        if (!follows)
          return bad_input(
              fmt::format("the steps do not lead from 'before {0}' to 'after {0}'", chain.name));
      }
    return {};
  }

  const RuleTable& rules_;
  const RuleNames& bitwise_;
  Graph graph_;
  RuleBindings symbols_;  // sizes that are not known stand for themselves
  Digests digests_;
  std::set<std::string> listed_, used_;
  std::vector<Step> steps_;
  std::vector<std::pair<ValueId, ValueId>> copies_;
  std::optional<CopiedElements> elements_;
  std::vector<Chain> chains_;
  std::map<ValueId, ValueFacts> given_;
  std::size_t stated_values_ = 0;
  int line_ = 0;
  ExplanationSize size_;
};

}  // namespace

Result<ExplanationSize> check_explanation(std::string_view text, const RuleTable& rules,
                                          const RuleNames& bitwise) {
  return Replayer(rules, bitwise).run(text);
}

Result<std::string> check_explanation_file(const std::filesystem::path& file,
                                           const RuleTable& rules, const RuleNames& bitwise) {
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  LEMMA_ASSIGN_OR_RETURN(const ExplanationSize size, check_explanation(contents, rules, bitwise));
  std::string result = fmt::format("{} holds: {} outputs equal by {} steps with {} rules\n",
                                   file.string(), size.outputs, size.steps, size.rules);
  for (const std::string& outside : size.outside)
    result += fmt::format("  not checked: {}\n", outside);
  return result;
}

bool is_proved(const Substitution& rule, const RuleTable& proved) {
  const auto found = proved.find(rule.name);
  return found != proved.end() && text(*found->second) == text(rule);
}

}  // namespace lemma::checker
