#include "rule_language/substitution_analysis.h"

#include <algorithm>

#include <fmt/format.h>

namespace lemma::detail {

void for_each_expression(const RuleExpression& expression,
                         const std::function<void(const RuleExpression&)>& visit) {
  visit(expression);
  for (const RuleExpression& argument : expression.arguments) for_each_expression(argument, visit);
}

std::vector<TermId> reachable_terms(const Substitution& substitution,
                                    std::span<const TermId> roots) {
  std::vector<char> needed(substitution.terms.size(), 0);
  for (const TermId root : roots) needed[root.v] = 1;
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (needed[i] == 0) continue;
    for (const TermId operand : substitution.terms[i].operands)
      if (!operand.is_none()) needed[operand.v] = 1;
  }
  std::vector<TermId> result;
  for (std::uint32_t i = 0; i < needed.size(); ++i)
    if (needed[i] != 0) result.push_back({i});
  return result;
}

namespace {

bool same_node(const RuleTerm& a, const RuleTerm& b) {
  return a.is_input == b.is_input && a.input == b.input && a.op == b.op &&
         a.attributes == b.attributes && a.operands == b.operands;
}

class TermNumbering {
 public:
  explicit TermNumbering(std::vector<RuleTerm>& terms)
      : terms_(terms), number_(terms.size(), TermId::none()) {}

  TermId visit(TermId root) {
    std::vector<TermId> stack = {root};
    while (!stack.empty()) {
      const TermId id = stack.back();
      if (!number_[id.v].is_none()) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      const auto& operands = terms_[id.v].operands;
      for (std::size_t i = operands.size(); i-- > 0;)
        if (!operands[i].is_none() && number_[operands[i].v].is_none()) {
          stack.push_back(operands[i]);
          ready = false;
        }
      if (!ready) continue;
      stack.pop_back();
      number_[id.v] = place(terms_[id.v]);
    }
    return number_[root.v];
  }

  std::vector<RuleTerm> take() { return std::move(placed_); }

 private:
  TermId place(RuleTerm term) {
    for (TermId& operand : term.operands)
      if (!operand.is_none()) operand = number_[operand.v];
    for (RuleTerm& other : placed_) {
      if (!same_node(term, other)) continue;
      const std::uint32_t outputs = std::max(term.output_count, other.output_count);
      term.output_count = other.output_count = outputs;
    }
    for (std::uint32_t i = 0; i < placed_.size(); ++i)
      if (placed_[i] == term) return {i};
    placed_.push_back(std::move(term));
    return {static_cast<std::uint32_t>(placed_.size() - 1)};
  }

  std::vector<RuleTerm>& terms_;
  std::vector<TermId> number_;
  std::vector<RuleTerm> placed_;
};

}  // namespace

void number_terms(Substitution& substitution) {
  TermNumbering numbering(substitution.terms);
  for (TermId& root : substitution.left) root = numbering.visit(root);
  for (TermId& root : substitution.right) root = numbering.visit(root);
  substitution.terms = numbering.take();
}

const AttributeSpecification* find_attribute(const OperatorRecord& record, std::string_view name) {
  for (const AttributeSpecification& specification : record.attributes)
    if (specification.name == name) return &specification;
  return nullptr;
}

bool is_length_of_variable(const RuleExpression& e) {
  return e.kind == RuleExpression::Kind::call && e.name == "len" &&
         e.arguments[0].kind == RuleExpression::Kind::variable;
}

std::string name_of(const FreeParameter& free) {
  using Kind = RuleExpression::Kind;
  if (is_length_of_variable(free.expression)) return free.expression.arguments[0].name;
  std::string name;
  bool plain = true;
  for_each_expression(free.expression, [&](const RuleExpression& e) {
    switch (e.kind) {
      case Kind::variable:
        plain = plain && name.empty();
        name = e.name;
        break;
      case Kind::literal: plain = plain && std::holds_alternative<std::int64_t>(e.literal); break;
      case Kind::add:
      case Kind::subtract:
      case Kind::multiply: break;
      case Kind::splice:
      case Kind::list:
      case Kind::call: plain = false; break;
    }
  });
  return plain ? name : "";
}

Result<void> check_may_be_free(const Substitution& rule, std::size_t which) {
  using Range = RuleParameter::Range;
  const std::string name = name_of(rule.free[which]);
  if (rule.is_axiom)
    return bad_input(
        fmt::format("an axiom says something of all values: '{}' cannot be free", name));
  const auto is_named = [&name](const auto& declared) { return declared.name == name; };
  for (std::size_t i = 0; i < which; ++i)
    if (name_of(rule.free[i]) == name) return bad_input(fmt::format("'{}' is free already", name));
  const auto parameter = std::find_if(rule.parameters.begin(), rule.parameters.end(), is_named);
  const bool is_parameter = parameter != rule.parameters.end();
  const bool is_number =
      is_parameter && (parameter->range == Range::dimension || parameter->range == Range::integer);
  const bool is_group = std::any_of(rule.groups.begin(), rule.groups.end(), is_named);
  const bool is_input = std::any_of(rule.inputs.begin(), rule.inputs.end(), is_named);
  const bool is_length = is_length_of_variable(rule.free[which].expression);
  if (is_length && !is_group)
    return bad_input(fmt::format("'len({0})' cannot be free: '{0}' is no group", name));
  if (!is_length && (is_group || is_input || (is_parameter && !is_number)))
    return bad_input(fmt::format("'{}' cannot be free: it is no dimension or integer", name));
  const bool has_range = is_length || (is_parameter && parameter->range == Range::integer);
  if (rule.free[which].source == FreeParameter::Source::any && !has_range)
    return bad_input(fmt::format("'{}' cannot take any value: it is no integer of a range", name));
  return {};
}

std::optional<PlaceOfSize> place_of_size(const Substitution& rule, const RuleExpression& size) {
  for (std::uint32_t i = 0; i < rule.inputs.size(); ++i) {
    const std::vector<RuleExpression>& shape = rule.inputs[i].shape;
    const auto item = std::find(shape.begin(), shape.end(), size);
    if (item != shape.end()) return PlaceOfSize{i, static_cast<std::size_t>(item - shape.begin())};
  }
  return std::nullopt;
}

namespace {

/// Finds which variables a side binds: the same steps as matching takes, on names instead of
/// values.
class BindingAnalysis {
 public:
  BindingAnalysis(const Substitution& rule, std::span<const TermId> roots)
      : rule_(rule), terms_(reachable_terms(rule, roots)) {
    bind_what_follows();
    for (const FreeParameter& free : rule.free) {
      if (knows_value(free.expression)) continue;
      open_.push_back(&free);
      if (!knows_values(free)) continue;
      solve(free.expression);
      bind_what_follows();
    }
  }

  /// Free parameters that the side itself does not bind.
  const std::vector<const FreeParameter*>& open() const { return open_; }

  bool knows(const RuleExpression& expression) const {
    bool all = true;
    for_each_expression(expression, [&](const RuleExpression& e) {
      if (e.kind == RuleExpression::Kind::variable || e.kind == RuleExpression::Kind::splice)
        all = all && known_.contains(e.name);
    });
    return all;
  }
  bool knows(const std::string& name) const { return known_.contains(name); }
  bool uses_input(std::uint32_t input) const {
    return std::any_of(terms_.begin(), terms_.end(), [&](TermId id) {
      return rule_.terms[id.v].is_input && rule_.terms[id.v].input == input;
    });
  }
  const std::vector<TermId>& terms() const { return terms_; }

 private:
  void bind_what_follows() {
    std::size_t before = 0;
    do {
      before = known_.size() + lengths_.size();
      for (const TermId id : terms_) visit(rule_.terms[id.v]);
      for (const RuleCondition& condition : rule_.conditions) visit(condition);
    } while (known_.size() + lengths_.size() != before);
  }

  bool knows_values(const FreeParameter& free) const {
    if (free.source != FreeParameter::Source::divisors || knows_value(free.size)) return true;
    const auto place = place_of_size(rule_, free.size);
    if (!place || !uses_input(place->input)) return false;
    const std::vector<RuleExpression>& shape = rule_.inputs[place->input].shape;
    return std::all_of(shape.begin(), shape.end(), [this](const RuleExpression& item) {
      return item.kind != RuleExpression::Kind::splice || known_.contains(item.name);
    });
  }

  void visit(const RuleTerm& term) {
    if (term.is_input) {
      list(rule_.inputs[term.input].shape);
      if (rule_.inputs[term.input].data_type == DataType::undefined) bind_types();
      return;
    }
    for (const auto& [name, expression] : term.attributes) {
      if (expression.kind == RuleExpression::Kind::list)
        list(expression.arguments);
      else
        solve(expression);
    }
  }

  /// `len(D) == len(C)` gives the one length where the other is known.
  void visit(const RuleCondition& condition) {
    if (condition.kind != RuleCondition::Kind::equal) return;
    for (const std::size_t i : {0U, 1U})
      if (is_length_of_variable(condition.arguments[i]) && knows_value(condition.arguments[1 - i]))
        lengths_.insert(condition.arguments[i].arguments[0].name);
  }

  void bind_types() {
    for (const RuleParameter& parameter : rule_.parameters)
      if (parameter.range == RuleParameter::Range::type) known_.insert(parameter.name);
  }

  void list(const std::vector<RuleExpression>& elements) {
    const auto open = std::count_if(elements.begin(), elements.end(), [&](const auto& e) {
      return e.kind == RuleExpression::Kind::splice && !known_.contains(e.name) &&
             !lengths_.contains(e.name);
    });
    if (open > 1) return;
    for (const RuleExpression& element : elements) {
      if (element.kind == RuleExpression::Kind::splice)
        known_.insert(element.name);
      else
        solve(element);
    }
  }

  void solve(const RuleExpression& e) {
    using Kind = RuleExpression::Kind;
    if (e.kind == Kind::variable) known_.insert(e.name);
    if (is_length_of_variable(e)) lengths_.insert(e.arguments[0].name);
    if (e.kind == Kind::call && e.name == "inverse") solve(e.arguments[0]);
    if (e.kind != Kind::add && e.kind != Kind::subtract && e.kind != Kind::multiply) return;
    if (knows_value(e.arguments[0]))
      solve(e.arguments[1]);
    else if (knows_value(e.arguments[1]))
      solve(e.arguments[0]);
  }

  /// Like knows(), but len(B) needs the length only.
  bool knows_value(const RuleExpression& e) const {
    if (e.kind == RuleExpression::Kind::call && e.name == "len" &&
        lengths_.contains(e.arguments[0].name))
      return true;
    if (e.kind == RuleExpression::Kind::variable || e.kind == RuleExpression::Kind::splice)
      return known_.contains(e.name);
    return std::all_of(e.arguments.begin(), e.arguments.end(),
                       [this](const RuleExpression& a) { return knows_value(a); });
  }

  const Substitution& rule_;
  std::vector<TermId> terms_;
  std::set<std::string, std::less<>> known_, lengths_;
  std::vector<const FreeParameter*> open_;
};

Result<void> check_bound(const BindingAnalysis& sides, const RuleExpression& expression,
                         std::string_view where) {
  Result<void> result;
  for_each_expression(expression, [&](const RuleExpression& e) {
    if (e.kind != RuleExpression::Kind::variable && e.kind != RuleExpression::Kind::splice) return;
    if (result && !sides.knows(e.name))
      result = bad_input(fmt::format("variable '{}' ({}) is not bound by the side that is matched",
                                     e.name, where));
  });
  return result;
}

Result<void> check_direction(const Substitution& rule, std::span<const TermId> from,
                             std::span<const TermId> to) {
  const BindingAnalysis sides(rule, from);
  for (const FreeParameter* free : sides.open())
    if (!sides.knows(free->expression))
      return bad_input(fmt::format(
          "the size '{}', whose divisors '{}' takes, is not bound by the side that is matched",
          text(free->size), name_of(*free)));
  for (const TermId id : reachable_terms(rule, to)) {
    const RuleTerm& term = rule.terms[id.v];
    if (term.is_input && !sides.uses_input(term.input))
      return bad_input(fmt::format("input '{}' does not occur on the side that is matched",
                                   rule.inputs[term.input].name));
    for (const auto& [name, expression] : term.attributes)
      LEMMA_RETURN_IF_ERROR(check_bound(sides, expression, "attribute '" + name + "'"));
  }
  for (const TermId id : sides.terms())
    for (const auto& [name, expression] : rule.terms[id.v].attributes)
      LEMMA_RETURN_IF_ERROR(check_bound(sides, expression, "attribute '" + name + "'"));
  for (const RuleCondition& condition : rule.conditions)
    for (const RuleExpression& argument : condition.arguments)
      LEMMA_RETURN_IF_ERROR(check_bound(sides, argument, "condition"));
  for (const RuleGroup& group : rule.groups)
    if (!sides.knows(group.name))
      return bad_input(
          fmt::format("group '{}..' is not bound by the side that is matched", group.name));
  for (const RuleParameter& parameter : rule.parameters) {
    if (!sides.knows(parameter.name))
      return bad_input(
          fmt::format("parameter '{0}' is not bound by the side that is matched; 'free {0} : 2, 4' "
                      "would give it values",
                      parameter.name));
    for (const RuleExpression& bound : parameter.bounds)
      LEMMA_RETURN_IF_ERROR(check_bound(sides, bound, "range of '" + parameter.name + "'"));
  }
  for (std::uint32_t i = 0; i < rule.inputs.size(); ++i) {
    if (!sides.uses_input(i))
      return bad_input(fmt::format("input '{}' does not occur on the side that is matched",
                                   rule.inputs[i].name));
    for (const RuleExpression& size : rule.inputs[i].shape)
      LEMMA_RETURN_IF_ERROR(check_bound(sides, size, "shape of '" + rule.inputs[i].name + "'"));
  }
  return {};
}

bool occurs(const Substitution& rule, const std::string& name) {
  bool result = false;
  const auto visit = [&](const RuleExpression& e) {
    result =
        result ||
        ((e.kind == RuleExpression::Kind::variable || e.kind == RuleExpression::Kind::splice) &&
         e.name == name);
  };
  for (const RuleInput& input : rule.inputs)
    for (const RuleExpression& size : input.shape) for_each_expression(size, visit);
  for (const RuleTerm& term : rule.terms)
    for (const auto& [attribute, value] : term.attributes) for_each_expression(value, visit);
  return result;
}

/// A line `free` that matching would never look at is a mistake.
Result<void> check_free(const Substitution& rule) {
  const BindingAnalysis left(rule, rule.left), right(rule, rule.right);
  const auto is_open = [](const BindingAnalysis& side, const FreeParameter& free) {
    return std::find(side.open().begin(), side.open().end(), &free) != side.open().end();
  };
  const bool both = rule.bidirectional && !rule.search_forward;
  for (const FreeParameter& free : rule.free) {
    const std::string name = name_of(free);
    if (!occurs(rule, name)) return bad_input(fmt::format("free parameter '{}' is not used", name));
    if (!is_open(left, free) && !(both && is_open(right, free)))
      return bad_input(
          fmt::format("'{}' need not be free: the side that is matched binds it", name));
  }
  return {};
}

}  // namespace

bool takes_free_values(const Substitution& rule) {
  return !rule.free.empty() && !BindingAnalysis(rule, rule.left).open().empty();
}

Result<void> check_left_binds(const Substitution& rule) {
  return check_direction(rule, rule.left, rule.right);
}

Result<void> check_substitution(const Substitution& rule) {
  if (rule.left.size() != rule.right.size())
    return bad_input(fmt::format("the left side has {} outputs, the right side {}",
                                 rule.left.size(), rule.right.size()));
  LEMMA_RETURN_IF_ERROR(check_free(rule));
  LEMMA_RETURN_IF_ERROR(check_direction(rule, rule.left, rule.right));
  // Nobody looks for places where the right side of an equation fits that is searched forward only.
  if (!rule.bidirectional || rule.search_forward) return {};
  auto backwards = check_direction(rule, rule.right, rule.left);
  if (!backwards) return with_context("read from right to left", std::move(backwards.error()));
  return {};
}

}  // namespace lemma::detail
