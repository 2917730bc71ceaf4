#include "rule_language/substitution_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/number_text.h"

namespace lemma::detail {
namespace {

bool begins_name(char c) { return is_ascii_letter(c) || c == '_'; }
bool continues_name(char c) { return is_ascii_letter_or_digit(c) || c == '_' || c == '\''; }
bool is_digit(char c) { return is_ascii_digit(c); }

/// Length of the number at the beginning of `text`; a dot counts only before a digit ("0..3").
std::size_t number_length(std::string_view text, bool& real) {
  std::size_t i = 0;
  const auto digits = [&] {
    while (i < text.size() && is_digit(text[i])) ++i;
  };
  digits();
  if (i + 1 < text.size() && text[i] == '.' && is_digit(text[i + 1])) {
    real = true;
    ++i;
    digits();
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t j = i + 1;
    if (j < text.size() && (text[j] == '+' || text[j] == '-')) ++j;
    if (j < text.size() && is_digit(text[j])) {
      real = true;
      i = j;
      digits();
    }
  }
  return i;
}

/// Appends the tokens of one line of text.
/// Sizes may have any name, "inf" among them: it is a number only as the whole value of an attribute.
static bool is_value_of_attribute(const TokenLine& before) {
  const auto is_at = [&](std::size_t from_end, std::string_view text) {
    return before.size() >= from_end && before[before.size() - from_end].text == text;
  };
  return is_at(1, "=") || (is_at(1, "-") && is_at(2, "="));
}

Result<void> tokenize(std::string_view line, int number, TokenLine& tokens) {
  std::size_t i = 0;
  while (i < line.size()) {
    const char c = line[i];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++i;
    } else if (c == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
      return {};
    } else if (begins_name(c)) {
      std::size_t end = i;
      while (end < line.size() && continues_name(line[end])) ++end;
      std::string word(line.substr(i, end - i));
      const bool is_number = word == "inf" && is_value_of_attribute(tokens);
      const auto kind = is_number ? Token::Kind::real : Token::Kind::name;
      tokens.push_back({kind, std::move(word), number});
      i = end;
    } else if (is_digit(c)) {
      bool real = false;
      const std::size_t length = number_length(line.substr(i), real);
      tokens.push_back({real ? Token::Kind::real : Token::Kind::integer,
                        std::string(line.substr(i, length)), number});
      i += length;
    } else if (c == '"') {
      std::size_t end = i + 1;
      while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
      if (end >= line.size()) return bad_input("a string does not end");
      tokens.push_back({Token::Kind::string, std::string(line.substr(i, end + 1 - i)), number});
      i = end + 1;
    } else {
      const std::string_view two = line.substr(i, 2);
      const bool is_pair = two == "=>" || two == "==" || two == "!=" || two == "<=" || two == "..";
      if (!is_pair && std::string_view("()[]{},:#&=<+-*").find(c) == std::string_view::npos)
        return bad_input(fmt::format("unexpected character '{}'", c));
      tokens.push_back({Token::Kind::sign, std::string(line.substr(i, is_pair ? 2 : 1)), number});
      i += is_pair ? 2 : 1;
    }
  }
  return {};
}

int open_brackets(const TokenLine& tokens) {
  int depth = 0;
  for (const Token& token : tokens) {
    if (token.kind != Token::Kind::sign) continue;
    if (token.text == "(" || token.text == "[" || token.text == "{") ++depth;
    if (token.text == ")" || token.text == "]" || token.text == "}") --depth;
  }
  return depth;
}

bool continues_line(const TokenLine& tokens) {
  if (tokens.empty() || tokens[0].kind != Token::Kind::sign) return false;
  return tokens[0].text == "=>" || tokens[0].text == "=" || tokens[0].text == "&";
}

}  // namespace

bool begins_rule(const TokenLine& line) {
  return line.size() >= 2 && line[0].kind == Token::Kind::name &&
         (line[0].text == "rule" || line[0].text == "axiom") && line[1].kind == Token::Kind::name;
}

tl::unexpected<Error> located(std::string_view file, int line, Error error) {
  return with_context(fmt::format("{}:{}", file, line), std::move(error));
}

Result<std::vector<TokenLine>> logical_lines(std::string_view text, std::string_view file) {
  std::vector<TokenLine> lines;
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    TokenLine tokens;
    if (auto read = tokenize(line, number, tokens); !read)
      return located(file, number, std::move(read.error()));
    const bool is_comment = tokens.empty() && line.find('#') != std::string_view::npos;
    if (is_comment) continue;
    const bool joins = !lines.empty() && !lines.back().empty() && !tokens.empty() &&
                       !begins_rule(tokens) &&
                       (open_brackets(lines.back()) > 0 || continues_line(tokens));
    if (joins)
      lines.back().insert(lines.back().end(), tokens.begin(), tokens.end());
    else
      lines.push_back(std::move(tokens));
  }
  return lines;
}

}  // namespace lemma::detail
