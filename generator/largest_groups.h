#pragma once
// The groups of equal terms among the largest ones, found by one process or by several ranks.
//
// All ranks have the smaller terms. Each evaluates its share of the largest ones and owns ranges of keys: entries go to
// the owners of their keys, who find the groups in them, and the groups go to the first rank, where they are put in an
// order that does not depend on who has found them. Most groups follow from rules between smaller terms; their owners
// leave them out.

#include "generator/entry_exchange.h"
#include "generator/equal_groups.h"
#include "generator/range_file.h"

namespace lemma::generator {

class LargestGroups {
 public:
  struct Job {
    const TermTable::Options& options;
    const RangeFiles& files;
    const TermTable::IsJoined& is_joined;
    ranks::Ranks& ranks;
  };
  /// All of these outlive it.
  LargestGroups(TermTable& table, LargestTerms& level, const Job& job);

  /// All groups on the first rank, not united yet, and none on the others. The statistics of the table of the first rank
  /// are those of all ranks.
  Result<EqualGroups> find();

 private:
  Result<void> agree_on_ranges();
  Result<void> find_known();
  Result<void> evaluate();
  Result<void> find_new();
  Result<void> leave_out_joined(RangeGroups& range_groups) const;
  bool is_joined(const PackedGroup& group) const;
  Result<void> gather_groups();
  Result<void> gather_statistics();
  Result<void> add(const RangeGroups& range_groups);
  std::size_t batch_bytes() const;

  TermTable& table_;
  LargestTerms& level_;
  const TermTable::Options& options_;
  const RangeFiles& files_;
  const TermTable::IsJoined& is_joined_;
  ranks::Ranks& ranks_;
  RankShare share_;
  Rounds rounds_;
  EqualGroups groups_;
  std::size_t range_bytes_ = 0, range_count_ = 1;
  std::vector<char> is_wanted_;          // by range
  std::optional<Spill<Entry>> entries_;  // of own ranges
  std::uint64_t evaluated_ = 0;          // terms of the level, on all ranks
  // In own ranges:
  std::uint64_t collisions_ = 0, joined_groups_ = 0, joined_terms_ = 0;
  std::vector<std::uint64_t> applied_;  // before the level, by operator of the set
};

}  // namespace lemma::generator
