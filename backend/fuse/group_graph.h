#pragma once
// Computations in groups, and the order of the groups.

#include <deque>
#include <memory>
#include <vector>

#include "backend/fuse/pattern.h"

namespace lemma::backend {

/// Each computation is in one group. Numbers of groups are those of their first members when they were made. Copies
/// share the patterns, so that the beam can copy graphs of thousands of computations at each step.
class GroupGraph {
 public:
  explicit GroupGraph(const DeltaEvaluator& evaluator);

  /// Whether the members may become one group: none needs, through other groups, what another one of them needs
  /// first. They are whole groups, or computations that are groups of their own.
  bool can_join(const std::vector<std::size_t>& members) const;
  void join(Pattern pattern);

  std::size_t group_of(std::size_t computation) const { return groups_of_[computation]; }
  const Pattern& group(std::size_t number) const { return *groups_[number]; }
  bool is_group(std::size_t number) const { return groups_[number] != nullptr; }
  std::size_t count() const { return groups_.size(); }  // of numbers
  double gain() const { return gain_; }
  double seconds() const;

  /// Groups whose results are read by members, or that read theirs; ascending, without their own.
  std::vector<std::size_t> neighbours(std::size_t number) const;
  /// The groups in an order in which each comes after those whose results it reads: by their last members where there
  /// is a choice.
  std::vector<Group> ordered() const;

 private:
  using Number = std::uint32_t;
  enum class Direction : std::uint8_t { to_readers, to_producers };

  std::vector<Number> groups_of(const std::vector<std::size_t>& members) const;
  bool search(const std::vector<Number>& joined, Direction direction,
              std::vector<Number>& reached) const;
  void place(const std::vector<Number>& joined, Number number);

  const DeltaEvaluator* evaluator_;
  std::shared_ptr<std::deque<Pattern>>
      made_;  // by all copies; a pattern that is there never changes
  std::vector<Number> groups_of_;
  std::vector<const Pattern*> groups_;  // or nullptr: joined with another one
  /// The position of each group: ascending from each group to those that read its results.
  std::vector<Number> positions_;
  double gain_ = 0;
};

}  // namespace lemma::backend
