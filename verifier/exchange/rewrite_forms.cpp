#include "verifier/exchange/rewrite_forms.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/data_type.h"
#include "ir/operator.h"

namespace lemma::exchange {
namespace {

using Kind = Form::Kind;
using Sort = Form::Sort;
using Range = RuleParameter::Range;
using Comparison = RuleCondition::Kind;

Form apply(std::string head, Sort sort, std::vector<Form> parts) {
  return {Kind::apply, sort, std::move(head), std::move(parts)};
}

Form leaf(Kind kind, std::string word, Sort sort = Sort::attribute) {
  return {kind, sort, std::move(word), {}};
}

const std::vector<std::pair<Range, std::string_view>>& range_names() {
  static const std::vector<std::pair<Range, std::string_view>> names = {
      {Range::dimensions, "dimensions"},
      {Range::permutation, "permutation"},
      {Range::integer, "integer"},
      {Range::dimension, "dimension"},
      {Range::real, "real"},
      {Range::type, "type"},
      {Range::strings, "string"}};
  return names;
}

const std::vector<std::pair<Comparison, std::string_view>>& comparison_names() {
  static const std::vector<std::pair<Comparison, std::string_view>> names = {
      {Comparison::equal, "=="},
      {Comparison::not_equal, "!="},
      {Comparison::less, "<"},
      {Comparison::less_equal, "<="}};
  return names;
}

template <typename Key>
std::string name_in(const std::vector<std::pair<Key, std::string_view>>& names, Key key) {
  const auto entry =
      std::find_if(names.begin(), names.end(), [key](const auto& one) { return one.first == key; });
  return std::string(entry->second);
}

// ---- Rules to forms -------------------------------------------------------------------------------------------------

Form form_of(const RuleExpression& expression);

std::vector<Form> forms_of(const std::vector<RuleExpression>& expressions) {
  std::vector<Form> result;
  for (const RuleExpression& one : expressions) result.push_back(form_of(one));
  return result;
}

/// Literals are told apart by how the rule's language writes them.
Form literal_form(const std::string& word) {
  if (word.starts_with('"')) return leaf(Kind::text, word.substr(1, word.size() - 2));
  if (word.find_first_not_of("-0123456789") == std::string::npos) return leaf(Kind::number, word);
  const bool is_number = word.find_first_of("0123456789") == (word.starts_with('-') ? 1U : 0U);
  return leaf(is_number || word.ends_with("inf") ? Kind::real : Kind::type, word);
}

Form form_of(const RuleExpression& expression) {
  using Expression = RuleExpression::Kind;
  switch (expression.kind) {
    case Expression::literal: return literal_form(text(expression));
    case Expression::variable: return leaf(Kind::variable, expression.name);
    case Expression::splice:
      return apply("axes", Sort::attribute, {leaf(Kind::variable, expression.name)});
    case Expression::add: return apply("+", Sort::attribute, forms_of(expression.arguments));
    case Expression::subtract: return apply("-", Sort::attribute, forms_of(expression.arguments));
    case Expression::multiply: return apply("*", Sort::attribute, forms_of(expression.arguments));
    case Expression::list: return apply("list", Sort::attribute, forms_of(expression.arguments));
    case Expression::call:
      return apply("call-" + expression.name, Sort::attribute, forms_of(expression.arguments));
  }
  return {};
}

Form form_of(const Substitution& rule, TermId id) {
  if (id.is_none()) return apply("none", Sort::tensor, {});
  const RuleTerm& term = rule.terms[id.v];
  if (term.is_input) return leaf(Kind::variable, rule.inputs[term.input].name, Sort::tensor);
  Form result = apply(std::string(record(term.op).name), Sort::tensor, {});
  for (const auto& [attribute, value] : term.attributes)
    result.parts.push_back(apply(attribute, Sort::attribute, {form_of(value)}));
  for (const TermId operand : term.operands) result.parts.push_back(form_of(rule, operand));
  if (term.output_count == 1) return result;
  return apply("output", Sort::tensor,
               {leaf(Kind::number, std::to_string(term.output)), std::move(result)});
}

void add_input_facts(const RuleInput& input, std::vector<Form>& facts) {
  const Form tensor = leaf(Kind::variable, input.name, Sort::tensor);
  const std::string type =
      input.data_type == DataType::undefined ? "" : std::string(name(input.data_type));
  facts.push_back(apply(
      "tensor", Sort::fact,
      {tensor, leaf(Kind::text, type), apply("list", Sort::attribute, forms_of(input.shape))}));
  if (input.defined) facts.push_back(apply("defined", Sort::fact, {tensor}));
  if (input.weight) facts.push_back(apply("weight", Sort::fact, {tensor}));
}

std::vector<Form> facts_of(const Substitution& rule) {
  std::vector<Form> facts;
  if (rule.search_forward) facts.push_back(apply(std::string(equation_fact), Sort::fact, {}));
  for (const RuleInput& input : rule.inputs) add_input_facts(input, facts);
  for (const RuleGroup& group : rule.groups)
    facts.push_back(
        apply("rank", Sort::fact,
              {leaf(Kind::variable, group.name), leaf(Kind::number, std::to_string(group.minimum)),
               leaf(Kind::number, std::to_string(group.maximum))}));
  for (const RuleParameter& parameter : rule.parameters) {
    Form fact = apply("range-" + name_in(range_names(), parameter.range), Sort::fact,
                      {leaf(Kind::variable, parameter.name)});
    for (Form& bound : forms_of(parameter.bounds)) fact.parts.push_back(std::move(bound));
    for (const std::string& word : parameter.strings) fact.parts.push_back(leaf(Kind::text, word));
    facts.push_back(std::move(fact));
  }
  for (const RuleCondition& condition : rule.conditions) {
    const bool named = condition.kind == Comparison::predicate;
    facts.push_back(apply(named ? condition.predicate : name_in(comparison_names(), condition.kind),
                          Sort::fact, forms_of(condition.arguments)));
  }
  return facts;
}

// ---- Forms to the text of rules -------------------------------------------------------------------------------------

std::string expression_text(const Form& form);

std::string joined(const std::vector<Form>& forms, std::size_t begin = 0) {
  std::vector<std::string> words;
  for (std::size_t i = begin; i < forms.size(); ++i) words.push_back(expression_text(forms[i]));
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string expression_text(const Form& form) {
  if (form.kind == Kind::text) return '"' + form.word + '"';
  if (form.kind != Kind::apply) return form.word;
  if (form.word == "list") return "[" + joined(form.parts) + "]";
  if (form.word == "axes" && form.parts.size() == 1) return form.parts[0].word + "..";
  constexpr std::string_view call = "call-";
  if (form.word.starts_with(call))
    return form.word.substr(call.size()) + "(" + joined(form.parts) + ")";
  std::vector<std::string> words;
  for (const Form& part : form.parts) words.push_back(expression_text(part));
  return fmt::format("({})", fmt::join(words, " " + form.word + " "));
}

std::string term_text(const Form& form) {
  if (form.kind == Kind::variable) return form.word;
  if (form.word == "none") return "_";
  if (form.word == "output" && form.parts.size() == 2)
    return term_text(form.parts[1]) + "#" + form.parts[0].word;
  std::vector<std::string> attributes, operands;
  for (const Form& part : form.parts) {
    if (part.sort == Sort::tensor)
      operands.push_back(term_text(part));
    else
      attributes.push_back(part.word + "=" + joined(part.parts));
  }
  const std::string written =
      attributes.empty() ? "" : fmt::format("{{{}}}", fmt::join(attributes, ", "));
  return fmt::format("{}{}({})", form.word, written, fmt::join(operands, ", "));
}

std::string side_text(const std::vector<Form>& terms) {
  std::vector<std::string> words;
  for (const Form& term : terms) words.push_back(term_text(term));
  return fmt::format("{}", fmt::join(words, " & "));
}

std::string parameter_text(const Form& fact, const std::string& range) {
  std::string bounds = joined(fact.parts, 1);
  if (range == "integer")
    bounds = "[" + bounds + ")";
  else if (!bounds.empty())
    bounds = "[" + bounds + "]";
  return fmt::format("  param {} : {}{}\n", fact.parts[0].word, range, bounds);
}

/// The lines that facts stand for, in the order that the rule's language wants.
class FactWriter {
 public:
  Result<void> add(const Form& fact) {
    if (fact.word == equation_fact && fact.parts.empty()) {
      is_equation_ = true;
      return {};
    }
    if (fact.parts.empty())
      return bad_input(fmt::format("the fact '{}' is about nothing", fact.word));
    constexpr std::string_view range = "range-";
    const std::string& first = fact.parts[0].word;
    if (fact.word == "tensor") {
      if (fact.parts.size() != 3) return bad_input("a tensor has a name, a type and a shape");
      inputs_.push_back({first, fact.parts[1].word + expression_text(fact.parts[2])});
    } else if (fact.word == "defined" || fact.word == "weight") {
      marks_[first] = marks_[first] + fact.word + " ";
    } else if (fact.word == "rank") {
      if (fact.parts.size() != 3) return bad_input("a rank has a group and two numbers");
      groups_ +=
          fmt::format("  group {} : {}..{}\n", first, fact.parts[1].word, fact.parts[2].word);
    } else if (fact.word.starts_with(range)) {
      parameters_ += parameter_text(fact, fact.word.substr(range.size()));
    } else {
      add_condition(fact);
    }
    return {};
  }

  bool is_equation() const { return is_equation_; }

  std::string lines() const {
    std::string result;
    for (const auto& [name, type] : inputs_) {
      const auto marks = marks_.find(name);
      result +=
          fmt::format("  {}{} : {}\n", marks == marks_.end() ? "" : marks->second, name, type);
    }
    result += groups_ + parameters_;
    if (!conditions_.empty()) result += "  where " + conditions_ + "\n";
    return is_equation_ ? result + "  search forward\n" : result;
  }

 private:
  void add_condition(const Form& fact) {
    const auto& names = comparison_names();
    const bool compares = std::any_of(names.begin(), names.end(),
                                      [&fact](const auto& one) { return one.second == fact.word; });
    if (!conditions_.empty()) conditions_ += ", ";
    if (compares && fact.parts.size() == 2)
      conditions_ += fmt::format("{} {} {}", expression_text(fact.parts[0]), fact.word,
                                 expression_text(fact.parts[1]));
    else
      conditions_ += fmt::format("{}({})", fact.word, joined(fact.parts));
  }

  std::vector<std::pair<std::string, std::string>> inputs_;
  std::map<std::string, std::string> marks_;
  std::string groups_, parameters_, conditions_;
  bool is_equation_ = false;
};

/// Lines of the text made above mean nothing to whoever wrote the file.
Error without_place(Error error) {
  const std::size_t end = error.message.find(": ");
  if (error.message.starts_with(':') && end != std::string::npos) error.message.erase(0, end + 2);
  return error;
}

}  // namespace

Result<RewriteForm> form_of(const Substitution& rule) {
  if (!rule.free.empty()) return bad_input("a free parameter");
  RewriteForm result;
  result.name = rule.name;
  result.bidirectional = rule.bidirectional && !rule.search_forward;
  for (const TermId id : rule.left) result.left.push_back(form_of(rule, id));
  for (const TermId id : rule.right) result.right.push_back(form_of(rule, id));
  result.facts = facts_of(rule);
  return result;
}

Result<Substitution> rule_of(const RewriteForm& form, const std::string& file) {
  const std::string place = fmt::format("{}:{}: rule {}", file, form.line, form.name);
  FactWriter facts;
  for (const Form& fact : form.facts)
    if (auto added = facts.add(fact); !added) return with_context(place, std::move(added.error()));
  const std::string source =
      fmt::format("rule {}\n{}  {} {} {}\n", form.name, facts.lines(), side_text(form.left),
                  form.bidirectional || facts.is_equation() ? "=" : "=>", side_text(form.right));
  auto rules = parse_substitutions(source, "");
  if (!rules) return with_context(place, without_place(std::move(rules.error())));
  if (rules->size() != 1) return bad_input(place + ": this is no single rule");
  return std::move(rules->front());
}

}  // namespace lemma::exchange
