#include "verifier/checker/certificate.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/quoted.h"
#include "base/sha256.h"
#include "rule_language/operator_meaning.h"
#include "rule_language/rule_database.h"
#include "rule_language/substitution_use.h"

namespace lemma::checker {
namespace {

/// Lines one by one; every character of the text belongs to a line that ends.
class Lines {
 public:
  Lines(std::string_view text, std::size_t first_line) : rest_(text), number_(first_line - 1) {}

  bool starts_with(std::string_view prefix) const { return rest_.starts_with(prefix); }
  bool at_end() const { return rest_.empty(); }

  Result<std::string_view> take(std::string_view prefix) {
    const std::size_t end = rest_.find('\n');
    ++number_;
    if (end == std::string_view::npos || !rest_.starts_with(prefix))
      return bad_input(fmt::format("expected '{}'", prefix));
    const std::string_view line = rest_.substr(prefix.size(), end - prefix.size());
    rest_.remove_prefix(end + 1);
    return line;
  }
  /// The number of the line that was asked for last.
  std::size_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::size_t number_;
};

Result<std::uint32_t> number(std::string_view text) {
  LEMMA_ASSIGN_OR_RETURN(const Position position, parse_position(text));
  return position.size() == 1 ? Result<std::uint32_t>(position[0])
                              : bad_input("a number is wanted");
}

/// The lines about operators and axioms. Axioms that have changed would not fit the steps either;
/// this says why.
Result<std::vector<std::string>> parse_uses(Lines& lines, const AxiomTable& axioms,
                                            Digests& digests) {
  std::vector<std::string> result;
  while (lines.starts_with("operator ") || lines.starts_with("axiom ")) {
    LEMMA_ASSIGN_OR_RETURN(const std::string_view line, lines.take(""));
    result.emplace_back(line);
    const auto parts = words(line);
    if (parts[0] != "axiom") continue;
    const auto axiom = axioms.find(parts[1]);
    if (axiom == axioms.end()) return bad_input(fmt::format("there is no axiom '{}'", parts[1]));
    if (parts.size() != 3 || digests.of_substitution(*axiom->second) != parts[2])
      return bad_input(fmt::format("the axiom '{}' has changed since", parts[1]));
  }
  return result;
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

/// "34 HEX": how many cases there are, and the digest of their lines.
Result<void> parse_cases(std::string_view text, Certificate& certificate) {
  const auto parts = words(text);
  if (parts.size() != 2 || parts[1].size() != 64)
    return bad_input("expected 'cases NUMBER DIGEST'");
  LEMMA_ASSIGN_OR_RETURN(certificate.case_count, number(parts[0]));
  certificate.cases_digest = parts[1];
  return {};
}

/// "3, 5, 6": the cases of a chain, in ascending order.
Result<void> parse_case_numbers(std::string_view text, std::size_t chain,
                                Certificate& certificate) {
  for (std::size_t last = 0, at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(", ", at), text.size());
    LEMMA_ASSIGN_OR_RETURN(const std::size_t case_number, number(text.substr(at, end - at)));
    if (case_number <= last)
      return bad_input(fmt::format("the case {} is out of order", case_number));
    if (case_number > certificate.case_count)
      return bad_input(fmt::format("there is no case {}", case_number));
    if (!certificate.other_chains.emplace(case_number - 1, chain).second)
      return bad_input(fmt::format("the case {} is that of another chain", case_number));
    last = case_number;
    at = end + 2;
  }
  return {};
}

/// The first chain proves the cases that no other one names.
Result<void> parse_chains(Lines& lines, const AxiomTable& axioms, Certificate& certificate) {
  while (lines.starts_with("chain ")) {
    LEMMA_ASSIGN_OR_RETURN(const std::string_view heading, lines.take("chain "));
    const std::string label = fmt::format("{}", certificate.chains.size() + 1);
    const bool is_first = certificate.chains.empty();
    const std::string expected = label + (is_first ? "" : " of cases ");
    if (!heading.starts_with(expected) || (is_first && heading != expected))
      return bad_input(fmt::format("expected 'chain {}'", expected));
    if (!is_first) {
      const std::string_view cases = heading.substr(expected.size());
      LEMMA_RETURN_IF_ERROR(parse_case_numbers(cases, certificate.chains.size(), certificate));
    }
    Chain chain;
    while (lines.starts_with("  ")) {
      LEMMA_ASSIGN_OR_RETURN(const std::string_view line, lines.take("  "));
      auto step = parse_step(line, axioms, certificate.terms);
      if (!step)
        return with_context(fmt::format("chain {}, step {}", label, chain.size() + 1),
                            std::move(step.error()));
      chain.push_back(std::move(*step));
    }
    certificate.chains.push_back(std::move(chain));
  }
  if (certificate.chains.empty()) return bad_input("there is no chain");
  if (certificate.other_chains.size() >= certificate.case_count)
    return bad_input("the first chain is not used");
  return {};
}

Result<Certificate> parse_lines(Lines& lines, const AxiomTable& axioms, Digests& digests,
                                std::vector<std::string>& uses) {
  const bool is_known = lines.starts_with(fmt::format("{}\n", format_line));
  const auto first = lines.take("");
  if (!first || !is_known)
    return bad_input(fmt::format("the first line is not '{}': another format", format_line));
  Certificate result;
  LEMMA_ASSIGN_OR_RETURN(const std::string_view version, lines.take("verifier "));
  if (version != fmt::format("{}", proof_version))
    return bad_input(fmt::format("made by version '{}' of the verifier, this is version {}",
                                 version, proof_version));
  LEMMA_RETURN_IF_ERROR(parse_rule(lines, result));
  LEMMA_ASSIGN_OR_RETURN(uses, parse_uses(lines, axioms, digests));
  LEMMA_ASSIGN_OR_RETURN(result.rounding, lines.take("class "));
  LEMMA_ASSIGN_OR_RETURN(result.witness, lines.take("witness"));
  LEMMA_ASSIGN_OR_RETURN(const std::string_view cases, lines.take("cases "));
  LEMMA_RETURN_IF_ERROR(parse_cases(cases, result));
  LEMMA_RETURN_IF_ERROR(parse_chains(lines, axioms, result));
  LEMMA_ASSIGN_OR_RETURN(const std::string_view after, lines.take("end"));
  if (!after.empty() || !lines.at_end()) return bad_input("there is text after the end");
  return result;
}

}  // namespace

Result<void> check_rounding(const Certificate& certificate, const RoundingTable& table) {
  std::vector<std::string> used;
  for (const Substitution* used_rule : used_by(certificate))
    if (used_rule->is_axiom) used.push_back(used_rule->name);
  const std::string_view worst = name(worst_of(used, table));
  if (worst == certificate.rounding) return {};
  return bad_input(fmt::format("its class is {}, not {}", worst, certificate.rounding));
}

std::vector<const Substitution*> used_by(const Certificate& certificate) {
  std::vector<const Substitution*> result = {&certificate.terms};
  for (const Chain& chain : certificate.chains)
    for (const Step& step : chain) result.push_back(step.axiom);
  return result;
}

Result<Step> parse_step(std::string_view line, const AxiomTable& axioms, Substitution& terms) {
  Step step;
  const std::size_t colon = std::min(line.find(": "), line.size());
  const std::vector<std::string_view> head = words(line.substr(0, colon));
  if (colon == line.size() || head.size() != 6 || head[0] != "step" || head[4] != "at")
    return bad_input("expected 'step AXIOM DIRECTION OUTPUT at POSITION: VALUES'");
  const std::string_view name = head[1], direction = head[2];
  const auto axiom = axioms.find(name);
  if (axiom == axioms.end()) return bad_input(fmt::format("there is no axiom '{}'", name));
  step.axiom = axiom->second;
  step.backward = direction == "backward";
  if (!step.backward && direction != "forward")
    return bad_input(fmt::format("'{}' is no direction", direction));
  LEMMA_ASSIGN_OR_RETURN(step.output, number(head[3]));
  if (step.output >= step.axiom->left.size())
    return bad_input(fmt::format("axiom '{}' has no output {}", name, head[3]));
  LEMMA_ASSIGN_OR_RETURN(step.position, parse_position(head[5]));

  std::vector<std::string> names;
  for (const RuleInput& input : step.axiom->inputs) names.push_back(input.name);
  for (std::string& variable : variable_names(*step.axiom)) names.push_back(std::move(variable));
  LEMMA_ASSIGN_OR_RETURN(const auto values, named_values(line.substr(colon + 2), names));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i >= step.axiom->inputs.size()) {
      LEMMA_ASSIGN_OR_RETURN(RuleExpression value, parse_rule_expression(values[i]));
      if (text(value) != values[i])
        return bad_input(fmt::format("'{}' is not in canonical form", values[i]));
      step.variables.emplace_back(names[i], std::move(value));
    } else if (values[i].starts_with("@")) {
      LEMMA_ASSIGN_OR_RETURN(Position place, parse_position(values[i].substr(1)));
      step.inputs.push_back({std::move(place), {}});
    } else {
      LEMMA_ASSIGN_OR_RETURN(const TermId term, parse_rule_term(terms, values[i]));
      step.inputs.push_back({{}, term});
    }
  }
  return step;
}

Result<Certificate> parse_certificate(std::string_view text, const AxiomTable& axioms,
                                      Digests& digests, std::size_t first_line) {
  if (text.find(" #") != std::string_view::npos || text.find('\t') != std::string_view::npos)
    return bad_input("certificates have no comments and no tabs");
  Lines lines(text, first_line);
  std::vector<std::string> uses;
  auto result = parse_lines(lines, axioms, digests, uses);
  if (!result)
    return with_context(fmt::format("line {}", lines.number()), std::move(result.error()));
  for (const Substitution* used : used_by(*result))
    if (auto uncovered = uncovered_meaning(*used)) return bad_input(*uncovered);
  for (const std::string& line : digests.lines_about(used_by(*result)))
    if (std::find(uses.begin(), uses.end(), line) == uses.end())
      return bad_input(fmt::format("'{}' is what it uses now, but not what it lists", line));
  if (uses != digests.lines_about(used_by(*result)))
    return bad_input("operators or axioms are listed that it does not use, or twice");
  return result;
}

}  // namespace lemma::checker
