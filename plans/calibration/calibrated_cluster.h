#pragma once
// A cluster whose devices are the ranks of a run, of what was measured on them.

#include <string>
#include <vector>

#include "plans/clusters/cluster.h"

namespace lemma::plans {

struct CalibratedRanks {
  std::size_t ranks = 2;
  std::string name, source;
  std::string device;  // whose description stands for a rank
  double memory_bytes = 0;
};

/// The cluster without figures: all ranks in a row, and in two axes wherever their number is a product. What stands for latencies and
/// bandwidths is none.
clusters::Cluster ranks_without_figures(const CalibratedRanks& ranks);

/// The cluster with the latency and the bandwidth of links and axes by a fit of what was measured: of messages for links, and of
/// each rank that sends to the next one at once for axes.
clusters::Cluster calibrated_cluster(const CalibratedRanks& ranks, clusters::MeasuredTimes measured,
                                     std::vector<clusters::MeasuredOperator> operators);

}  // namespace lemma::plans
