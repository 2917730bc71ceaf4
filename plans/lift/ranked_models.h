#pragma once
// Models of ranks that differ, as one program.
//
// Each rank has operators of its own. Values go from one rank to another by Send and Recv (domain `lemma`), which name a
// channel, and a collective with the attribute `ranks` is one of these ranks only.

#include "plans/by_rank/ranked_program.h"
#include "plans/lift/rank_models.h"

namespace lemma::plans {

/// Whether a model has Send, Recv, or a collective of some ranks.
bool is_ranked(const OnnxModel& model);

/// Errors name the channel: one that is not sent, not received, or either of it twice, one that another type is expected
/// of, and those on which ranks wait for each other. An input or output that all ranks have is placed on the mesh, which
/// has as many devices as there are models; one that some of them have is placed on these, in order.
Result<RankedProgram> lift_ranked(const OnnxModel& single, const RankModels& ranks);

}  // namespace lemma::plans
