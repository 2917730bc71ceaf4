#include "rule_language/substitution_expressions.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "rule_language/substitution_analysis.h"

namespace lemma::detail {

namespace {

RuleExpression combine(RuleExpression::Kind kind, RuleExpression a, RuleExpression b) {
  RuleExpression result;
  result.kind = kind;
  result.arguments = {std::move(a), std::move(b)};
  return result;
}

}  // namespace

Result<void> check_argument_count(const AttributeFunction& function, std::size_t given) {
  if (given == function.argument_count) return {};
  return bad_input(fmt::format("'{}' takes {} arguments, not {}", function.name,
                               function.argument_count, given));
}

Result<RuleExpression> ExpressionParser::parse(const TokenLine& line) {
  begin(line);
  LEMMA_ASSIGN_OR_RETURN(RuleExpression result, sum());
  LEMMA_RETURN_IF_ERROR(expect_end());
  return result;
}

Result<std::vector<RuleExpression>> ExpressionParser::expressions(std::string_view closing,
                                                                  int depth) {
  std::vector<RuleExpression> result;
  if (accept(closing)) return result;
  do {
    LEMMA_ASSIGN_OR_RETURN(RuleExpression next, sum(depth));
    result.push_back(std::move(next));
  } while (accept(","));
  LEMMA_RETURN_IF_ERROR(expect(closing));
  return result;
}

Result<RuleExpression> ExpressionParser::sum(int depth) {
  if (depth > depth_limit) return bad_input("expressions are nested too deeply");
  LEMMA_ASSIGN_OR_RETURN(RuleExpression total, product(depth));
  while (is_sign("+") || is_sign("-")) {
    const bool add = take().text == "+";
    LEMMA_ASSIGN_OR_RETURN(RuleExpression next, product(depth));
    total = combine(add ? RuleExpression::Kind::add : RuleExpression::Kind::subtract,
                    std::move(total), std::move(next));
  }
  return total;
}

Result<RuleExpression> ExpressionParser::product(int depth) {
  LEMMA_ASSIGN_OR_RETURN(RuleExpression total, factor(depth));
  while (accept("*")) {
    LEMMA_ASSIGN_OR_RETURN(RuleExpression next, factor(depth));
    total = combine(RuleExpression::Kind::multiply, std::move(total), std::move(next));
  }
  return total;
}

Result<RuleExpression> ExpressionParser::factor(int depth) {
  if (depth > depth_limit) return bad_input("expressions are nested too deeply");
  if (accept("(")) {
    LEMMA_ASSIGN_OR_RETURN(RuleExpression inner, sum(depth + 1));
    LEMMA_RETURN_IF_ERROR(expect(")"));
    return inner;
  }
  if (accept("[")) {
    RuleExpression result;
    result.kind = RuleExpression::Kind::list;
    LEMMA_ASSIGN_OR_RETURN(result.arguments, expressions("]", depth + 1));
    return result;
  }
  const bool negative = accept("-");
  if (peek().kind == Token::Kind::name && !negative) return name_expression(depth);
  if (peek().kind == Token::Kind::integer || peek().kind == Token::Kind::real ||
      (peek().kind == Token::Kind::string && !negative))
    return literal(negative);
  if (!negative) return bad_input(fmt::format("expected an expression, found {}", found()));
  LEMMA_ASSIGN_OR_RETURN(RuleExpression inner, factor(depth + 1));
  RuleExpression zero;
  zero.literal = std::int64_t{0};
  return combine(RuleExpression::Kind::subtract, std::move(zero), std::move(inner));
}

Result<RuleExpression> ExpressionParser::literal(bool negative) {
  const Token token = take();
  AttributeKind kind = AttributeKind::string;
  if (token.kind == Token::Kind::integer) kind = AttributeKind::integer;
  if (token.kind == Token::Kind::real) kind = AttributeKind::real;
  RuleExpression result;
  LEMMA_ASSIGN_OR_RETURN(result.literal,
                         parse_attribute_value(kind, (negative ? "-" : "") + token.text));
  return result;
}

Result<RuleExpression> ExpressionParser::name_expression(int depth) {
  RuleExpression result;
  result.name = take().text;
  if (accept("..")) {
    result.kind = RuleExpression::Kind::splice;
    return result;
  }
  if (accept("(")) {
    result.kind = RuleExpression::Kind::call;
    const AttributeFunction* function = find_attribute_function(result.name);
    if (function == nullptr || function->apply == nullptr)
      return bad_input(fmt::format("there is no function '{}'", result.name));
    LEMMA_ASSIGN_OR_RETURN(result.arguments, expressions(")", depth + 1));
    LEMMA_RETURN_IF_ERROR(check_argument_count(*function, result.arguments.size()));
    return result;
  }
  if (const auto type = parse_data_type(result.name)) {
    result.name.clear();
    result.literal = *type;
    return result;
  }
  result.kind = RuleExpression::Kind::variable;
  return result;
}

Result<FreeParameter> ExpressionParser::free_parameter() {
  using Source = FreeParameter::Source;
  FreeParameter free;
  LEMMA_ASSIGN_OR_RETURN(free.expression, sum());
  if (name_of(free).empty())
    return bad_input(fmt::format(
        "'{}' cannot be free: expected one variable, such as 'k' or 'k + 1', or 'len(A)'",
        text(free.expression)));
  LEMMA_RETURN_IF_ERROR(expect(":"));
  if (is_word("target") || is_word("any")) {
    free.source = take().text == "any" ? Source::any : Source::target;
    return free;
  }
  if (is_word("divisors") || is_word("at")) {
    free.source = Source::divisors;
    LEMMA_RETURN_IF_ERROR(divisors(free));
    return free;
  }
  do {
    LEMMA_ASSIGN_OR_RETURN(const std::int64_t value, positive_integer());
    if (std::find(free.values.begin(), free.values.end(), value) != free.values.end())
      return bad_input(fmt::format("the value {} is written twice", value));
    free.values.push_back(value);
  } while (accept(","));
  return free;
}

/// "divisors of EXPRESSION" or "at most N divisors of EXPRESSION"
Result<void> ExpressionParser::divisors(FreeParameter& free) {
  if (is_word("at")) {
    take();
    LEMMA_RETURN_IF_ERROR(expect_word("most"));
    LEMMA_ASSIGN_OR_RETURN(const std::int64_t most, positive_integer());
    free.most = static_cast<std::size_t>(most);
  }
  LEMMA_RETURN_IF_ERROR(expect_word("divisors"));
  LEMMA_RETURN_IF_ERROR(expect_word("of"));
  LEMMA_ASSIGN_OR_RETURN(free.size, sum());
  return {};
}

Result<std::int64_t> ExpressionParser::positive_integer() {
  std::int64_t value = 0;
  const std::string digits = peek().text;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (peek().kind != Token::Kind::integer || error != std::errc() || value < 1)
    return bad_input(fmt::format("expected a whole number from 1 on, found {}", found()));
  take();
  return value;
}

}  // namespace lemma::detail
