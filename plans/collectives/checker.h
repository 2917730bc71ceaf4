#pragma once
// Whether a schedule is right, by replaying it. Shares nothing with what makes schedules but the data (schedule.h).

#include <optional>
#include <string>

#include "plans/collectives/schedule.h"
#include "plans/collectives/topology.h"

namespace lemma::collectives {

/// What is wrong with a schedule on a topology, as a line such as `step 2, send 4 (chunk 5 from 0 to 3): node 0 does not have
/// chunk 5`; nothing where it is right. It is right where
/// - a node sends over links that there are, and only what it had before the step;
/// - the rounds of each step suffice for the chunks of each link and of each port;
/// - each copy brings a chunk that is finished (of which no operand is missing) to a node that needs it and has not got it yet;
/// - no operand is added to a sum that contains it, and what was added up is used;
/// - in the end each node has all chunks that the collective gives to it, each with the operand of every node exactly once.
std::optional<std::string> fault_of(const Topology& topology, const Schedule& schedule);

}  // namespace lemma::collectives
