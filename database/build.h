#pragma once
// From candidates to a rule database: prune, verify, generalize, minimize.
//
// The result is a function of the candidates, the axioms and the limits. It does not depend on the
// number of threads and ranks, nor on interruptions.

#include <functional>
#include <string>
#include <vector>

#include "database/answer_journal.h"
#include "database/decision.h"
#include "database/derivation.h"
#include "ranks/ranks.h"
#include "rule_language/substitution.h"
#include "verifier/prover/prove.h"

namespace lemma::database {

enum class CandidateOutcome {
  proved,       // it, or a more general rule, is in the database
  derived,      // it follows from rules found before
  conditional,  // as proved, but under conditions that had to be added
  refuted,
  unknown
};

/// The outcome of one candidate.
struct CandidateReport {
  Substitution candidate;  // in normal form
  CandidateOutcome outcome = CandidateOutcome::unknown;
  std::vector<std::string> rules;       // proved: their names. derived: those that were applied
  std::vector<std::string> conditions;  // conditional
  std::vector<std::string> steps;       // of generalization
  std::string reason, reason_class;     // conditional, refuted, unknown
};
std::string_view name(CandidateOutcome outcome);

struct BuiltRule {
  DecidedRule proved;
  /// Rules from which it follows by saturation; none of them can be omitted. Empty for rules of the
  /// basis.
  std::vector<std::string> derived_from;
  bool derived = false;
  /// Why a derived rule is kept: the search does not find it from its left side. Derived rules
  /// without a reason are not shipped.
  std::string kept_because;

  /// Whether it is in the basis, or derived and kept.
  bool is_shipped() const { return !derived || !kept_because.empty(); }
};

struct Progress {
  std::string stage;
  std::size_t done = 0, total = 0, rules = 0;
};

struct BuildOptions {
  int threads = 0;  // 0: as many as there are processors
  /// Null: this process only. All ranks must have the same candidates, axioms and limits.
  ranks::Ranks* ranks = nullptr;
  DerivationLimits limits;
  /// Hand-written rules, which are always part of the database. They must be provable.
  std::vector<Substitution> hand_written;
  /// Proved rules that are known already: candidates that follow from them are dropped, and they are not part of the
  /// result. Their names, and others, which no rule that is found may have.
  std::vector<Substitution> known;
  std::vector<std::string> known_names;
  /// Called by one thread.
  std::function<void(const Progress&)> progress;
  /// Called between pieces of work, on any thread; true ends the job with an error.
  std::function<bool()> cancelled;
};

struct RuleCounts {
  std::size_t basis = 0, derived_and_kept = 0, derived_and_left_out = 0;  // found
  std::size_t one_proof = 0;                                              // found and hand-written
  std::size_t hand_written = 0;                                           // all of them
};

struct Build {
  std::size_t given = 0;                    // candidates, as they came
  std::size_t trivial = 0;                  // sides that are the same
  std::size_t repeated = 0;                 // the same up to names as another
  std::vector<CandidateReport> candidates;  // the others, in the order of consideration
  std::vector<BuiltRule> rules;             // by name; basis and derived
  /// The hand-written rules in the given order. One that is not shipped follows from the others,
  /// and the search finds it without the rule.
  std::vector<BuiltRule> hand_written;
  /// Rules with only one proof: found ones, by name, and hand-written ones. Nothing is derived from
  /// them.
  std::vector<DecidedRule> found_apart, hand_written_apart;

  std::size_t count(CandidateOutcome outcome) const;
  RuleCounts count_rules() const;
  std::vector<std::string> hand_written_but_not_needed() const;
};

/// The error has the kind `bad_input` and the message `interrupted` if cancelled() returned true on
/// one of the ranks. Only the journal of the first rank is used; those of the others are empty.
inline constexpr std::string_view interrupted = "interrupted";
Result<Build> build(const std::vector<Substitution>& candidates, const verifier::AxiomSet& axioms,
                    AnswerJournal& journal, const BuildOptions& options);

/// What all answers in the journal depend on, in addition to the queries.
std::string job_text(const verifier::AxiomSet& axioms, const DerivationLimits& limits);

}  // namespace lemma::database
