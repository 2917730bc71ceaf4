#include "generator/joining.h"

#include <numeric>
#include <utility>

namespace lemma::generator {

Joining::Joining(const Group& group)
    : parts_(group.terms.size() + (group.known == nothing ? 0 : 1)),
      parents_(group.terms.size() + 1),
      sizes_(group.terms.size() + 1, 1),
      edges_(group.terms.size() + 1) {
  std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  for (std::size_t i = 0; i < group.terms.size(); ++i) numbers_[key(group.terms[i])] = i;
}

Joining::Key Joining::key(const TermNode& node) {
  return {node.op, node.output, node.operands[0], node.operands[1], node.operands[2]};
}

std::size_t Joining::root(std::size_t i) const {
  while (parents_[i] != i) i = parents_[i];
  return i;
}

void Joining::join(std::size_t a, std::size_t b, std::size_t rule) {
  std::size_t smaller = root(a), larger = root(b);
  if (smaller == larger) return;
  if (sizes_[smaller] > sizes_[larger]) std::swap(smaller, larger);
  parents_[smaller] = larger;
  sizes_[larger] += sizes_[smaller];
  --parts_;
  edges_[a].emplace_back(b, rule);
  edges_[b].emplace_back(a, rule);
}

std::vector<std::size_t> Joining::between(std::size_t from, std::size_t to) const {
  constexpr auto unseen = static_cast<std::size_t>(-1);
  std::vector<std::size_t> before(edges_.size(), unseen), by(edges_.size()), reached = {from};
  before[from] = from;
  for (std::size_t n = 0; n < reached.size(); ++n) {
    for (const auto& [next, rule] : edges_[reached[n]]) {
      if (before[next] != unseen) continue;
      before[next] = reached[n];
      by[next] = rule;
      reached.push_back(next);
    }
  }
  std::vector<std::size_t> rules;
  for (std::size_t at = to; before[at] != unseen && at != from; at = before[at])
    rules.push_back(by[at]);
  return rules;
}

std::optional<std::size_t> Joining::find(const TermNode& node) const {
  const auto entry = numbers_.find(key(node));
  if (entry == numbers_.end()) return std::nullopt;
  return entry->second;
}

}  // namespace lemma::generator
