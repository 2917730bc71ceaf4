#pragma once
// Searches loop schedules for one operator (docs/tune.md): enumerated, ordered by a model, timed, and kept where they are faster
// in paired runs and compute what the interpreter computes. A search in the manner of AutoTVM (Chen et al., "Learning to
// optimize tensor programs", NeurIPS 2018), with the model of loop_model.h, corrected by what was measured, in the place of a
// learned one.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/execute/built_program.h"
#include "profiler/profile_database.h"
#include "profiler/single_operator.h"

namespace lemma::backend {

struct TuneProgress {
  std::size_t timed = 0;  // in all runs
  double seconds = 0;     // of this one
  double best = 1;        // ratio of the best time so far to that without schedules
  std::string schedules;  // of the best
};

struct TuneOptions {
  int threads = 1;
  double seconds = 60;       // after which nothing new is timed
  bool only_checks = false;  // what is recorded is timed again, and nothing is searched
  std::string date;          // of records
  std::function<bool()> is_over = [] { return false; };  // ends the search, and compilers
  std::function<void(const TuneProgress&)> on_progress = {};
};

struct TunedComputation {
  std::string key, description, schedule;
};

struct TuneOutcome {
  double seconds_before = 0,
         seconds = 0;       // medians of the last paired runs; equal where nothing is faster
  std::size_t planned = 0;  // distinct programs
  std::size_t timed = 0, known = 0;  // by this run, and by earlier ones
  bool is_complete = false;          // neither time nor an interruption ended the search
  bool is_recorded = false;          // the database has the schedules below
  std::vector<TunedComputation> schedules = {};
  std::string note = {};  // why nothing was searched or recorded; or empty
};

/// What is timed is committed to the database one by one, and not timed again by a later run. `builder`: of programs that need
/// not be kept. An error: the operator has no program.
Result<TuneOutcome> tune_operator(const SingleOperator& op, const std::string& name,
                                  const ProgramBuilder& builder, ProfileDatabase& database,
                                  const TuneOptions& options);

}  // namespace lemma::backend
