#pragma once
// What lies between the original and a candidate: graphs in which only some of its rewrites are made. One
// that costs more than it was believed to does not spoil the others then.

#include <optional>
#include <string>
#include <vector>

#include "costmodel/operator_costs.h"
#include "search/candidate.h"
#include "search/mixture.h"

namespace lemma {

/// Places that look alike, and what exchanging them does.
struct RewrittenPlaces {
  std::string text;  // operators before and after: "2 Mul, Conv -> Conv"
  std::size_t count = 0;
  double predicted_saving = 0;  // in seconds, for all of them
  double measured_saving = 0;   // the same as the evaluator says; 0: it cannot tell
};

class MixedCandidates {
 public:
  /// At most `most` graphs: the cheapest candidate's places are put into so many groups less one, those that
  /// promise least into one.
  static Result<MixedCandidates> of(const Graph& original, const Candidate& candidate,
                                    const OperatorCosts& costs, std::size_t most);

  const std::vector<RewrittenPlaces>& groups() const { return groups_; }
  /// None of them, then each group by itself; empty if there is nothing to choose.
  const std::vector<Candidate>& graphs() const { return graphs_; }
  /// Several groups together. Nothing if they do not go together.
  Result<std::optional<Candidate>> with(const std::vector<bool>& groups) const;

 private:
  Result<void> make_groups(std::size_t most);
  Result<std::optional<Candidate>> with_kinds(const std::vector<bool>& kinds) const;

  const Graph* base_ = nullptr;  // that the equations of the candidate begin at
  const OperatorCosts* costs_ = nullptr;
  std::optional<Mixture> mixture_;
  std::vector<RewrittenPlaces> groups_;
  std::vector<std::size_t> group_of_kind_;
  std::vector<Candidate> graphs_;
};

/// The rules without which a graph made so would not equal its original, with their uses.
Result<std::map<std::string, std::size_t>> rules_needed(const Graph& original,
                                                        const Candidate& candidate);

}  // namespace lemma
