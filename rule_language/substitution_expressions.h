#pragma once
// Reading tokens and the expressions of the rule language, for the parsers of its parts.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "rule_language/substitution.h"
#include "rule_language/substitution_tokens.h"

namespace lemma::detail {

inline constexpr int depth_limit = 200;  // of nested terms and expressions

/// An error, which names the function, unless it takes so many.
Result<void> check_argument_count(const AttributeFunction& function, std::size_t given);

class ExpressionParser {
 public:
  /// The whole line is one expression.
  Result<RuleExpression> parse(const TokenLine& line);

  int line() const { return line_; }

 protected:
  // Tokens of the line that was begun last.

  void begin(const TokenLine& tokens) {
    tokens_ = &tokens;
    position_ = 0;
    line_ = tokens[0].line;
  }
  void set_line(int line) { line_ = line; }
  const Token& peek(std::size_t ahead = 0) const {
    static const Token end;
    return position_ + ahead < tokens_->size() ? (*tokens_)[position_ + ahead] : end;
  }
  const Token& take() {
    const Token& token = peek();
    if (token.kind != Token::Kind::end) {
      ++position_;
      line_ = token.line;
    }
    return token;
  }
  bool is_sign(std::string_view sign, std::size_t ahead = 0) const {
    return peek(ahead).kind == Token::Kind::sign && peek(ahead).text == sign;
  }
  bool is_word(std::string_view word) const {
    return peek().kind == Token::Kind::name && peek().text == word;
  }
  bool accept(std::string_view sign) {
    if (!is_sign(sign)) return false;
    take();
    return true;
  }
  std::string found() const {
    return peek().kind == Token::Kind::end ? "the end of the line" : "'" + peek().text + "'";
  }
  Result<void> expect(std::string_view sign) {
    if (accept(sign)) return {};
    return bad_input(fmt::format("expected '{}', found {}", sign, found()));
  }
  Result<void> expect_end() const {
    if (peek().kind == Token::Kind::end) return {};
    return bad_input(fmt::format("unexpected {}", found()));
  }
  Result<void> expect_word(std::string_view word) {
    if (!is_word(word)) return bad_input(fmt::format("expected '{}', found {}", word, found()));
    take();
    return {};
  }
  Result<std::string> expect_name(std::string_view what) {
    if (peek().kind == Token::Kind::name) return take().text;
    return bad_input(fmt::format("expected {}, found {}", what, found()));
  }

  // Expressions: sums of products of factors. Each reads one and stops behind it.

  Result<std::vector<RuleExpression>> expressions(std::string_view closing, int depth = 0);
  Result<RuleExpression> sum(int depth = 0);
  /// What follows the word `free`.
  Result<FreeParameter> free_parameter();

 private:
  Result<void> divisors(FreeParameter& free);
  Result<std::int64_t> positive_integer();
  Result<RuleExpression> product(int depth);
  Result<RuleExpression> factor(int depth);
  Result<RuleExpression> literal(bool negative);
  Result<RuleExpression> name_expression(int depth);

  const TokenLine* tokens_ = nullptr;
  std::size_t position_ = 0;
  int line_ = 0;
};

}  // namespace lemma::detail
