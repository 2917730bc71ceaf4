#pragma once
// From a model to a cheaper one that has been checked, in a file. docs/search.md, "How a result is
// checked", says what is looked at; nothing is written that has not passed.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/memory_guard.h"
#include "cli/optimize_request.h"
#include "cli/second_judge.h"
#include "cli/staged_model.h"
#include "costmodel/graph_cost.h"
#include "rule_language/rule_database.h"
#include "search/deadline.h"
#include "search/optimize.h"
#include "search/sampled_check.h"

namespace lemma {

/// The time is divided thus: the original is computed for the check first, which tells how long the
/// check of the result will take; that and the time for writing are kept back, and the rest is for
/// the search. If a result fails its check, the search is tried again with bitwise rules only, and
/// then the original is written.
class Improvement {
 public:
  Improvement(const OptimizeRequest& request, const OnnxModel& model,
              const ImportOptions& import_options, const Deadline& deadline,
              const MemoryGuard* memory, OptimizeAnswer& answer);

  /// Writes the model and fills in the answer. An error: nothing was written.
  Result<void> run();

 private:
  enum class Outcome { written, no_better, refused };
  struct Rules;

  Result<void> improve();
  Result<Outcome> attempt(const Rules& rules, RoundingClass worst,
                          const SampledReference& reference, const OperatorCosts& costs);
  Result<SearchResult> search(const Rules& rules, RoundingClass worst,
                              const OperatorCosts& costs) const;
  Result<SearchOptions> search_options() const;
  std::vector<Substitution> wanted_rules(const Rules& rules, RoundingClass worst) const;
  void take_figures(const SearchResult& found);

  /// Empty if the result may be written.
  Result<std::string> objection_to(const Rules& rules, const SearchResult& found,
                                   const SampledReference& reference, StagedModel& staged);
  std::string objection_of_second_judge(const SampledReference& reference,
                                        const StagedModel& staged);
  SampledCheckOptions check_options(const Deadline& deadline) const;
  ExportOptions export_options() const;

  Result<void> write_original();
  Result<void> keep(const std::string& why);
  Result<void> publish(StagedModel& staged, const std::string& explanation);

  const OptimizeRequest& request_;
  const OnnxModel& model_;
  const ImportOptions& import_options_;
  double writing_seconds_;
  Deadline check_deadline_;
  const MemoryGuard* memory_;
  OptimizeAnswer& answer_;
  std::optional<SecondJudge> judge_;
  double check_seconds_ = 0;             // that the check of the result is expected to take
  std::string explanation_of_original_;  // where nothing better was found
  std::string impossible_;  // why the last result could not be checked; it did not fail
};

}  // namespace lemma
