// Reads the textual form of substitutions (rule_language/substitution.h says what it is).

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "ir/operator_registration.h"
#include "rule_language/rule_roles.h"
#include "rule_language/substitution.h"
#include "rule_language/substitution_analysis.h"
#include "rule_language/substitution_expressions.h"

namespace lemma {
namespace {

using detail::Token;
using detail::TokenLine;

// ---- One rule ---------------------------------------------------------------------------------

class RuleParser : private detail::ExpressionParser {
 public:
  /// The first line names the rule; the others are its content.
  Result<Substitution> parse(std::span<const TokenLine> lines) {
    rule_.line = lines[0][0].line;
    begin(lines[0]);
    rule_.is_axiom = take().text == "axiom";
    rule_.name = take().text;
    LEMMA_RETURN_IF_ERROR(expect_end());
    for (std::size_t i = 1; i < lines.size(); ++i) {
      begin(lines[i]);
      if (done_) return bad_input("the rule has ended with its equation");
      LEMMA_RETURN_IF_ERROR(content_line());
      LEMMA_RETURN_IF_ERROR(expect_end());
    }
    set_line(rule_.line);
    if (!done_) return bad_input("the rule has no equation");
    return finish();
  }

  Result<TermId> parse_term(Substitution& rule, const TokenLine& line) {
    rule_ = rule;
    begin(line);
    LEMMA_ASSIGN_OR_RETURN(const TermId result, term(0));
    LEMMA_RETURN_IF_ERROR(expect_end());
    rule = std::move(rule_);
    return result;
  }

  using ExpressionParser::line;
  const std::string& name() const { return rule_.name; }

 private:
  struct Let {
    std::string name;
    TermId term;
    bool used = false;
  };

  // Lines.

  Result<void> content_line() {
    const bool second_is_name = peek(1).kind == Token::Kind::name;
    if (is_word("group") && second_is_name) return group_line();
    if (is_word("param") && second_is_name) return parameter_line();
    if (is_word("free") && (second_is_name || peek(1).kind == Token::Kind::integer))
      return free_line();
    if (is_word("let") && second_is_name) return let_line();
    if (is_word("where")) return where_line();
    if ((is_word("weight") || is_word("defined")) && second_is_name) return input_line();
    if (is_word("search") && second_is_name) return search_line();
    if (is_word("role") && second_is_name) return role_line();
    if (is_sign(":", 1)) return input_line();
    return equation_line();
  }

  Result<void> declare(const std::string& name, std::string_view what) {
    if (parse_data_type(name)) return bad_input(fmt::format("'{}' is a data type", name));
    if (name == "_") return bad_input("'_' is not a name");
    for (const auto& [other, is] : declared_)
      if (other == name) return bad_input(fmt::format("'{}' is already {}", name, is));
    declared_.emplace_back(name, what);
    return {};
  }
  std::string_view declared(std::string_view name) const {
    for (const auto& [other, what] : declared_)
      if (other == name) return what;
    return {};
  }

  Result<void> input_line() {
    RuleInput input;
    if (is_word("defined") && !is_sign(":", 1)) {
      take();
      input.defined = true;
    }
    if (is_word("weight") && !is_sign(":", 1)) {
      take();
      input.weight = true;
    }
    LEMMA_ASSIGN_OR_RETURN(input.name, expect_name("the name of an input"));
    LEMMA_RETURN_IF_ERROR(declare(input.name, "an input"));
    LEMMA_RETURN_IF_ERROR(expect(":"));
    if (peek().kind == Token::Kind::name) {
      const auto type = parse_data_type(peek().text);
      if (!type || !is_computable(*type) || is_narrow(*type))
        return bad_input(fmt::format("{} is not a type to compute with", found()));
      input.data_type = *type;
      take();
    }
    LEMMA_RETURN_IF_ERROR(expect("["));
    LEMMA_ASSIGN_OR_RETURN(input.shape, expressions("]"));
    for (const RuleExpression& size : input.shape) LEMMA_RETURN_IF_ERROR(declare_sizes(size));
    rule_.inputs.push_back(std::move(input));
    return {};
  }

  /// Names in declared shapes are dimension variables and groups.
  Result<void> declare_sizes(const RuleExpression& size) {
    Result<void> result;
    detail::for_each_expression(size, [&](const RuleExpression& e) {
      if (!result) return;
      const bool is_group = e.kind == RuleExpression::Kind::splice;
      if (!is_group && e.kind != RuleExpression::Kind::variable) return;
      const std::string_view known = declared(e.name);
      if (known.empty()) {
        result = declare(e.name, is_group ? "a group" : "a dimension");
        if (result && is_group) rule_.groups.push_back({e.name});
      } else if (known != (is_group ? "a group" : "a dimension") && known != "a parameter" &&
                 !(e.kind == RuleExpression::Kind::variable && known == "a group")) {
        result = bad_input(fmt::format("'{}' is {}", e.name, known));
      }
    });
    return result;
  }

  Result<void> group_line() {
    take();
    const std::string name = take().text;
    if (declared(name).empty()) {  // one that stands in attributes only: Reshape{shape=[T..]}
      LEMMA_RETURN_IF_ERROR(declare(name, "a group"));
      rule_.groups.push_back({name});
    }
    const auto group = std::find_if(rule_.groups.begin(), rule_.groups.end(),
                                    [&name](const RuleGroup& g) { return g.name == name; });
    if (group == rule_.groups.end())
      return bad_input(fmt::format("'{}' is {}, not a group", name, declared(name)));
    LEMMA_RETURN_IF_ERROR(expect(":"));
    LEMMA_ASSIGN_OR_RETURN(group->minimum, axis_count());
    LEMMA_RETURN_IF_ERROR(expect(".."));
    LEMMA_ASSIGN_OR_RETURN(group->maximum, axis_count());
    if (group->minimum > group->maximum) return bad_input("the range is empty");
    return {};
  }

  Result<std::size_t> axis_count() {
    std::size_t value = 0;
    const std::string digits = peek().text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (peek().kind != Token::Kind::integer || error != std::errc() || value > 64)
      return bad_input(fmt::format("expected a number of axes, found {}", found()));
    take();
    return value;
  }

  Result<void> parameter_line() {
    take();
    RuleParameter parameter;
    LEMMA_ASSIGN_OR_RETURN(parameter.name, expect_name("the name of a parameter"));
    const bool is_size = declared(parameter.name) == "a dimension";
    if (is_size) return bad_input(fmt::format("'{}' is a dimension already", parameter.name));
    LEMMA_RETURN_IF_ERROR(declare(parameter.name, "a parameter"));
    LEMMA_RETURN_IF_ERROR(expect(":"));
    LEMMA_ASSIGN_OR_RETURN(const std::string range, expect_name("a range"));
    LEMMA_RETURN_IF_ERROR(parameter_range(range, parameter));
    rule_.parameters.push_back(std::move(parameter));
    return {};
  }

  Result<void> parameter_range(const std::string& range, RuleParameter& parameter) {
    using Range = RuleParameter::Range;
    std::size_t bounds = 0;
    if (range == "dimension" || range == "real" || range == "type") {
      parameter.range = range == "real"   ? Range::real
                        : range == "type" ? Range::type
                                          : Range::dimension;
      return {};
    }
    LEMMA_RETURN_IF_ERROR(expect("["));
    if (range == "string") {
      parameter.range = Range::strings;
      do {
        if (peek().kind != Token::Kind::string)
          return bad_input(fmt::format("expected a string, found {}", found()));
        LEMMA_ASSIGN_OR_RETURN(const AttributeValue value,
                               parse_attribute_value(AttributeKind::string, take().text));
        parameter.strings.push_back(std::get<std::string>(value));
      } while (accept(","));
      return expect("]");
    }
    if (range == "integer") {
      parameter.range = Range::integer;
      LEMMA_ASSIGN_OR_RETURN(parameter.bounds, expressions(")"));
      bounds = 2;
    } else if (range == "dimensions" || range == "permutation") {
      parameter.range = range == "dimensions" ? Range::dimensions : Range::permutation;
      LEMMA_ASSIGN_OR_RETURN(parameter.bounds, expressions("]"));
      bounds = 1;
    } else {
      return bad_input(fmt::format("'{}' is no range of a parameter", range));
    }
    if (parameter.bounds.size() != bounds)
      return bad_input(
          fmt::format("'{}' takes {} bounds, not {}", range, bounds, parameter.bounds.size()));
    return {};
  }

  Result<void> free_line() {
    take();
    free_lines_.push_back(line());
    LEMMA_ASSIGN_OR_RETURN(FreeParameter free, free_parameter());
    rule_.free.push_back(std::move(free));
    return {};
  }

  Result<void> search_line() {
    take();
    LEMMA_ASSIGN_OR_RETURN(const std::string direction, expect_name("a direction"));
    if (direction != "forward") return bad_input("a search can be told to go 'forward' only");
    rule_.search_forward = true;
    return {};
  }

  Result<void> role_line() {
    take();
    if (rule_.is_axiom) return bad_input("an axiom has no role");
    if (!rule_.roles.empty()) return bad_input("the roles of the rule are stated already");
    do {
      LEMMA_ASSIGN_OR_RETURN(const std::string word, expect_name("a role"));
      const std::optional<RuleRole> role = rule_role_named(word);
      if (!role)
        return bad_input(fmt::format("'{}' is no role; roles are {}", word, rule_role_names()));
      if (has_role(rule_, *role)) return bad_input(fmt::format("the role '{}' is repeated", word));
      rule_.roles.push_back(*role);
    } while (accept(","));
    if (has_role(rule_, RuleRole::general) && rule_.roles.size() > 1)
      return bad_input("a rule with another role is not 'general'");
    std::sort(rule_.roles.begin(), rule_.roles.end());
    return {};
  }

  /// Elsewhere operators would be made that only a runtime has.
  Result<void> check_roles() {
    if (rule_.roles.empty() || has_role(rule_, RuleRole::layout)) return {};
    const std::set<std::string_view> runtimes = runtimes_of(rule_);
    if (has_role(rule_, RuleRole::runtime) == !runtimes.empty()) return {};
    return bad_input(runtimes.empty()
                         ? "no operator of the rule is one that a runtime alone has, so that its "
                           "role cannot be 'runtime'"
                         : fmt::format("the rule is for {} alone, so that one of its roles has to "
                                       "be 'runtime' or 'layout'",
                                       *runtimes.begin()));
  }

  Result<void> where_line() {
    take();
    do {
      LEMMA_ASSIGN_OR_RETURN(RuleCondition next, condition());
      rule_.conditions.push_back(std::move(next));
    } while (accept(","));
    return {};
  }

  Result<RuleCondition> condition() {
    using Kind = RuleCondition::Kind;
    if (peek().kind == Token::Kind::name && is_sign("(", 1)) {
      const AttributeFunction* function = find_attribute_function(peek().text);
      if (function != nullptr && function->holds != nullptr) {
        RuleCondition result{Kind::predicate, take().text, {}};
        take();
        LEMMA_ASSIGN_OR_RETURN(result.arguments, expressions(")"));
        LEMMA_RETURN_IF_ERROR(detail::check_argument_count(*function, result.arguments.size()));
        return result;
      }
    }
    RuleCondition result;
    LEMMA_ASSIGN_OR_RETURN(RuleExpression left, sum());
    if (accept("=="))
      result.kind = Kind::equal;
    else if (accept("!="))
      result.kind = Kind::not_equal;
    else if (accept("<="))
      result.kind = Kind::less_equal;
    else if (accept("<"))
      result.kind = Kind::less;
    else
      return bad_input(fmt::format("expected a comparison, found {}", found()));
    LEMMA_ASSIGN_OR_RETURN(RuleExpression right, sum());
    result.arguments = {std::move(left), std::move(right)};
    return result;
  }

  Result<void> let_line() {
    take();
    const std::string name = take().text;
    LEMMA_RETURN_IF_ERROR(declare(name, "a let name"));
    LEMMA_RETURN_IF_ERROR(expect("="));
    LEMMA_ASSIGN_OR_RETURN(const TermId id, term(0));
    lets_.push_back({name, id});
    return {};
  }

  Result<void> equation_line() {
    LEMMA_ASSIGN_OR_RETURN(rule_.left, outputs());
    if (accept("="))
      rule_.bidirectional = true;
    else
      LEMMA_RETURN_IF_ERROR(expect("=>"));
    if (rule_.search_forward && !rule_.bidirectional)
      return bad_input("'search forward' is for equations; '=>' holds forward only");
    LEMMA_ASSIGN_OR_RETURN(rule_.right, outputs());
    done_ = true;
    return {};
  }

  Result<std::vector<TermId>> outputs() {
    std::vector<TermId> result;
    do {
      LEMMA_ASSIGN_OR_RETURN(const TermId id, term(0));
      result.push_back(id);
    } while (accept("&"));
    return result;
  }

  // Terms.

  TermId intern(RuleTerm term) {
    for (std::uint32_t i = 0; i < rule_.terms.size(); ++i)
      if (rule_.terms[i] == term) return {i};
    rule_.terms.push_back(std::move(term));
    return {static_cast<std::uint32_t>(rule_.terms.size() - 1)};
  }

  Result<TermId> term(int depth) {
    if (depth > detail::depth_limit) return bad_input("terms are nested too deeply");
    LEMMA_ASSIGN_OR_RETURN(const std::string name, expect_name("a term"));
    if (is_sign("{") || is_sign("(")) {
      LEMMA_ASSIGN_OR_RETURN(const TermId id, operation(name, depth));
      return output_of(id);
    }
    for (std::uint32_t i = 0; i < rule_.inputs.size(); ++i)
      if (rule_.inputs[i].name == name) {
        RuleTerm input;
        input.is_input = true;
        input.input = i;
        return intern(std::move(input));
      }
    for (Let& let : lets_)
      if (let.name == name) {
        let.used = true;
        return output_of(let.term);
      }
    return bad_input(fmt::format("'{}' is neither an input nor a let name", name));
  }

  Result<TermId> output_of(TermId id) {
    if (!accept("#")) return id;
    std::uint32_t output = 0;
    const std::string digits = peek().text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), output);
    if (peek().kind != Token::Kind::integer || error != std::errc() || output > 1000)
      return bad_input(fmt::format("expected the number of an output, found {}", found()));
    take();
    RuleTerm term = rule_.terms[id.v];
    if (term.is_input) return bad_input("an input has one output");
    if (term.output != 0) return bad_input("an output of an output is asked for");
    const int maximum = record(term.op).outputs.maximum;
    const bool listed = term.output_count > 1 && maximum < 0;
    if ((maximum >= 0 && output >= static_cast<std::uint32_t>(maximum)) ||
        (listed && output >= term.output_count))
      return bad_input(fmt::format("{} has no output {}", record(term.op).name, output));
    term.output = output;
    term.output_count = std::max(term.output_count, output + 1);
    return intern(std::move(term));
  }

  Result<TermId> operation(const std::string& name, int depth) {
    const auto op = find_operator(name);
    if (!op) return bad_input(unknown_operator(name));
    RuleTerm term;
    term.op = *op;
    const OperatorRecord& operator_record = record(*op);
    if (accept("{")) LEMMA_RETURN_IF_ERROR(attributes(operator_record, term));
    LEMMA_RETURN_IF_ERROR(expect("("));
    if (!accept(")")) {
      do {
        LEMMA_ASSIGN_OR_RETURN(const TermId operand, operand_term(depth));
        term.operands.push_back(operand);
      } while (accept(","));
      LEMMA_RETURN_IF_ERROR(expect(")"));
    }
    while (!term.operands.empty() && term.operands.back().is_none()) term.operands.pop_back();
    const auto count = static_cast<int>(term.operands.size());
    const Arity arity = operator_record.inputs;
    if (count < arity.minimum || (arity.maximum >= 0 && count > arity.maximum))
      return bad_input(fmt::format("{} cannot have {} operands", name, count));
    for (const AttributeSpecification& specification : operator_record.attributes)
      if (specification.default_text == "required" && !is_written(term, specification.name))
        return bad_input(fmt::format("{} needs the attribute '{}'", name, specification.name));
    term.output_count = std::max(listed_outputs(operator_record, term),
                                 static_cast<std::uint32_t>(operator_record.outputs.minimum));
    return intern(std::move(term));
  }

  Result<TermId> operand_term(int depth) {
    if (is_word("_")) {
      take();
      return TermId::none();
    }
    return term(depth + 1);
  }

  static bool is_written(const RuleTerm& term, std::string_view name) {
    return std::any_of(term.attributes.begin(), term.attributes.end(),
                       [name](const auto& attribute) { return attribute.first == name; });
  }

  /// An operator with any number of outputs (Split) has as many as its list attribute has elements.
  static std::uint32_t listed_outputs(const OperatorRecord& operator_record, const RuleTerm& term) {
    if (operator_record.outputs.maximum >= 0) return 1;
    for (const auto& [name, value] : term.attributes) {
      const bool is_list = value.kind == RuleExpression::Kind::list;
      const bool has_splice =
          std::any_of(value.arguments.begin(), value.arguments.end(),
                      [](const auto& e) { return e.kind == RuleExpression::Kind::splice; });
      if (is_list && !has_splice && !value.arguments.empty())
        return static_cast<std::uint32_t>(value.arguments.size());
    }
    return 1;
  }

  Result<void> attributes(const OperatorRecord& operator_record, RuleTerm& term) {
    if (accept("}")) return {};
    do {
      LEMMA_ASSIGN_OR_RETURN(std::string name, expect_name("the name of an attribute"));
      const auto* specification = detail::find_attribute(operator_record, name);
      if (specification == nullptr)
        return bad_input(fmt::format("{} has no attribute '{}'", operator_record.name, name));
      if (is_written(term, name))
        return bad_input(fmt::format("attribute '{}' is written twice", name));
      LEMMA_RETURN_IF_ERROR(expect("="));
      LEMMA_ASSIGN_OR_RETURN(RuleExpression value, sum());
      if (value.kind == RuleExpression::Kind::literal)
        LEMMA_RETURN_IF_ERROR(check_literal(*specification, value));
      term.attributes.emplace_back(std::move(name), std::move(value));
    } while (accept(","));
    std::sort(term.attributes.begin(), term.attributes.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return expect("}");
  }

  static Result<void> check_literal(const AttributeSpecification& specification,
                                    const RuleExpression& value) {
    if (evaluate_attribute(value, specification.kind, {})) return {};
    return bad_input(fmt::format("attribute '{}' is of kind {}, which {} is not",
                                 specification.name, lemma::name(specification.kind),
                                 text(value.literal)));
  }

  // The whole.

  /// Declares as dimensions those variables that nothing else declares. Known at the end, since lines may
  /// stand in any order.
  Result<void> declare_free() {
    for (std::size_t i = 0; i < rule_.free.size(); ++i) {
      set_line(free_lines_[i]);
      const std::string name = detail::name_of(rule_.free[i]);
      if (declared(name).empty()) {
        LEMMA_RETURN_IF_ERROR(declare(name, "a parameter"));
        rule_.parameters.push_back({name, RuleParameter::Range::dimension, {}, {}});
      }
      LEMMA_RETURN_IF_ERROR(detail::check_may_be_free(rule_, i));
    }
    set_line(rule_.line);
    return {};
  }

  Result<Substitution> finish() {
    LEMMA_RETURN_IF_ERROR(declare_free());
    for (const Let& let : lets_)
      if (!let.used) return bad_input(fmt::format("let name '{}' is not used", let.name));
    Result<void> known;
    const auto check = [&](const RuleExpression& expression) {
      detail::for_each_expression(expression, [&](const RuleExpression& e) {
        const bool is_group = e.kind == RuleExpression::Kind::splice;
        if (!known || (!is_group && e.kind != RuleExpression::Kind::variable)) return;
        const std::string_view what = declared(e.name);
        if (is_group ? what != "a group"
                     : what != "a dimension" && what != "a parameter" && what != "a group")
          known =
              bad_input(fmt::format("'{}' is not a {}", e.name, is_group ? "group" : "variable"));
      });
    };
    for (const RuleTerm& term : rule_.terms)
      for (const auto& [name, value] : term.attributes) check(value);
    for (const RuleCondition& condition : rule_.conditions)
      for (const RuleExpression& argument : condition.arguments) check(argument);
    for (const RuleParameter& parameter : rule_.parameters)
      for (const RuleExpression& bound : parameter.bounds) check(bound);
    for (const FreeParameter& free : rule_.free) check(free.size);
    LEMMA_RETURN_IF_ERROR(known);
    detail::number_terms(rule_);
    LEMMA_RETURN_IF_ERROR(detail::check_substitution(rule_));
    LEMMA_RETURN_IF_ERROR(check_roles());
    return std::move(rule_);
  }

  Substitution rule_;
  std::vector<Let> lets_;
  std::vector<int> free_lines_;
  std::vector<std::pair<std::string, std::string_view>> declared_;
  bool done_ = false;
};

}  // namespace

Result<std::vector<Substitution>> parse_substitutions(std::string_view text,
                                                      std::string_view file) {
  LEMMA_ASSIGN_OR_RETURN(const auto lines, detail::logical_lines(text, file));
  std::vector<Substitution> result;
  std::size_t i = 0;
  while (i < lines.size()) {
    if (lines[i].empty()) {
      ++i;
      continue;
    }
    if (!detail::begins_rule(lines[i]))
      return detail::located(file, lines[i][0].line,
                             {ErrorKind::bad_input, "expected 'rule' or 'axiom'"});
    std::vector<TokenLine> rule_lines = {lines[i++]};
    while (i < lines.size() && !lines[i].empty() && !detail::begins_rule(lines[i]))
      rule_lines.push_back(lines[i++]);
    RuleParser parser;
    auto rule = parser.parse(rule_lines);
    if (!rule)
      return detail::located(file, parser.line(),
                             with_context(rule_lines[0][1].text, std::move(rule.error())).value());
    for (const Substitution& other : result)
      if (other.name == rule->name)
        return detail::located(
            file, rule->line,
            {ErrorKind::bad_input,
             fmt::format("'{}' is already defined at line {}", rule->name, other.line)});
    result.push_back(std::move(*rule));
  }
  return result;
}

namespace {

Result<TokenLine> one_line(std::string_view text) {
  LEMMA_ASSIGN_OR_RETURN(auto lines, detail::logical_lines(text, ""));
  if (lines.size() != 1 || lines[0].empty())
    return bad_input(fmt::format("'{}' is not one line", text));
  return std::move(lines[0]);
}

}  // namespace

Result<RuleExpression> parse_rule_expression(std::string_view text) {
  LEMMA_ASSIGN_OR_RETURN(const TokenLine line, one_line(text));
  return detail::ExpressionParser().parse(line);
}

Result<TermId> parse_rule_term(Substitution& rule, std::string_view text) {
  LEMMA_ASSIGN_OR_RETURN(const TokenLine line, one_line(text));
  return RuleParser().parse_term(rule, line);
}

}  // namespace lemma
