#include "engine/terms.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace lemma::engine {

namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Takes a bracket or a word off the text; empty at its end.
std::string_view take_token(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  if (text.empty()) return {};
  const bool bracket = text.front() == '(' || text.front() == ')';
  const std::string_view token = text.substr(0, bracket ? 1 : text.find_first_of(" \t\r\n()"));
  text.remove_prefix(token.size());
  return token;
}

/// Takes what is before the separator, or all; nothing if the text is empty.
std::optional<std::string_view> take_part(std::string_view& text, std::string_view separator) {
  if (text.empty()) return std::nullopt;
  const std::size_t end = text.find(separator);
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + separator.size());
  return part;
}

Result<std::vector<RuleText::Condition>> parse_conditions(std::string_view text) {
  std::vector<RuleText::Condition> result;
  while (auto part = take_part(text, ",")) {
    RuleText::Condition condition;
    condition.name = take_token(*part);
    if (condition.name.empty()) return bad_input("a condition is missing");
    for (std::string_view word = take_token(*part); !word.empty(); word = take_token(*part)) {
      if (!word.starts_with('?'))
        return bad_input("'" + std::string(word) + "' in a condition is no variable such as ?x");
      condition.variables.emplace_back(word);
    }
    result.push_back(std::move(condition));
  }
  return result;
}

Result<void> parse_rule(std::string_view line, const std::string& place,
                        std::vector<RuleText>& rules) {
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos)
    return bad_input("a rule is 'name: left => right'; there is no name before a colon");
  RuleText rule;
  rule.name = trimmed(line.substr(0, colon));
  rule.place = place;
  std::string_view claim = line.substr(colon + 2);
  const std::size_t condition = claim.find(" if ");
  if (condition != std::string_view::npos) {
    LEMMA_ASSIGN_OR_RETURN(rule.conditions, parse_conditions(claim.substr(condition + 4)));
    claim = claim.substr(0, condition);
  }
  const bool both = claim.find("<=>") != std::string_view::npos;
  const std::string_view arrow = both ? "<=>" : "=>";
  const std::size_t middle = claim.find(arrow);
  if (middle == std::string_view::npos) return bad_input("there is neither => nor <=>");
  LEMMA_ASSIGN_OR_RETURN(rule.left, parse_term(claim.substr(0, middle)));
  LEMMA_ASSIGN_OR_RETURN(rule.right, parse_term(claim.substr(middle + arrow.size())));
  rules.push_back(rule);
  if (!both) return {};
  rule.name += "-back";
  std::swap(rule.left, rule.right);
  rules.push_back(std::move(rule));
  return {};
}

}  // namespace

Result<Term> parse_term(std::string_view text) {
  Term term;
  std::vector<Term::Node> open;       // lists that have begun
  std::optional<std::uint32_t> root;  // the last term that is complete
  const auto complete = [&](Term::Node node) {
    const auto position = static_cast<std::uint32_t>(term.nodes.size());
    term.nodes.push_back(std::move(node));
    if (open.empty())
      root = position;
    else
      open.back().children.push_back(position);
  };
  for (std::string_view token = take_token(text); !token.empty(); token = take_token(text)) {
    if (root) return bad_input("there is more behind the term: '" + std::string(token) + "'");
    if (token == ")") {
      if (open.empty()) return bad_input("a bracket is closed that was not opened");
      Term::Node node = std::move(open.back());
      open.pop_back();
      complete(std::move(node));
    } else if (token == "(") {
      const std::string_view word = take_token(text);
      if (word.empty() || word == "(" || word == ")" || word.starts_with('?'))
        return bad_input("a bracket must be followed by a word");
      open.push_back({std::string(word), {}});
    } else {
      complete({std::string(token), {}});
    }
  }
  if (!open.empty()) return bad_input("a bracket is not closed");
  if (!root) return bad_input("a term is missing");
  return term;
}

std::string text(const Term& term) {
  std::vector<std::string> texts;
  for (const Term::Node& node : term.nodes) {
    std::string all = node.word;
    for (const std::uint32_t child : node.children) all += " " + texts[child];
    texts.push_back(node.children.empty() ? all : "(" + all + ")");
  }
  return texts.empty() ? "" : texts.back();
}

Result<std::vector<RuleText>> parse_rules(std::string_view text, std::string_view file) {
  std::vector<RuleText> rules;
  for (std::size_t number = 1; !text.empty(); ++number) {
    std::string_view line = *take_part(text, "\n");
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string place = std::string(file) + ":" + std::to_string(number);
    if (auto parsed = parse_rule(line, place, rules); !parsed)
      return with_context(place, std::move(parsed.error()));
  }
  return rules;
}

}  // namespace lemma::engine
