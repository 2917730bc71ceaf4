#pragma once
// Candidate substitutions of an operator set.
//
// Terms are enumerated level by level (generator/terms.h). Rules connect the terms of each group of
// equal terms, the smallest first; an equality that follows in one step from an earlier rule is
// left out (generator/derivation.h). Rules with several outputs are composed: if each output of one
// operator (a split) equals a term without that operator, these terms together form the left side.
//
// The result depends on the set and the options `most_operators` and `seed` alone.

#include <functional>
#include <string>
#include <vector>

#include "generator/operator_set.h"
#include "generator/symbolic.h"

namespace lemma::generator {

/// How far a set is enumerated, with what resources.
struct GenerateOptions {
  std::size_t most_operators = 0;  // 0: what the set says
  int threads = 1;                 // at least 1; the result does not depend on it
  /// Bytes that the process may take. What does not fit is evaluated again (elements of classes) or put into a file
  /// without a name (keys and groups of the largest terms); an error says that nodes and classes do not fit.
  std::size_t memory = 4'000'000'000;
  /// Bytes of the keys of the largest terms that are held at once; 0: a part of the memory.
  std::size_t range_bytes = 0;
  /// The directory for what is done so far, from which a run that was interrupted goes on: what
  /// candidates became, groups of finished ranges of keys, groups that are joined. Empty: none.
  std::string work_directory;
  std::uint64_t seed = 1;  // of the contents that terms are evaluated on
  /// Processes that share the largest terms; null: this process alone. All call generate() with the same set and options.
  /// Each needs `memory` and a work directory, which may be the same.
  ranks::Ranks* ranks = nullptr;
  /// Asked between pieces of work; true ends the run with an error.
  std::function<bool()> cancelled;
  /// Called from one thread: what is being done, and which part of it is done.
  std::function<void(std::string_view stage, double fraction)> progress;
};

/// A candidate that became no rule.
struct RefutedCandidate {
  std::string text;    // "LEFT = RIGHT" in operators of the set, without attributes
  std::string reason;  // where it fails, or why it is no rule
};

/// Time that a part of the work took on this rank.
struct StageTime {
  std::string stage;             // what was done, such as "largest terms"
  double seconds = 0;            // by the clock
  double processor_seconds = 0;  // of all threads
};

/// How often an operator of the set was applied, and to how many classes of values it is the cheapest way; classes of the
/// largest terms are not counted.
struct OperatorUse {
  std::string name;                             // as the set has it
  std::uint64_t applications = 0, classes = 0;  // as the comment above says
};

/// What was done, in numbers.
struct GenerateReport {
  TermStatistics terms;               // of the enumeration
  std::size_t table_bytes = 0;        // of nodes, classes and what finds them
  std::uint64_t groups = 0;           // of equal terms
  std::uint64_t equal_terms = 0;      // in them
  std::uint64_t candidates = 0;       // written
  std::uint64_t several_outputs = 0;  // of them
  std::uint64_t derived = 0;          // equalities that followed from rules found before
  std::uint64_t refuted = 0;          // by other sizes
  std::uint64_t not_written = 0;      // that are no rules: nothing binds a variable, ...
  /// Rules, in the order of Generality (generator/symbolic.h).
  std::array<std::uint64_t, 4> by_generality = {};
  std::vector<RefutedCandidate> examples;  // of refuted ones, a few
  double graphs = 0;                       // that the terms cover (generator/count.h)
  std::vector<OperatorUse> operators;      // in the order of the set
  std::vector<StageTime> stages;           // in the order of the work
  /// "file:line: operator 't' is never applied", and inputs that no operator takes.
  std::vector<std::string> warnings;
};

/// Candidates, and how they came about.
struct Generated {
  std::vector<Substitution> rules;  // the smallest first; not proved
  GenerateReport report;            // of this run
};

/// The most operators of a term: as the options say, else as the set does.
std::size_t limit_of_operators(const OperatorSet& set, const GenerateOptions& options);

/// On the first of several ranks; the others get nothing.
Result<Generated> generate(const OperatorSet& set, const GenerateOptions& options);

/// The file of candidates.
std::string candidates_text(const OperatorSet& set, const GenerateOptions& options,
                            const std::vector<Substitution>& rules);

}  // namespace lemma::generator
