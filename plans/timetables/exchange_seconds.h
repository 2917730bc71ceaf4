#pragma once
// What collectives of programs over many devices take.

#include <optional>
#include <string_view>

#include "plans/clusters/cluster.h"
#include "plans/clusters/collectives.h"
#include "plans/on_ranks/rank_program.h"
#include "plans/planner/simulation.h"

namespace lemma::plans {

/// The collective that an operator of a program is (AllReduce, ...); nothing for other operators.
std::optional<clusters::Collective> collective_of(std::string_view op);

/// Bytes of a tensor whose sizes are known; 0 of others.
double bytes_of_tensor(const TensorType& type);

/// Seconds of the best algorithm for a collective of so many ranks; 0 for what is none.
double exchange_seconds(const Exchange& exchange, std::size_t ranks, const clusters::Wire& wire);

/// The slowest path between two of these devices.
clusters::Wire wire_between(const Group& devices, const Paths& paths);

}  // namespace lemma::plans
