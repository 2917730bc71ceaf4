#pragma once
// The report of `lemma optimize` as a self-contained HTML page.

#include <map>
#include <string>
#include <vector>

#include "batch/optimize_request.h"
#include "costmodel/graph_cost.h"
#include "frontend_onnx/import.h"
#include "report/first_screen.h"
#include "report/report_proofs.h"
#include "rule_language/rule_database.h"

namespace lemma {

struct ReportSources {
  const RuleDatabase& rules;
  const OperatorCosts& costs;
  ImportOptions reading;                             // of the models and of what was written
  std::map<std::string, ReportedProof> proofs = {};  // by rule
  RunSetup setup = {};
};

/// The first screen (report/first_screen.h) and all figures; of each model that changed the costs of its operators and
/// each place that changed as a picture; the rules that were used as pictures, what each of these says and does to
/// rounding, and its proof.
std::string html_report(const std::vector<OptimizeAnswer>& answers, const ReportSources& sources);

}  // namespace lemma
