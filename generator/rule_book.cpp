#include "generator/rule_book.h"

#include <fmt/format.h>

namespace lemma::generator {
namespace {

constexpr std::size_t most_examples = 1000;

}  // namespace

std::optional<std::size_t> RuleBook::add(Candidate candidate) {
  const std::string description = describe(candidate);
  if (failed_.contains(description)) return std::nullopt;
  const RuleCache::Made& made = *this->made(candidate, description, true);
  if (!made) {
    ++(made.error().refuted ? report_.refuted : report_.not_written);
    if (report_.examples.size() < most_examples)
      report_.examples.push_back({description, made.error().reason});
    failed_.insert(description);
    return std::nullopt;
  }
  const bool says_nothing = made->rule.left == made->rule.right;
  if (!says_nothing) ++report_.by_generality[static_cast<std::size_t>(made->generality)];
  memory_.add(std::move(candidate), made->rule);
  rules_.push_back(made->rule);
  says_nothing_.push_back(says_nothing ? 1 : 0);
  return rules_.size() - 1;
}

std::string RuleBook::describe(const Candidate& candidate) const {
  const OperatorSet& set = table_.set();
  std::vector<std::string> texts;
  for (const CandidateTerm& term : candidate.terms) {
    if (term.op == nothing) {
      texts.push_back(set.inputs[term.input].name);
      continue;
    }
    std::string operands;
    for (const std::uint32_t operand : term.operands)
      if (operand != no_term) operands += (operands.empty() ? "" : ", ") + texts[operand];
    const bool several = set.operators[term.op].pattern.left.size() > 1;
    texts.push_back(fmt::format("{}({}){}", set.operators[term.op].name, operands,
                                several ? fmt::format("#{}", term.output) : ""));
  }
  std::string result;
  for (std::size_t i = 0; i < candidate.left.size(); ++i)
    result += fmt::format("{}{} = {}", i == 0 ? "" : " & ", texts[candidate.left[i]],
                          texts[candidate.right[i]]);
  return result;
}

}  // namespace lemma::generator
