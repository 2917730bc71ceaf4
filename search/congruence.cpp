#include "search/congruence.h"

#include <algorithm>
#include <set>

#include <absl/hash/hash.h>

namespace lemma {

std::uint32_t Congruence::find(std::uint32_t value) {
  while (parent_[value] != value) {
    parent_[value] = parent_[parent_[value]];
    value = parent_[value];
  }
  return value;
}

/// Operator, attributes and number of outputs. Inputs and constants are like no other node.
std::uint32_t Congruence::label_of(const Node& node) {
  if (node.kind != NodeKind::operation) return label_count_++;
  auto& bucket = labels_[absl::HashOf(node.op.v, node.output_count, node.attributes.hash())];
  for (const auto& [id, label] : bucket) {
    const Node& other = graph_.node(id);
    if (other.op == node.op && other.output_count == node.output_count &&
        other.attributes == node.attributes)
      return label;
  }
  bucket.emplace_back(graph_.producer(node.output()), label_count_);
  return label_count_++;
}

void Congruence::look_up(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.kind != NodeKind::operation) return;
  Key key = {label_of(node)};
  for (const ValueId input : node.inputs) key.push_back(input.is_none() ? input.v : find(input.v));
  const auto [where, inserted] = table_.try_emplace(std::move(key), id);
  if (inserted || where->second == id) return;
  const Node& other = graph_.node(where->second);
  for (std::uint32_t k = 0; k < node.output_count; ++k)
    waiting_.push_back({node.output(k), other.output(k), {Reason::congruence, id, where->second}});
}

void Congruence::take_in_new_nodes() {
  for (; nodes_taken_ < graph_.node_count(); ++nodes_taken_) {
    const NodeId id{static_cast<std::uint32_t>(nodes_taken_)};
    const Node& node = graph_.node(id);
    for (std::uint32_t k = 0; k < node.output_count; ++k) {
      parent_.push_back(node.output(k).v);
      users_.emplace_back();
      members_.push_back({node.output(k)});
      next_.push_back(ValueId::none());
      why_.emplace_back();
    }
    for (const ValueId input : node.inputs)
      if (!input.is_none()) users_[find(input.v)].push_back(id);
    look_up(id);
    work_off();
  }
}

void Congruence::work_off() {
  while (!waiting_.empty()) {
    const Edge edge = waiting_.back();
    waiting_.pop_back();
    unite(edge);
  }
}

void Congruence::unite(const Edge& edge) {
  std::uint32_t kept = find(edge.b.v), gone = find(edge.a.v);
  if (kept == gone) return;
  ValueId from = edge.a, to = edge.b;
  if (members_[kept].size() < members_[gone].size()) {
    std::swap(kept, gone);
    std::swap(from, to);
  }
  // The path from `from` to the root of its tree is turned round; then it hangs below `to`.
  ValueId before = to;
  Reason reason = edge.reason;
  for (ValueId at = from; !at.is_none();) {
    const ValueId after = next_[at.v];
    next_[at.v] = before;
    std::swap(why_[at.v], reason);
    before = at;
    at = after;
  }
  parent_[gone] = kept;
  members_[kept].insert(members_[kept].end(), members_[gone].begin(), members_[gone].end());
  std::vector<ValueId>().swap(members_[gone]);
  std::vector<NodeId> users;
  users.swap(users_[gone]);
  for (const NodeId user : users) look_up(user);
  users_[kept].insert(users_[kept].end(), users.begin(), users.end());
}

void Congruence::merge(ValueId a, ValueId b, std::uint32_t equation) {
  take_in_new_nodes();
  waiting_.push_back({a, b, {equation, {}, {}}});
  work_off();
}

bool Congruence::equal(ValueId a, ValueId b) {
  take_in_new_nodes();
  return find(a.v) == find(b.v);
}

std::uint32_t Congruence::class_of(ValueId value) {
  take_in_new_nodes();
  return find(value.v);
}

std::vector<std::uint32_t> Congruence::reasons(ValueId a, ValueId b) {
  std::set<std::uint32_t> result;
  std::set<std::pair<ValueId, ValueId>> seen;
  std::vector<std::pair<ValueId, ValueId>> wanted = {{a, b}};
  std::vector<std::size_t> mark(parent_.size(), 0);
  for (std::size_t round = 1; !wanted.empty(); ++round) {
    const auto [x, y] = wanted.back();
    wanted.pop_back();
    if (x == y || !seen.insert(std::minmax(x, y)).second) continue;
    // Both paths up to where they meet.
    for (ValueId at = x; !at.is_none(); at = next_[at.v]) mark[at.v] = round;
    ValueId meeting = y;
    while (mark[meeting.v] != round) meeting = next_[meeting.v];
    for (const ValueId start : {x, y})
      for (ValueId at = start; at != meeting; at = next_[at.v]) {
        const Reason& reason = why_[at.v];
        if (reason.equation == Reason::granted) continue;
        if (reason.equation != Reason::congruence) {
          result.insert(reason.equation);
          continue;
        }
        const auto& left = graph_.node(reason.a).inputs;
        const auto& right = graph_.node(reason.b).inputs;
        for (std::size_t k = 0; k < left.size(); ++k)
          if (!left[k].is_none()) wanted.emplace_back(left[k], right[k]);
      }
  }
  return {result.begin(), result.end()};
}

}  // namespace lemma
