#pragma once
// One search with rules up to a class, and what becomes of its result.

#include <memory>
#include <optional>
#include <set>
#include <string>

#include "pipeline/file_growth.h"
#include "pipeline/staged_model.h"
#include "pipeline/timing_plan.h"
#include "pipeline/trace.h"

namespace lemma {

/// What attempts at one model share.
struct AttemptSetup {
  const Job& job;
  const SampledReference& reference;  // of the original
  const ModelInputs& inputs;
  ModelTimer* models;  // what runs graphs; null: nothing does
  CurrentCosts& costs;
  TimingPlan& timing;
  const FileGrowth& growth;
  KeptTime kept;
  Deadline deadline;  // of all but writing
  Trace& trace;
  /// Whether what is passed has to be faster. If not, it is not run, and candidates are not either.
  bool is_judged_by_time = true;
  /// Operators whose constants stay computed (FoldOptions::left_computed).
  std::set<std::string> left_computed = {};
  /// Rules that are not used: a result that they made was refused.
  std::set<std::string> rules_left_out = {};
};

struct Attempt {
  enum class Outcome {
    passed,      // `staged` may take the original's place
    no_better,   // nothing better was found
    too_large,   // its file is larger than it may be
    refused,     // it failed its check
    impossible,  // it could not be checked, or is not faster
  };
  Outcome outcome = Outcome::no_better;
  std::string reason;  // why not `passed`; may be empty
  SearchFigures figures;
  CheckReport check;
  TimingReport timing;
  /// The explanation. For `passed`: why the result equals the original. For `no_better`: that the original is what the
  /// search ended with.
  std::string explanation;
  std::unique_ptr<StagedModel> staged;  // of `passed`
};

/// `worst`: the class of the rules. `keeps_small`: the search does nothing that makes a file larger than it may be.
/// An error: what was asked for cannot be done, or nothing can be written.
Result<Attempt> attempt(const AttemptSetup& setup, RoundingClass worst, bool keeps_small);

/// After a refused one: searches without one of the rules that it used, those of the worst class first, until a result
/// passes. Nothing: none does within the time that is left, or within four searches.
Result<std::optional<Attempt>> attempt_without_a_rule(const AttemptSetup& setup,
                                                      RoundingClass worst, bool keeps_small,
                                                      const Attempt& refused);

}  // namespace lemma
