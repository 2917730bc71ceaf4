#pragma once
// Equality saturation: applying rules to an e-graph until nothing new follows or a limit is reached.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "egraph/egraph.h"
#include "egraph/pattern.h"
#include "engine/limits.h"

namespace lemma {

/// When saturation stops, and how much a round may add.
struct SaturationLimits : engine::RoundLimits {
  /// Rules with several outputs can merge what they merged before, without end: they take part in
  /// this many iterations.
  std::size_t multi_output_iterations = 3;
  /// The most new matches of a rule with several outputs in one iteration. If there are more, only
  /// disjoint ones are applied: those that have no output in common. So n products of one operand
  /// are merged by pairs in log2(n) iterations with n nodes, instead of all their subsets. 0: no
  /// limit.
  std::size_t multi_output_matches = 0;
  /// The share of the nodes that are left that one round may add. If less than all, the rules of a
  /// round divide them, those with the fewest matches first, so that none is left out because an
  /// earlier one has filled the e-graph; a rule whose share is used up goes on in the next round.
  double growth = 1;
  bool log_applications = false;  // fills SaturationReport::log, which proofs are made of
  /// The threads that find matches; 0: as many as TBB gives. The result does not depend on it.
  std::size_t threads = 0;
};

using engine::name;
using engine::StopReason;

/// What one rule did in a saturation.
struct RuleStatistics {
  std::size_t matches = 0;       // new places found
  std::size_t applications = 0;  // of them, those that changed the e-graph
  std::size_t dropped = 0;       // right side not well typed, or of another type
  std::size_t rejected = 0;      // structure fitted; types, attributes or conditions did not
  std::size_t rests = 0;         // times that the scheduler made the rule rest
  std::size_t cuts = 0;          // rounds in which its share of new nodes was used up
  double seconds = 0;            // searching, of all threads
};

/// One use of a rule. The claim about ground terms: with each input standing for the term of its id
/// (EGraph::founding_children) and the variables bound as here, left equals right.
struct Application {
  std::uint32_t rule = 0;                // in the list given to saturate()
  const RuleBindings& bindings;          // lives in SaturationReport::log_storage
  std::span<const ClassId> inputs;       // by input of the rule
  std::span<const ClassId> left, right;  // by output
};

/// How a saturation went.
struct SaturationReport {
  StopReason stop = StopReason::saturated;  // what ended it
  std::size_t iterations = 0;               // rounds, one that was cut short included
  double seconds = 0;                       // by the clock, the last rebuild() included
  std::vector<RuleStatistics> rules;        // in the order of the rules given
  std::vector<Application> log;             // those that changed the e-graph, in order
  std::shared_ptr<const void> log_storage;  // what the log refers to
  std::string failure;                      // what was found wrong (StopReason::failed)
};

/// The e-graph is rebuilt at the end, whatever stopped it. Limits are checked within iterations,
/// so that nodes exceed theirs by one right side at most.
SaturationReport saturate(EGraph& egraph, std::span<const CompiledRule> rules,
                          const SaturationLimits& limits = {});

}  // namespace lemma
