#include "memory_plan/problem.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace lemma::memory_plan {

Result<void> check_problem(const Problem& problem) {
  for (NodeNumber number = 0; number < problem.nodes.size(); ++number) {
    const std::vector<NodeNumber>& operands = problem.nodes[number].operands;
    if (std::adjacent_find(operands.begin(), operands.end(), std::greater_equal<>()) !=
        operands.end())
      return bad_input(fmt::format("node {}: operands are not ascending", number));
    if (!operands.empty() && operands.back() >= number)
      return bad_input(fmt::format("node {}: operand {} comes later", number, operands.back()));
    if (!(problem.nodes[number].seconds >= 0))
      return bad_input(fmt::format("node {}: its time is negative or not a number", number));
  }
  return {};
}

Plan plan_of(const Problem& problem, const Sequence& sequence) {
  // From the end: where a value is used for the last time before it is computed again.
  Plan plan;
  plan.steps.resize(sequence.size());
  std::vector<bool> is_wanted(problem.nodes.size(), false);
  for (NodeNumber number = 0; number < problem.nodes.size(); ++number)
    is_wanted[number] = problem.nodes[number].is_kept;
  for (std::size_t place = sequence.size(); place-- > 0;) {
    const NodeNumber number = sequence[place];
    Step& step = plan.steps[place];
    step.node = number;
    if (!is_wanted[number]) step.freed.push_back(number);
    is_wanted[number] = false;
    for (const NodeNumber operand : problem.nodes[number].operands) {
      if (!is_wanted[operand]) step.freed.push_back(operand);
      is_wanted[operand] = true;
    }
    std::sort(step.freed.begin(), step.freed.end());
  }
  return plan;
}

Sequence sequence_of(const Plan& plan) {
  Sequence sequence;
  for (const Step& step : plan.steps) sequence.push_back(step.node);
  return sequence;
}

std::vector<bool> needed_nodes(const Problem& problem) {
  std::vector<bool> is_needed(problem.nodes.size(), false);
  for (NodeNumber number = static_cast<NodeNumber>(problem.nodes.size()); number-- > 0;) {
    if (problem.nodes[number].is_kept) is_needed[number] = true;
    if (!is_needed[number]) continue;
    for (const NodeNumber operand : problem.nodes[number].operands) is_needed[operand] = true;
  }
  return is_needed;
}

std::vector<std::vector<NodeNumber>> users_of(const Problem& problem) {
  std::vector<std::vector<NodeNumber>> users(problem.nodes.size());
  for (NodeNumber number = 0; number < problem.nodes.size(); ++number)
    for (const NodeNumber operand : problem.nodes[number].operands)
      users[operand].push_back(number);
  return users;
}

Sequence given_order(const Problem& problem) {
  const std::vector<bool> is_needed = needed_nodes(problem);
  Sequence sequence;
  for (NodeNumber number = 0; number < problem.nodes.size(); ++number)
    if (is_needed[number]) sequence.push_back(number);
  return sequence;
}

double least_seconds(const Problem& problem) {
  double sum = 0;
  for (const NodeNumber number : given_order(problem)) sum += problem.nodes[number].seconds;
  return sum;
}

Bytes working_set(const Problem& problem, NodeNumber number) {
  const Node& node = problem.nodes[number];
  Bytes sum = node.bytes + node.workspace;
  for (const NodeNumber operand : node.operands) sum += problem.nodes[operand].bytes;
  return sum;
}

Bytes largest_working_set(const Problem& problem) {
  Bytes most = 0, kept = 0;
  for (const NodeNumber number : given_order(problem)) {
    most = std::max(most, working_set(problem, number));
    if (problem.nodes[number].is_kept) kept += problem.nodes[number].bytes;
  }
  return std::max(most, kept);
}

}  // namespace lemma::memory_plan
