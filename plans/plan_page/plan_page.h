#pragma once
// A page about a plan: the program as a picture, what each device computes, sends and needs, and what is exchanged and why.

#include <string>

#include "base/result.h"
#include "costmodel/operator_costs.h"
#include "ir/graph.h"
#include "plans/by_rank/ranked_program.h"
#include "plans/clusters/cluster.h"
#include "plans/program.h"
#include "plans/relations/verification.h"

namespace lemma::plans {

struct PlanPageRequest {
  std::string model;  // name of the file
  const clusters::Cluster* cluster = nullptr;
  const OperatorCosts* costs = nullptr;  // of one device
};

/// HTML that needs nothing but itself. Times are predicted for the cluster. An error: the cluster has no mesh with as many
/// devices along each axis, or fewer devices than there are ranks.
Result<std::string> plan_page(const Graph& single, const Program& program,
                              const Verification& verification, const PlanPageRequest& request);
Result<std::string> plan_page(const Graph& single, const RankedProgram& program,
                              const Verification& verification, const PlanPageRequest& request);

}  // namespace lemma::plans
