#pragma once
// Pairs of classes with members that have operators in common, so that the term over both is within the limit although
// their representatives together are not.

#include <optional>

#include "generator/rank_share.h"
#include "generator/spill.h"
#include "generator/terms.h"

namespace lemma::generator {

/// Ascending.
struct ClassPair {
  ClassId a = nothing, b = nothing;
  friend auto operator<=>(const ClassPair&, const ClassPair&) = default;
};

class SharedPairs {
 public:
  struct Options {
    /// Leaves out pairs to which no third operand brings the first inputs of each shape.
    bool first_inputs_only = false;
    std::size_t ranges = 1;              // that pairs are divided into, in no order
    std::size_t memory = 1'000'000'000;  // bytes of pairs, if there are several ranges
    RankShare share;                     // of the ranges; pairs of other ranks are only counted
  };
  /// Pairs whose members are computed by `cost` operators together, but whose representatives need more.
  static Result<SharedPairs> of(const TermTable& table, std::size_t cost, const Options& options);

  struct Kind {
    std::uint32_t a = 0, b = 0;  // types
    ClassPair first;             // the first pair of these types, whatever its inputs
    std::uint64_t found = 0;     // how many on all ranks, some of them several times
  };
  /// In order of their first pairs.
  const std::vector<Kind>& kinds() const { return kinds_; }
  /// The number of the kind of a pair.
  std::size_t kind_of(std::uint32_t a_type, std::uint32_t b_type) const {
    return numbers_[a_type * types_ + b_type];
  }
  /// Of this rank.
  std::size_t range_count() const { return pairs_.range_count(); }
  /// The pairs of a range in ascending order, each once. They are not there any more after that.
  Result<std::vector<ClassPair>> take(std::size_t range);

 private:
  explicit SharedPairs(const Options& options)
      : pairs_(options.share.most_of(options.ranges), options.memory) {}

  Spill<ClassPair> pairs_;
  std::vector<Kind> kinds_;
  std::size_t types_ = 0;
  std::vector<std::uint32_t> numbers_;  // of kinds, by types
};

}  // namespace lemma::generator
