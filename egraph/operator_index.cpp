#include "egraph/operator_index.h"

namespace lemma {

OperatorIndex::OperatorIndex(const EGraph& egraph) : egraph_(egraph) {
  for (std::uint32_t i = 0; i < egraph.id_count(); ++i) {
    const ClassId id{i};
    if (egraph.find(id) != id) continue;
    add(nodes_, id, egraph.nodes(id));
    add(parents_, id, egraph.parents(id));
  }
}

void OperatorIndex::add(Lists& lists, ClassId id, const std::vector<ENodeId>& all) const {
  if (all.size() <= short_list) return;
  Parts& parts = lists[id.v];
  for (const ENodeId member : all) {
    const ENode& node = egraph_.node(member);
    parts[key(node.kind, node.op)].push_back(member);
  }
}

std::span<const ENodeId> OperatorIndex::part(const Lists& lists, const std::vector<ENodeId>& all,
                                             ClassId id, ENodeKind kind, OperatorId op) {
  if (all.size() <= short_list) return all;
  const Parts& parts = lists.at(id.v);
  const auto entry = parts.find(key(kind, op));
  return entry == parts.end() ? std::span<const ENodeId>() : std::span(entry->second);
}

}  // namespace lemma
