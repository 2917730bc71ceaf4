#pragma once
// The members and users of large classes by operator. A value that many operators read has hundreds
// of users, and a pattern asks for those of one operator: without this most of the time of a search
// goes into skipping the others.

#include <map>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "egraph/egraph.h"

namespace lemma {

/// An index of an e-graph that is not changed while the index is used, but for forms that are
/// added.
class OperatorIndex {
 public:
  explicit OperatorIndex(const EGraph& egraph);

  /// Those nodes of nodes(id), or of parents(id), that are of this kind and operator, in the same
  /// order; and maybe others, where the list is short.
  std::span<const ENodeId> nodes(ClassId id, ENodeKind kind, OperatorId op) const {
    return part(nodes_, egraph_.nodes(id), id, kind, op);
  }
  std::span<const ENodeId> parents(ClassId id, ENodeKind kind, OperatorId op) const {
    return part(parents_, egraph_.parents(id), id, kind, op);
  }

 private:
  using Parts = std::map<std::uint32_t, std::vector<ENodeId>>;  // by kind and operator
  using Lists = absl::flat_hash_map<std::uint32_t, Parts>;      // by class

  static constexpr std::size_t short_list = 32;
  static std::uint32_t key(ENodeKind kind, OperatorId op) {
    const bool has_operator = kind == ENodeKind::operation;
    return static_cast<std::uint32_t>(kind) << 16U | (has_operator ? op.v : 0U);
  }
  void add(Lists& lists, ClassId id, const std::vector<ENodeId>& all) const;
  static std::span<const ENodeId> part(const Lists& lists, const std::vector<ENodeId>& all,
                                       ClassId id, ENodeKind kind, OperatorId op);

  const EGraph& egraph_;
  Lists nodes_, parents_;
};

}  // namespace lemma
