#include "generator/operator_set.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "base/number_text.h"
#include "generator/set_sizes.h"
#include "rule_language/rule_database.h"
#include "rule_language/substitution_analysis.h"

namespace lemma::generator {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t\r", i);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    i = end;
  }
  return words;
}

std::string_view without_comment(std::string_view line) {
  for (std::size_t i = 0; i < line.size(); ++i)
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t'))
      return line.substr(0, i);
  return line;
}

/// Nothing but a comment.
bool is_comment(std::string_view line) {
  return !words_of(line).empty() && words_of(without_comment(line)).empty();
}

bool is_indented(std::string_view line) { return line.starts_with(' ') || line.starts_with('\t'); }

/// Replaces a variable by an expression, everywhere inside.
void replace(RuleExpression& expression, const std::string& name, const RuleExpression& value) {
  if (expression.kind == RuleExpression::Kind::variable && expression.name == name) {
    expression = value;
    return;
  }
  for (RuleExpression& argument : expression.arguments) replace(argument, name, value);
}

/// n + n as 2*n, which can be solved for n. Expressions that are no sizes are left alone.
void collect_terms(RuleExpression& expression) {
  RuleBindings symbols;
  detail::for_each_expression(expression, [&symbols](const RuleExpression& e) {
    if (e.kind == RuleExpression::Kind::variable)
      symbols.dimensions[e.name] = Dimension::symbol(e.name);
  });
  const auto size = evaluate_dimension(expression, symbols);
  if (!size) return;
  if (auto collected = parse_rule_expression(size->text())) expression = std::move(*collected);
}

void replace(Substitution& rule, const std::string& name, const RuleExpression& value) {
  for (RuleInput& input : rule.inputs) {
    for (RuleExpression& size : input.shape) {
      if (size.kind == RuleExpression::Kind::splice) continue;
      replace(size, name, value);
      collect_terms(size);
    }
  }
  for (RuleTerm& term : rule.terms)
    for (auto& [attribute, expression] : term.attributes) replace(expression, name, value);
  for (RuleCondition& condition : rule.conditions)
    for (RuleExpression& argument : condition.arguments) replace(argument, name, value);
  std::erase_if(rule.parameters, [&name](const RuleParameter& p) { return p.name == name; });
}

/// The operator is a single commutative one on its two operands, whose shapes say the same.
bool is_commutative(const Substitution& rule) {
  if (rule.inputs.size() != 2 || rule.left.size() != 1 ||
      rule.inputs[0].shape != rule.inputs[1].shape)
    return false;
  const RuleTerm& term = rule.terms[rule.left[0].v];
  if (term.is_input || term.operands.size() != 2 || !record(term.op).has(commutative)) return false;
  const RuleTerm &a = rule.terms[term.operands[0].v], &b = rule.terms[term.operands[1].v];
  return a.is_input && b.is_input && a.input != b.input;
}

/// Of elements and of operators: values of the largest terms are held in memory.
constexpr std::int64_t most_limit = 1 << 20;

class SetParser {
 public:
  SetParser(std::string_view text, std::string_view file) : file_(file) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      lines_.push_back(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  Result<OperatorSet> parse() {
    for (line_ = 0; line_ < lines_.size(); ++line_) LEMMA_RETURN_IF_ERROR(parse_line());
    LEMMA_RETURN_IF_ERROR(parse_operators());
    choose_named_sizes();
    line_ = lines_.empty() ? 0 : lines_.size() - 1;
    if (set_.name.empty()) return error("there is no line 'set NAME'");
    if (set_.inputs.empty()) return error("there is no input");
    if (set_.operators.empty()) return error("there is no operator");
    if (set_.inputs.size() > most_inputs)
      return error(fmt::format("there are more than {} inputs", most_inputs));
    LEMMA_RETURN_IF_ERROR(check_elements());
    set_.file = file_;
    return std::move(set_);
  }

 private:
  tl::unexpected<Error> error(std::string message) const { return error_at(line_, message); }
  tl::unexpected<Error> error_at(std::size_t line, const std::string& message) const {
    return bad_input(fmt::format("{}:{}: {}", file_, line + 1, message));
  }

  /// Operators are left to the parser of rules, which is given all lines, the others empty.
  Result<void> parse_line() {
    const std::string_view line = lines_[line_];
    const std::vector<std::string_view> words = words_of(without_comment(line));
    if (words.empty() || is_indented(line)) {
      if (!words.empty() && !in_operator_)
        return error("a line that is indented, but not below an operator");
      rule_text_ += in_operator_ ? std::string(line) + "\n" : "\n";
      return {};
    }
    if (words[0] == "operator") return begin_operator(words);
    in_operator_ = false;
    rule_text_ += "\n";
    if (words[0] == "set") return parse_name(words);
    if (words[0] == "limit") return parse_limit(words);
    if (words[0] == "free") return parse_free(words);
    if (words[0] == "input" || words[0] == "weight") return parse_inputs(words);
    return error(
        fmt::format("'{}' is none of: set, input, weight, limit, free, operator", words[0]));
  }

  void choose_named_sizes() {
    std::vector<Substitution> operators;
    for (const SetOperator& one : set_.operators) operators.push_back(one.enumerated);
    const auto chosen = choose_sizes(sizes_, operators);
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      for (const InputSize& size : sizes_[i])
        set_.inputs[i].sizes.push_back(size.name.empty() ? size.number : chosen.at(size.name));
  }

  /// Terms start from inputs, which have to be within the limit as all values are.
  Result<void> check_elements() const {
    for (const SetInput& input : set_.inputs) {
      std::int64_t rest = set_.largest_value;
      for (const std::int64_t size : input.sizes) rest /= size;
      if (rest == 0)
        return error_at(input.line - 1,
                        fmt::format("input '{}' has more elements than the limit of {} "
                                    "('limit elements NUMBER')",
                                    input.name, set_.largest_value));
    }
    return {};
  }

  Result<void> begin_operator(const std::vector<std::string_view>& words) {
    if (words.size() != 2) return error("expected 'operator NAME'");
    in_operator_ = true;
    rule_text_ += fmt::format("rule {}\n", words[1]);
    return {};
  }

  Result<void> parse_name(const std::vector<std::string_view>& words) {
    if (words.size() != 2) return error("expected 'set NAME'");
    if (!set_.name.empty()) return error("the set has a name already");
    set_.name = words[1];
    return {};
  }

  Result<std::int64_t> number(std::string_view word) const {
    std::int64_t value = 0;
    const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (status != std::errc() || end != word.data() + word.size() || value < 1)
      return error(fmt::format("'{}' is not a positive number", word));
    return value;
  }

  Result<void> parse_limit(const std::vector<std::string_view>& words) {
    if (words.size() != 3 || (words[1] != "elements" && words[1] != "operators"))
      return error("expected 'limit elements NUMBER' or 'limit operators NUMBER'");
    LEMMA_ASSIGN_OR_RETURN(const std::int64_t value, number(words[2]));
    if (!limits_.insert(words[1]).second)
      return error(fmt::format("the limit of {} is given already", words[1]));
    if (value > most_limit) return error(fmt::format("a limit is at most {}", most_limit));
    if (words[1] == "elements")
      set_.largest_value = value;
    else
      set_.most_operators = static_cast<std::size_t>(value);
    return {};
  }

  Result<void> parse_free(const std::vector<std::string_view>& words) {
    if (words.size() != 2 || words[1] != "factors") return error("expected 'free factors'");
    set_.has_free_factors = true;
    return {};
  }

  Result<void> parse_inputs(const std::vector<std::string_view>& words) {
    const auto colon = std::find(words.begin(), words.end(), ":");
    if (colon == words.end() || colon == words.begin() + 1)
      return error(fmt::format("expected '{} NAME... : [SIZE, ...]'", words[0]));
    std::string shape;
    for (auto word = colon + 1; word != words.end(); ++word) shape += *word;
    LEMMA_ASSIGN_OR_RETURN(const std::vector<InputSize> sizes, parse_sizes(shape));
    for (auto name = words.begin() + 1; name != colon; ++name) {
      for (const SetInput& other : set_.inputs)
        if (other.name == *name) return error(fmt::format("'{}' is already an input", *name));
      const std::string use =
          fmt::format("rule use\n  {} : [n]\n  Relu({}) => {}", *name, *name, *name);
      if (!parse_substitutions(use, ""))
        return error(fmt::format("'{}' cannot be the name of an input", *name));
      set_.inputs.push_back({std::string(*name), {}, words[0] == "weight", line_ + 1});
      sizes_.push_back(sizes);
    }
    return {};
  }

  Result<std::vector<InputSize>> parse_sizes(std::string_view shape) const {
    if (!shape.starts_with('[') || !shape.ends_with(']'))
      return error(fmt::format("'{}' is not a shape", shape));
    shape = shape.substr(1, shape.size() - 2);
    std::vector<InputSize> sizes;
    while (!shape.empty()) {
      const std::size_t end = std::min(shape.find(','), shape.size());
      const std::string_view word = shape.substr(0, end);
      InputSize& size = sizes.emplace_back();
      if (!word.empty() && is_ascii_letter(word[0])) {
        size.name = word;
      } else {
        LEMMA_ASSIGN_OR_RETURN(size.number, number(word));
      }
      shape.remove_prefix(std::min(end + 1, shape.size()));
    }
    return sizes;
  }

  /// The parser of rules wants two sides: each operator becomes the claim that it equals itself.
  std::string with_two_sides() const {
    std::vector<std::string> lines;
    for (std::size_t begin = 0; begin < rule_text_.size();) {
      const std::size_t end = std::min(rule_text_.find('\n', begin), rule_text_.size());
      lines.push_back(rule_text_.substr(begin, end - begin));
      begin = end + 1;
    }
    std::string result;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::size_t next = i + 1;
      while (next < lines.size() && is_comment(lines[next])) ++next;
      const bool rule_ends =
          next == lines.size() || !is_indented(lines[next]) || words_of(lines[next]).empty();
      const std::string_view line = without_comment(lines[i]);
      if (rule_ends && is_indented(line) && !words_of(line).empty())
        result += fmt::format("{} = {}", line, line);
      else
        result += line;
      result += "\n";
    }
    return result;
  }

  Result<void> parse_operators() {
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules,
                           parse_substitutions(with_two_sides(), file_));
    for (Substitution& rule : rules) {
      line_ = rule.line == 0 ? 0 : static_cast<std::size_t>(rule.line) - 1;
      LEMMA_RETURN_IF_ERROR(add_operator(std::move(rule)));
    }
    return {};
  }

  Result<void> add_operator(Substitution rule) {
    if (rule.inputs.size() > most_operands)
      return error(fmt::format("'{}' has {} operands, at most {} are enumerated", rule.name,
                               rule.inputs.size(), most_operands));
    for (const RuleParameter& parameter : rule.parameters)
      if (parameter.range != RuleParameter::Range::dimension)
        return error(
            fmt::format("'{}': the parameter '{}' is no dimension", rule.name, parameter.name));
    SetOperator result;
    result.name = rule.name;
    result.line = line_ + 1;
    result.commutative = is_commutative(rule);
    result.enumerated = rule;
    for (const RuleCondition& condition : rule.conditions) {
      if (condition.kind != RuleCondition::Kind::equal ||
          condition.arguments[0].kind != RuleExpression::Kind::variable)
        return error(fmt::format("'{}': conditions of operators are NAME == SIZE", rule.name));
      replace(result.enumerated, condition.arguments[0].name, condition.arguments[1]);
      if (const auto size = evaluate_dimension(condition.arguments[1], {}); size)
        if (const auto value = size->constant())
          result.chosen.emplace_back(condition.arguments[0].name, *value);
    }
    set_.tells_weights_apart = set_.tells_weights_apart ||
                               std::any_of(rule.inputs.begin(), rule.inputs.end(),
                                           [](const RuleInput& input) { return input.weight; });
    result.enumerated.conditions.clear();
    rule.conditions.clear();
    result.pattern = std::move(rule);
    set_.operators.push_back(std::move(result));
    return {};
  }

  std::string file_;
  std::vector<std::string_view> lines_;
  std::size_t line_ = 0;
  bool in_operator_ = false;
  std::set<std::string_view> limits_;  // that were given
  std::string rule_text_;
  std::vector<std::vector<InputSize>> sizes_;  // of the inputs
  OperatorSet set_;
};

}  // namespace

std::string place(const OperatorSet& set, std::size_t line) {
  return fmt::format("{}:{}", set.file, line);
}

Result<OperatorSet> parse_operator_set(std::string_view text, std::string_view file) {
  return SetParser(text, file).parse();
}

Result<OperatorSet> read_operator_set(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    return bad_input(fmt::format("{}: there is no such operator set", file.string()));
  LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
  return parse_operator_set(text, file.string());
}

}  // namespace lemma::generator
