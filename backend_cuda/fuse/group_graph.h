#pragma once
// Computations in groups, and the order of the groups.

#include <optional>
#include <vector>

#include "backend_cuda/fuse/pattern.h"

namespace lemma::backend {

/// Each computation is in one group. Numbers of groups are those of their first members when they were made.
class GroupGraph {
 public:
  explicit GroupGraph(const DeltaEvaluator& evaluator);

  /// Whether the members may become one group: none needs, through other groups, what another one of them needs
  /// first. They are whole groups, or computations that are groups of their own.
  bool can_join(const std::vector<std::size_t>& members) const;
  void join(Pattern pattern);

  std::size_t group_of(std::size_t computation) const { return groups_of_[computation]; }
  const Pattern& group(std::size_t number) const { return *groups_[number]; }
  bool is_group(std::size_t number) const { return groups_[number].has_value(); }
  std::size_t count() const { return groups_.size(); }  // of numbers
  double gain() const { return gain_; }
  double seconds() const;

  /// Groups whose results are read by members, or that read theirs; ascending, without their own.
  std::vector<std::size_t> neighbours(std::size_t number) const;
  /// In an order in which each comes after those whose results it reads: by their last members where there is a choice.
  std::vector<Group> ordered() const;

 private:
  const DeltaEvaluator* evaluator_;
  std::vector<std::size_t> groups_of_;
  std::vector<std::optional<Pattern>> groups_;
  double gain_ = 0;
};

}  // namespace lemma::backend
