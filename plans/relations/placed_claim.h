#pragma once
// What has to be proved so that a value of a program is a certain value of the single-device graph, placed so.

#include <optional>
#include <vector>

#include "plans/placement/window.h"
#include "plans/program.h"
#include "plans/relations/claim.h"

namespace lemma::plans {

struct Relation;

/// What a value is computed from, as far back as to values that are related.
struct Leaves {
  std::vector<ValueId> related;  // in the order in which they are met
  bool is_too_large = false;     // too many operators are between
};

Leaves leaves_of(const Graph& program, const std::vector<std::optional<Relation>>& relations,
                 ValueId value);

struct SupposedRelation {
  ValueId value;   // of the program
  ValueId single;  // of the single-device graph
  Placement placement;
  Window window;  // on a mesh without axes
};

/// One claim, or for a partial value that is replicated along another axis of the mesh one more for each such axis. An
/// error: the single-device value is not computed from what the leaves are.
Result<std::vector<Claim>> placed_claims(const Graph& single, const Program& program,
                                         const std::vector<std::optional<Relation>>& relations,
                                         const Leaves& leaves, const SupposedRelation& supposed);

}  // namespace lemma::plans
