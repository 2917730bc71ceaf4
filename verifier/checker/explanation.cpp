#include "verifier/checker/explanation.h"

#include <charconv>
#include <set>

#include <fmt/format.h>

#include "ir/digests.h"
#include "ir/graph_text.h"
#include "ir/quoted.h"
#include "ir/rule_database.h"
#include "ir/run_time_conditions.h"
#include "ir/substitution_use.h"

namespace lemma::checker {
namespace {

/// Equality of values: equations, and alike operations on equal values.
class Equality {
 public:
  explicit Equality(const Graph& graph) : graph_(graph), parent_(graph.value_count()) {
    for (std::uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
    std::map<std::string, std::uint32_t> numbers;
    for (const Node& node : graph.nodes()) {
      const std::string label = node.kind == NodeKind::operation
                                    ? fmt::format("{}{} {}", graph.op(node).name,
                                                  text(node.attributes), node.output_count)
                                    : fmt::format("{}", numbers.size());
      labels_.push_back(numbers.try_emplace(label, numbers.size()).first->second);
    }
  }

  void equate(ValueId a, ValueId b) { parent_[find(a)] = find(b); }
  std::uint32_t find(ValueId value) {
    std::uint32_t i = value.v;
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  /// Operands come before users, so one round carries an equality all the way up; another one is
  /// needed only for what was found equal meanwhile.
  void close() {
    for (bool changed = true; changed;) {
      changed = false;
      std::map<std::vector<std::uint32_t>, const Node*> seen;
      for (std::size_t i = 0; i < graph_.node_count(); ++i) {
        const Node& node = graph_.nodes()[i];
        if (node.kind != NodeKind::operation) continue;
        std::vector<std::uint32_t> key = {labels_[i]};
        for (const ValueId input : node.inputs)
          key.push_back(input.is_none() ? input.v : find(input));
        const Node& same = *seen.try_emplace(std::move(key), &node).first->second;
        for (std::uint32_t k = 0; k < node.output_count; ++k) {
          if (find(node.output(k)) == find(same.output(k))) continue;
          equate(node.output(k), same.output(k));
          changed = true;
        }
      }
    }
  }

 private:
  const Graph& graph_;
  std::vector<std::uint32_t> parent_, labels_;
};

class Replayer {
 public:
  explicit Replayer(const RuleTable& rules) : rules_(rules) {}

  Result<ExplanationSize> run(std::string_view text) {
    if (!text.starts_with("lemma explanation 1\ngraph ") || !text.ends_with("\nend\n"))
      return bad_input("it is not an explanation of format 1, or not whole");
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
    LEMMA_RETURN_IF_ERROR(check_outputs());
    return size_;
  }

 private:
  Result<void> take(std::string_view line) {
    if (line.starts_with("rule ")) return take_rule(line);
    if (line.starts_with("step ")) return take_step(line);
    if (!line.starts_with("outside ")) return bad_input("it is no rule, step or 'outside'");
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
    if (head[2] != "forward" && !(head[2] == "backward" && rule.bidirectional))
      return bad_input(fmt::format("the rule cannot be used '{}'", head[2]));
    LEMMA_ASSIGN_OR_RETURN(const SubstitutionUse use, parse_use(rule, line.substr(colon + 2)));
    auto sides = sides_of(graph_, use);
    if (!sides) return with_context(rule.name, std::move(sides.error()));
    for (std::size_t k = 0; k < sides->left.size(); ++k)
      equations_.emplace_back(sides->left[k], sides->right[k]);
    ++size_.steps;
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

  Result<void> check_outputs() {
    const std::vector<GraphOutput>& outputs = graph_.outputs();
    if (outputs.empty() || outputs.size() % 2 != 0) return bad_input("outputs must come in pairs");
    std::vector<ValueId> before;
    for (std::size_t i = 0; i < outputs.size(); i += 2) {
      if (!outputs[i].name.starts_with("before ") || !outputs[i + 1].name.starts_with("after ") ||
          outputs[i].name.substr(7) != outputs[i + 1].name.substr(6))
        return bad_input(fmt::format("'{}' and '{}' are no pair of before and after",
                                     outputs[i].name, outputs[i + 1].name));
      before.push_back(outputs[i].value);
    }
    // Whatever a step speaks of may take no more for granted than the original graph does.
    const RunTimeConditions accepted = conditions_below(graph_, before);
    for (const Node& node : graph_.nodes())
      LEMMA_RETURN_IF_ERROR(check_follows(run_time_conditions(graph_, node), accepted));
    Equality equality(graph_);
    for (const auto& [a, b] : equations_) equality.equate(a, b);
    equality.close();
    for (std::size_t i = 0; i < outputs.size(); i += 2)
      if (equality.find(outputs[i].value) != equality.find(outputs[i + 1].value))
        return bad_input(fmt::format("the steps do not make '{}' equal to '{}'",
                                     outputs[i + 1].name, outputs[i].name));
    size_.outputs = before.size();
    return {};
  }

  const RuleTable& rules_;
  Graph graph_;
  RuleBindings symbols_;  // sizes that are not known stand for themselves
  Digests digests_;
  std::set<std::string> listed_, used_;
  std::vector<std::pair<ValueId, ValueId>> equations_;
  std::size_t stated_values_ = 0;
  int line_ = 0;
  ExplanationSize size_;
};

}  // namespace

Result<ExplanationSize> check_explanation(std::string_view text, const RuleTable& rules) {
  return Replayer(rules).run(text);
}

Result<std::string> check_explanation_file(const std::filesystem::path& file,
                                           const RuleTable& rules) {
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  LEMMA_ASSIGN_OR_RETURN(const ExplanationSize size, check_explanation(contents, rules));
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
