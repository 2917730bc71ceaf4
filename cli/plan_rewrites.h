#pragma once
// What proved rules make of a model that is to run on many devices: the search proposes graphs, and each is judged by the plan that is
// chosen for it. So rules may gain that take longer on one device (Unger et al., OSDI 2022, "Unity", chooses rewrites and shardings
// together).

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/plan_program.h"
#include "costmodel/operator_costs.h"
#include "pipeline/optimize_model.h"
#include "plans/planner/planner.h"

namespace lemma {

struct RewriteRequest {
  std::string model, output;
  std::string explanation;  // file; empty: none
  const plans::PlannerRequest* planner = nullptr;
  ImportOptions reading;
  double time_limit_seconds = 300;  // of the search and of judging its graphs
  std::function<void(std::string)> on_stage;
};

struct RewriteReport {
  OptimizeStatus status = OptimizeStatus::unchanged;
  double before = 0, after = 0;  // seconds of the plans of the model and of what was written
  std::string message;     // why the model stays as it is, if it is not that no plan takes less
  std::size_t judged = 0;  // graphs
  std::vector<UsedRule> rules;  // of the result
};

/// What is said of the model that was written to `output`.
std::string rewrites_text(const RewriteReport& report, const std::string& output);

/// Writes the model whose plan takes the least time: the one that was given, if no other one's takes less. The result is checked as
/// `lemma optimize` checks its own.
Result<RewriteReport> rewrite_for_plan(const RewriteRequest& request);

}  // namespace lemma
