#include "generator/candidate.h"

#include <algorithm>

namespace lemma::generator {

// Recursion is as deep as terms have operators: four levels.
std::uint32_t CandidateBuilder::add(const TermNode& node, std::uint32_t type) {
  CandidateTerm term;
  term.type = type;
  if (node.op == nothing) {
    term.input = node.operands[0];
    return intern(term);
  }
  term.op = node.op;
  term.output = node.output;
  for (std::size_t i = 0; i < most_operands && node.operands[i] != nothing; ++i)
    term.operands[i] = add_class(node.operands[i]);
  return intern(term);
}

std::uint32_t CandidateBuilder::add_class(ClassId id) {
  const TermClass& known = table_.classes()[id];
  return add(table_.nodes()[known.representative], known.type);
}

std::uint32_t CandidateBuilder::intern(const CandidateTerm& term) {
  const auto position = std::find(terms_.begin(), terms_.end(), term);
  if (position != terms_.end()) return static_cast<std::uint32_t>(position - terms_.begin());
  terms_.push_back(term);
  return static_cast<std::uint32_t>(terms_.size() - 1);
}

Candidate CandidateBuilder::take(std::vector<std::uint32_t> left,
                                 std::vector<std::uint32_t> right) {
  return {std::move(terms_), std::move(left), std::move(right)};
}

Candidate with_first_names(const TermTable& table, Candidate candidate) {
  const std::vector<SetInput>& inputs = table.set().inputs;
  std::vector<char> taken(inputs.size());
  // Left side first: terms that only the right side needs may come before its own.
  std::vector<std::uint32_t> order = below(candidate, candidate.left);
  for (const std::uint32_t i : below(candidate, candidate.right))
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
  for (const std::uint32_t i : order) {
    CandidateTerm& term = candidate.terms[i];
    if (term.op != nothing) continue;
    for (std::uint32_t input = 0; input < inputs.size(); ++input) {
      if (taken[input] != 0 || inputs[input].sizes != inputs[term.input].sizes ||
          inputs[input].weight != inputs[term.input].weight)
        continue;
      taken[input] = 1;
      term.input = input;
      break;
    }
  }
  return candidate;
}

std::vector<std::uint32_t> below(const Candidate& candidate,
                                 const std::vector<std::uint32_t>& roots) {
  std::vector<char> needed(candidate.terms.size());
  for (const std::uint32_t root : roots) needed[root] = 1;
  std::vector<std::uint32_t> result;
  for (std::size_t i = candidate.terms.size(); i-- > 0;) {
    if (needed[i] == 0) continue;
    result.push_back(static_cast<std::uint32_t>(i));
    for (const std::uint32_t operand : candidate.terms[i].operands)
      if (operand != no_term) needed[operand] = 1;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::vector<std::uint32_t> inputs_of(const Candidate& candidate,
                                     const std::vector<std::uint32_t>& roots) {
  std::vector<std::uint32_t> result;
  for (const std::uint32_t i : below(candidate, roots))
    if (candidate.terms[i].op == nothing) result.push_back(candidate.terms[i].input);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace lemma::generator
