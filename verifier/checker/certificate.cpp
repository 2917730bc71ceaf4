#include "verifier/checker/certificate.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "ir/operator_document.h"
#include "ir/rule_database.h"
#include "ir/sha256.h"
#include "ir/substitution_use.h"

namespace lemma::checker {
namespace {

/// Lines one by one; every character of the text belongs to a line that ends.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  bool starts_with(std::string_view prefix) const { return rest_.starts_with(prefix); }
  bool at_end() const { return rest_.empty(); }
  int number() const { return number_; }

  Result<std::string_view> take(std::string_view prefix) {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos || !rest_.starts_with(prefix))
      return bad_input(fmt::format("line {}: expected '{}'", number_ + 1, prefix));
    const std::string_view line = rest_.substr(prefix.size(), end - prefix.size());
    rest_.remove_prefix(end + 1);
    ++number_;
    return line;
  }

 private:
  std::string_view rest_;
  int number_ = 0;
};

/// The parts between separators that stand outside brackets and quotes.
std::vector<std::string_view> items(std::string_view text) {
  std::vector<std::string_view> result;
  int depth = 0;
  bool quoted = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth > 0 || text.substr(i, 2) != ", ") continue;
    result.push_back(text.substr(begin, i - begin));
    begin = i + 2;
  }
  if (!text.empty()) result.push_back(text.substr(begin));
  return result;
}

Result<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text != fmt::format("{}", value))
    return bad_input(fmt::format("'{}' is not a number", text));
  return value;
}

Result<Position> position(std::string_view text) {
  Position result;
  while (true) {
    const std::size_t dot = std::min(text.find('.'), text.size());
    LEMMA_ASSIGN_OR_RETURN(const std::uint32_t next, number(text.substr(0, dot)));
    result.push_back(next);
    if (dot == text.size()) return result;
    text.remove_prefix(dot + 1);
  }
}

/// Takes "WORD " from the beginning of the text.
Result<std::string_view> word(std::string_view& text) {
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos || end == 0)
    return bad_input(fmt::format("something is missing before '{}'", text));
  const std::string_view result = text.substr(0, end);
  text.remove_prefix(end + 1);
  return result;
}

/// The value in "NAME=VALUE".
Result<std::string_view> value_of(std::string_view item, std::string_view name) {
  if (item.size() <= name.size() || !item.starts_with(name) || item[name.size()] != '=')
    return bad_input(fmt::format("expected a value for '{}', found '{}'", name, item));
  return item.substr(name.size() + 1);
}

Result<RuleExpression> expression(std::string_view written) {
  LEMMA_ASSIGN_OR_RETURN(RuleExpression result, parse_rule_expression(written));
  if (text(result) != written)
    return bad_input(fmt::format("'{}' is not in canonical form", written));
  return result;
}

Result<std::vector<std::pair<std::string, std::string>>> digest_lines(Lines& lines,
                                                                      std::string_view prefix) {
  std::vector<std::pair<std::string, std::string>> result;
  while (lines.starts_with(prefix)) {
    LEMMA_ASSIGN_OR_RETURN(std::string_view line, lines.take(prefix));
    LEMMA_ASSIGN_OR_RETURN(const std::string_view name, word(line));
    result.emplace_back(name, line);
  }
  return result;
}

Result<void> check_digests(const Certificate& certificate, const AxiomTable& axioms,
                           Digests& digests) {
  for (const auto& [name, digest] : certificate.axioms) {
    const auto axiom = axioms.find(name);
    if (axiom == axioms.end()) return bad_input(fmt::format("there is no axiom '{}'", name));
    if (digests.of_axiom(*axiom->second) != digest)
      return bad_input(fmt::format("axiom '{}' reads otherwise than when it was used", name));
  }
  for (const auto& [name, digest] : certificate.operators) {
    LEMMA_ASSIGN_OR_RETURN(const std::string wanted, digests.of_operator(name));
    if (wanted != digest)
      return bad_input(fmt::format("the definition of {} has changed since", name));
  }
  return {};
}

void add_operators(const Substitution& rule, std::set<std::string>& names) {
  for (const RuleTerm& term : rule.terms)
    if (!term.is_input) names.emplace(record(term.op).name);
}

/// The lists of axioms and operators are those that the proof uses, sorted.
Result<void> check_lists(const Certificate& certificate, const AxiomTable& axioms) {
  std::set<std::string> axiom_names, operator_names;
  add_operators(certificate.terms, operator_names);
  for (const Chain& chain : certificate.chains)
    for (const Step& step : chain) axiom_names.insert(step.axiom->name);
  for (const std::string& name : axiom_names) add_operators(*axioms.at(name), operator_names);
  const auto same = [](const auto& lines, const std::set<std::string>& names) {
    return std::equal(lines.begin(), lines.end(), names.begin(), names.end(),
                      [](const auto& line, const std::string& name) { return line.first == name; });
  };
  if (!same(certificate.axioms, axiom_names))
    return bad_input("the axioms listed are not those that the steps use");
  if (!same(certificate.operators, operator_names))
    return bad_input("the operators listed are not those that the proof uses");
  return {};
}

Result<void> parse_rule(Lines& lines, Certificate& certificate) {
  LEMMA_ASSIGN_OR_RETURN(const std::string_view id, lines.take("id "));
  LEMMA_ASSIGN_OR_RETURN(const std::string_view name, lines.take("rule "));
  std::string written = fmt::format("rule {}\n", name);
  while (lines.starts_with("  ")) {
    LEMMA_ASSIGN_OR_RETURN(const std::string_view line, lines.take(""));
    written += fmt::format("{}\n", line);
  }
  LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> rules, parse_substitutions(written, "rule"));
  if (rules.size() != 1 || rules[0].is_axiom || text(rules[0]) != written)
    return bad_input("the rule is not in canonical form");
  if (sha256(written) != id) return bad_input("the id is not that of the rule");
  certificate.rule = certificate.terms = std::move(rules[0]);
  return {};
}

Result<void> parse_class(Lines& lines) {
  LEMMA_ASSIGN_OR_RETURN(const std::string_view name, lines.take("class "));
  for (const char* known : {"unknown", "bitwise", "reassociation", "distributive", "unsafe"})
    if (name == known) return {};
  return bad_input(fmt::format("'{}' is no class of rounding", name));
}

Result<void> parse_chains(Lines& lines, const AxiomTable& axioms, Certificate& certificate) {
  while (lines.starts_with("chain ")) {
    LEMMA_ASSIGN_OR_RETURN(const std::string_view label, lines.take("chain "));
    if (label != fmt::format("{}", certificate.chains.size() + 1))
      return bad_input(fmt::format("chain '{}' is out of order", label));
    Chain chain;
    while (lines.starts_with("  ")) {
      LEMMA_ASSIGN_OR_RETURN(const std::string_view line, lines.take("  "));
      auto step = parse_step(line, axioms, certificate.terms);
      if (!step)
        return with_context(fmt::format("chain {}, step {}", label, chain.size() + 1),
                            std::move(step.error()));
      chain.push_back(std::move(*step));
    }
    if (chain.empty()) return bad_input(fmt::format("chain {} has no steps", label));
    certificate.chains.push_back(std::move(chain));
  }
  if (certificate.chains.empty()) return bad_input("there is no chain of steps");
  return {};
}

Result<void> parse_cases(Lines& lines, Certificate& certificate) {
  std::set<std::size_t> used;
  while (lines.starts_with("case ")) {
    LEMMA_ASSIGN_OR_RETURN(const std::string_view line, lines.take(""));
    const std::size_t by = line.rfind(" by ");
    if (by == std::string_view::npos) return bad_input(fmt::format("'{}' names no chain", line));
    LEMMA_ASSIGN_OR_RETURN(const std::uint32_t chain, number(line.substr(by + 4)));
    if (chain < 1 || chain > certificate.chains.size())
      return bad_input(fmt::format("'{}': there is no such chain", line));
    used.insert(chain);
    certificate.cases.push_back({std::string(line.substr(0, by)), chain - 1});
  }
  if (used.size() != certificate.chains.size()) return bad_input("a chain is not used");
  return {};
}

}  // namespace

Result<std::string> Digests::of_operator(const std::string& name) {
  const auto [where, inserted] = operators_.try_emplace(name);
  if (!inserted) return where->second;
  const auto op = find_operator(name);
  if (!op) return bad_input(fmt::format("there is no operator '{}'", name));
  return where->second = sha256(operator_section(*op));
}

const std::string& Digests::of_axiom(const Substitution& axiom) {
  const auto [where, inserted] = axioms_.try_emplace(&axiom);
  if (inserted) where->second = sha256(text(axiom));
  return where->second;
}

Result<Step> parse_step(std::string_view line, const AxiomTable& axioms, Substitution& terms) {
  Step step;
  LEMMA_ASSIGN_OR_RETURN(const std::string_view keyword, word(line));
  LEMMA_ASSIGN_OR_RETURN(const std::string_view name, word(line));
  LEMMA_ASSIGN_OR_RETURN(const std::string_view direction, word(line));
  LEMMA_ASSIGN_OR_RETURN(const std::string_view output, word(line));
  LEMMA_ASSIGN_OR_RETURN(const std::string_view at, word(line));
  const std::size_t colon = line.find(": ");
  if (keyword != "step" || at != "at" || colon == std::string_view::npos)
    return bad_input("expected 'step AXIOM DIRECTION OUTPUT at POSITION: VALUES'");
  const auto axiom = axioms.find(name);
  if (axiom == axioms.end()) return bad_input(fmt::format("there is no axiom '{}'", name));
  step.axiom = axiom->second;
  step.backward = direction == "backward";
  if (!step.backward && direction != "forward")
    return bad_input(fmt::format("'{}' is no direction", direction));
  LEMMA_ASSIGN_OR_RETURN(step.output, number(output));
  if (step.output >= step.axiom->left.size())
    return bad_input(fmt::format("axiom '{}' has no output {}", name, output));
  LEMMA_ASSIGN_OR_RETURN(step.position, position(line.substr(0, colon)));

  const std::vector<std::string_view> given = items(line.substr(colon + 2));
  const std::vector<std::string> variables = variable_names(*step.axiom);
  const std::size_t inputs = step.axiom->inputs.size();
  if (given.size() != inputs + variables.size())
    return bad_input(fmt::format("axiom '{}' takes {} values, not {}", name,
                                 inputs + variables.size(), given.size()));
  for (std::size_t i = 0; i < inputs; ++i) {
    LEMMA_ASSIGN_OR_RETURN(const std::string_view value,
                           value_of(given[i], step.axiom->inputs[i].name));
    Reference reference;
    if (value.starts_with("@")) {
      LEMMA_ASSIGN_OR_RETURN(reference.position, position(value.substr(1)));
    } else {
      LEMMA_ASSIGN_OR_RETURN(reference.term, parse_rule_term(terms, value));
    }
    step.inputs.push_back(std::move(reference));
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(const std::string_view value, value_of(given[inputs + i], variables[i]));
    LEMMA_ASSIGN_OR_RETURN(RuleExpression parsed, expression(value));
    step.variables.emplace_back(variables[i], std::move(parsed));
  }
  return step;
}

Result<Certificate> parse_certificate(std::string_view text, const AxiomTable& axioms,
                                      Digests& digests) {
  if (text.find(" #") != std::string_view::npos || text.find('\t') != std::string_view::npos)
    return bad_input("certificates have no comments and no tabs");
  Lines lines(text);
  if (!lines.starts_with(fmt::format("{}\n", format_line)))
    return bad_input(fmt::format("the first line is not '{}': another format", format_line));
  Certificate result;
  LEMMA_RETURN_IF_ERROR(lines.take(""));
  LEMMA_ASSIGN_OR_RETURN(const std::string_view version, lines.take("verifier "));
  if (version != fmt::format("{}", proof_version))
    return bad_input(fmt::format("made by version '{}' of the verifier, this is version {}",
                                 version, proof_version));
  LEMMA_RETURN_IF_ERROR(parse_rule(lines, result));
  LEMMA_ASSIGN_OR_RETURN(result.operators, digest_lines(lines, "operator "));
  LEMMA_ASSIGN_OR_RETURN(result.axioms, digest_lines(lines, "axiom "));
  LEMMA_RETURN_IF_ERROR(check_digests(result, axioms, digests));
  LEMMA_RETURN_IF_ERROR(parse_class(lines));
  LEMMA_ASSIGN_OR_RETURN(const std::string_view witness, lines.take("witness"));
  if (!witness.empty() && !witness.starts_with(" "))
    return bad_input("the witness is not readable");
  for (const std::string_view item : items(witness.substr(witness.empty() ? 0 : 1)))
    result.witness.emplace_back(item);
  LEMMA_RETURN_IF_ERROR(parse_chains(lines, axioms, result));
  LEMMA_RETURN_IF_ERROR(parse_cases(lines, result));
  LEMMA_ASSIGN_OR_RETURN(const std::string_view after, lines.take("end"));
  if (!after.empty() || !lines.at_end()) return bad_input("there is text after the end");
  LEMMA_RETURN_IF_ERROR(check_lists(result, axioms));
  return result;
}

}  // namespace lemma::checker
