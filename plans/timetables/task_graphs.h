#pragma once
// Programs over many devices as task graphs: what each device computes, and messages and collectives, which need ports of
// devices. Computing and communicating overlap where nothing waits, unless the cluster says that devices do one or the other.
//
// Operators take what they are predicted to take on one device. A message has the port of the sender and that of the receiver for
// its bytes over the bandwidth, and arrives a latency later. A collective has the ports of its group as long as the best known
// algorithm takes (plans/clusters/collectives.h), or what it took where it was measured. A device takes its operators as they become ready, and of equal ones in the
// order of the program.

#include "plans/by_rank/ranked_program.h"
#include "plans/clusters/cluster.h"
#include "plans/planner/simulation.h"
#include "plans/program.h"
#include "plans/simulator/task_graph.h"
#include "plans/traces/rank_trace.h"

namespace lemma::plans {

/// Of a program in which each rank has operators of its own: ranks are the first devices of the cluster.
/// What ranks do is written into `recorded`, if that is given.
Result<simulator::TaskGraph> task_graph(const RankedProgram& program, const Paths& paths,
                                        NodePrices& prices, traces::Traces* recorded = nullptr);

/// Of a program that all devices run. The mesh of the cluster has axes of the sizes of the program's (matching_mesh). `overlaps`:
/// clusters::Cluster::overlaps.
Result<simulator::TaskGraph> task_graph(const Program& program, const clusters::Mesh& mesh,
                                        bool overlaps, NodePrices& prices,
                                        traces::Traces* recorded = nullptr);

/// Of what ranks did, with messages and collectives over the links of a cluster. Ranks are its first devices. The error: operations that
/// wait for each other, messages without another end, collectives that the ranks of a group do not agree on.
Result<simulator::TaskGraph> task_graph(const traces::Traces& traces, const Paths& paths);

/// The mesh of the cluster along whose axes there are as many devices; an error lists those that there are.
Result<clusters::Mesh> matching_mesh(const Mesh& mesh, const clusters::Cluster& cluster);

}  // namespace lemma::plans
