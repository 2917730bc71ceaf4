// From substitutions to patterns and plans.

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "egraph/pattern.h"
#include "rule_language/quotients.h"
#include "rule_language/substitution_analysis.h"

namespace lemma {

std::vector<char> needed_terms(const Substitution& rule, std::span<const TermId> roots) {
  std::vector<char> needed(rule.terms.size(), 0);
  for (const TermId root : roots) needed[root.v] = 1;
  for (std::size_t i = needed.size(); i-- > 0;)
    if (needed[i] != 0)
      for (const TermId operand : rule.terms[i].operands)
        if (!operand.is_none()) needed[operand.v] = 1;
  return needed;
}

namespace {

class Compiler {
 public:
  explicit Compiler(const Substitution& rule) { result_.rule = rule; }

  Result<CompiledRule> compile() {
    const Substitution& rule = result_.rule;
    variable_of_.assign(rule.terms.size(), PatternNode::absent_operand);
    result_.input_variables.assign(rule.inputs.size(), PatternNode::absent_operand);
    const std::vector<char> needed = needed_terms(rule, rule.left);
    for (std::uint32_t i = 0; i < rule.terms.size(); ++i)
      if (needed[i] != 0) add_term({i});
    for (const TermId root : rule.left) {
      if (rule.terms[root.v].is_input)
        return bad_input(fmt::format("{}: the left side is the bare input '{}'", rule.name,
                                     rule.inputs[rule.terms[root.v].input].name));
      result_.left_variables.push_back(variable_of_[root.v]);
    }
    result_.symmetric = is_symmetric();
    result_.variable_of_term = variable_of_;
    for (std::uint32_t i = 0; i < result_.nodes.size(); ++i) result_.plans.push_back(plan_from(i));
    return std::move(result_);
  }

 private:
  void add_term(TermId id) {
    const RuleTerm& term = result_.rule.terms[id.v];
    const std::uint32_t variable = result_.variable_count++;
    variable_of_[id.v] = variable;
    if (term.is_input) {
      result_.input_variables[term.input] = variable;
      return;
    }
    std::uint32_t computed = variable;
    if (term.output_count > 1) {
      PatternNode projection;
      projection.kind = ENodeKind::projection;
      projection.output = term.output;
      projection.result = variable;
      const auto known = tuple_of(term);
      computed = known ? *known : result_.variable_count++;
      projection.operands = {computed};
      result_.nodes.push_back(std::move(projection));
      if (known) return;
    }
    PatternNode node;
    node.op = term.op;
    node.output_count = term.output_count;
    node.term = id;
    node.result = computed;
    for (const TermId operand : term.operands)
      node.operands.push_back(operand.is_none() ? PatternNode::absent_operand
                                                : variable_of_[operand.v]);
    result_.nodes.push_back(std::move(node));
  }

  /// The variable of the tuple, if another output of the same node came before.
  std::optional<std::uint32_t> tuple_of(const RuleTerm& term) const {
    for (const PatternNode& node : result_.nodes) {
      if (node.kind != ENodeKind::operation || node.output_count < 2) continue;
      const RuleTerm& other = result_.rule.terms[node.term.v];
      if (other.op == term.op && other.attributes == term.attributes &&
          other.operands == term.operands)
        return node.result;
    }
    return std::nullopt;
  }

  /// Greedy: a node whose class is known, the more operands known the better; else one with a known
  /// operand, better one that is computed than an input, which may have many users; else any.
  std::vector<MatchStep> plan_from(std::uint32_t first) const {
    std::vector<char> known(result_.variable_count, 0), done(result_.nodes.size(), 0);
    std::vector<MatchStep> plan;
    for (std::optional<std::uint32_t> next = first; next; next = best_node(known, done)) {
      plan.push_back(step_at(*next, known));
      done[*next] = 1;
    }
    return plan;
  }

  std::optional<std::uint32_t> best_node(const std::vector<char>& known,
                                         const std::vector<char>& done) const {
    std::optional<std::uint32_t> best;
    std::size_t best_score = 0;
    for (std::uint32_t i = 0; i < result_.nodes.size(); ++i) {
      if (done[i] != 0) continue;
      const PatternNode& node = result_.nodes[i];
      std::size_t score = known[node.result] != 0 ? 1001 : 1;
      for (const std::uint32_t operand : node.operands)
        if (operand != PatternNode::absent_operand && known[operand] != 0)
          score += is_computed(operand) ? 4 : 2;
      if (score <= best_score) continue;
      best = i;
      best_score = score;
    }
    return best;
  }

  bool is_computed(std::uint32_t variable) const {
    return std::any_of(result_.nodes.begin(), result_.nodes.end(),
                       [variable](const PatternNode& node) { return node.result == variable; });
  }

  /// Looking for a node when these variables are known; adds its own to them.
  MatchStep step_at(std::uint32_t which, std::vector<char>& known) const {
    const PatternNode& node = result_.nodes[which];
    const std::vector<char> before = known;
    MatchStep step;
    step.node = which;
    if (known[node.result] != 0) step.sources.push_back({true, node.result});
    for (const std::uint32_t operand : node.operands)
      if (operand != PatternNode::absent_operand && known[operand] != 0)
        step.sources.push_back({false, operand});
    const auto enter = [&](std::uint32_t place, std::uint32_t variable) {
      step.places.push_back({place, variable, known[variable] != 0});
      known[variable] = 1;
    };
    enter(MatchStep::Place::result, node.result);
    for (std::uint32_t k = 0; k < node.operands.size(); ++k)
      if (node.operands[k] != PatternNode::absent_operand) enter(k, node.operands[k]);
    add_questions(before, known, step);
    return step;
  }

  void add_questions(const std::vector<char>& before, const std::vector<char>& known,
                     MatchStep& step) const {
    for (std::size_t i = 0; i < result_.input_variables.size(); ++i) {
      const std::uint32_t variable = result_.input_variables[i];
      if (variable != PatternNode::absent_operand && result_.rule.inputs[i].weight &&
          known[variable] != 0 && before[variable] == 0)
        step.weights.push_back(variable);
    }
    const std::vector<std::uint32_t>& outputs = result_.left_variables;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (known[outputs[i]] == 0 || known[outputs[j]] == 0) continue;
        if (before[outputs[i]] != 0 && before[outputs[j]] != 0) continue;
        step.distinct.emplace_back(outputs[j], outputs[i]);
        step.ordered = result_.symmetric;
      }
  }

  /// Whether exchanging the two outputs of the left side gives the same left side with other names.
  bool is_symmetric() const {
    const Substitution& rule = result_.rule;
    if (rule.left.size() != 2 || !rule.conditions.empty() || !rule.parameters.empty() ||
        !rule.free.empty())
      return false;
    return description({rule.left[0], rule.left[1]}) == description({rule.left[1], rule.left[0]});
  }

  /// The left side with names replaced by the order of their first occurrence.
  std::string description(std::vector<TermId> roots) const {
    const Substitution& rule = result_.rule;
    std::map<std::string, std::size_t> names;
    std::string result;
    const auto number = [&names](const std::string& name) {
      return names.try_emplace(name, names.size()).first->second;
    };
    const std::function<void(const RuleExpression&)> describe = [&](const RuleExpression& e) {
      result += fmt::format("({} {}", static_cast<int>(e.kind), text(e.literal));
      const bool named =
          e.kind == RuleExpression::Kind::variable || e.kind == RuleExpression::Kind::splice;
      if (named) result += fmt::format(" {}", number(e.name));
      if (e.kind == RuleExpression::Kind::call) result += " " + e.name;
      for (const RuleExpression& argument : e.arguments) describe(argument);
      result += ")";
    };
    std::vector<TermId> stack(roots.rbegin(), roots.rend());
    std::map<std::uint32_t, std::size_t> seen;
    while (!stack.empty()) {
      const TermId id = stack.back();
      stack.pop_back();
      if (id.is_none()) {
        result += " none";
        continue;
      }
      const auto [where, is_new] = seen.try_emplace(id.v, seen.size());
      result += fmt::format(" t{}", where->second);
      if (!is_new) continue;
      const RuleTerm& term = rule.terms[id.v];
      if (term.is_input) {
        const RuleInput& input = rule.inputs[term.input];
        result += fmt::format(" input {} {}", static_cast<int>(input.data_type), input.weight);
        for (const RuleExpression& size : input.shape) describe(size);
        continue;
      }
      result += fmt::format(" {} {}/{}", term.op.v, term.output, term.output_count);
      for (const auto& [name, value] : term.attributes) {
        result += " " + name;
        describe(value);
      }
      stack.insert(stack.end(), term.operands.rbegin(), term.operands.rend());
    }
    return result;
  }

  CompiledRule result_;
  std::vector<std::uint32_t> variable_of_;
};

}  // namespace

Result<CompiledRule> compile_rule(const Substitution& rule) {
  if (auto bound = detail::check_left_binds(rule); !bound)
    return with_context(rule.name, std::move(bound.error()));
  Result<CompiledRule> result = Compiler(rule).compile();
  if (!result) return result;
  result->adds_quotients = adds_more_quotients(rule);
  result->takes_free_values = detail::takes_free_values(rule);
  return result;
}

Result<std::vector<CompiledRule>> compile_rules(std::span<const Substitution> rules) {
  std::vector<CompiledRule> result;
  for (const Substitution& rule : rules) {
    auto forward = compile_rule(rule);
    if (!rule.bidirectional || rule.search_forward) {
      if (!forward) return tl::unexpected(forward.error());
      result.push_back(std::move(*forward));
      continue;
    }
    auto backward = compile_rule(reversed(rule));
    if (!forward && !backward) return tl::unexpected(forward.error());
    if (forward) result.push_back(std::move(*forward));
    if (!backward) continue;
    backward->backward = true;
    result.push_back(std::move(*backward));
  }
  return result;
}

}  // namespace lemma
