#include "verifier/prover/closure.h"

#include <absl/hash/hash.h>

namespace lemma::verifier {

ValueId Closure::find(ValueId value) const {
  std::uint32_t v = value.v;
  while (v < parents_.size() && parents_[v] != v) v = parents_[v];
  return {v};
}

bool Closure::merge(const Equality& reason) {
  for (auto v = static_cast<std::uint32_t>(parents_.size()); v < graph_.value_count(); ++v)
    parents_.push_back(v);
  const ValueId x = find(reason.a), y = find(reason.b);
  if (!(graph_.type(x) == graph_.type(y))) return false;
  const auto [low, high] = std::minmax(x.v, y.v);
  parents_[high] = low;
  equalities_.push_back(reason);
  return true;
}

std::size_t Closure::signature_hash(const Node& node) const {
  std::size_t hash = absl::HashOf(node.op, node.output_count, node.attributes.hash());
  for (const ValueId input : node.inputs)
    hash = absl::HashOf(hash, input.is_none() ? input.v : find(input).v);
  return hash;
}

bool Closure::same_signature(const Node& a, const Node& b) const {
  if (a.op != b.op || a.output_count != b.output_count || a.inputs.size() != b.inputs.size())
    return false;
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    if (a.inputs[i].is_none() != b.inputs[i].is_none()) return false;
    if (!a.inputs[i].is_none() && !equal(a.inputs[i], b.inputs[i])) return false;
  }
  return a.attributes == b.attributes;
}

bool Closure::close_once() {
  bool changed = false;
  operations_.clear();
  absl::flat_hash_map<std::size_t, std::vector<NodeId>> table;
  for (std::uint32_t i = 0; i < graph_.node_count(); ++i) {
    const Node& node = graph_.node({i});
    if (node.kind != NodeKind::operation) continue;
    std::vector<NodeId>& bucket = table[signature_hash(node)];
    bool known = false;
    for (const NodeId id : bucket) {
      const Node& other = graph_.node(id);
      if (!same_signature(node, other)) continue;
      known = true;
      for (std::uint32_t output = 0; output < node.output_count; ++output)
        if (!equal(node.output(output), other.output(output)) &&
            merge({node.output(output), other.output(output)}))
          changed = true;
      break;
    }
    if (known) continue;
    bucket.push_back({i});
    operations_.push_back({i});
  }
  return changed;
}

void Closure::rebuild() {
  for (auto v = static_cast<std::uint32_t>(parents_.size()); v < graph_.value_count(); ++v)
    parents_.push_back(v);
  while (close_once()) {
  }
  for (std::uint32_t v = 0; v < parents_.size(); ++v) parents_[v] = find({v}).v;
  members_.assign(graph_.value_count(), {});
  for (const NodeId id : operations_) {
    const Node& node = graph_.node(id);
    for (std::uint32_t output = 0; output < node.output_count; ++output)
      members_[find(node.output(output)).v].push_back({id, output});
  }
}

const std::vector<Member>& Closure::members(ValueId value) const { return members_[find(value).v]; }

}  // namespace lemma::verifier
