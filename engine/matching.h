#pragma once
// Finding where a pattern matches an e-graph of any language (engine/pattern.h).

#include <cstdint>
#include <span>
#include <vector>

#include "engine/limits.h"
#include "engine/pattern.h"

namespace lemma::engine {

struct MatchLimits {
  std::uint32_t since = 0;  // new: changed after this time
  std::size_t matches = 0;  // the most that are looked for
  Watch* watch = nullptr;
};

/// Matches, one after the other: the class of each variable of the pattern.
class Matches {
 public:
  explicit Matches(const Pattern& pattern) : stride_(pattern.variable_count) {}
  std::size_t size() const { return data_.size() / stride_; }
  std::span<const ClassId> operator[](std::size_t i) const {
    return std::span(data_).subspan(i * stride_, stride_);
  }
  void add(std::span<const ClassId> classes) {
    data_.insert(data_.end(), classes.begin(), classes.end());
  }

 private:
  std::size_t stride_;
  std::vector<ClassId> data_;
};

/// One search, backtracking. The depth of the recursion is the size of the pattern.
template <typename Graph>
class Matcher {
 public:
  Matcher(const Graph& egraph, const Pattern& pattern, const MatchLimits& limits)
      : egraph_(egraph),
        pattern_(pattern),
        limits_(limits),
        classes_(pattern.variable_count),
        matches_(pattern) {}

  /// Adds all matches with a new node. False if there are too many, or time is up.
  bool run() {
    for (start_ = 0; start_ < pattern_.nodes.size() && !stopped_; ++start_) {
      const std::vector<MatchStep>& plan = pattern_.plans[start_];
      walk(plan, egraph_.nodes_with(pattern_.nodes[start_].symbol));
    }
    return !stopped_;
  }
  const Matches& matches() const { return matches_; }

 private:
  void walk(std::span<const MatchStep> plan, const std::vector<ENodeId>& candidates) {
    const MatchStep& step = plan.front();
    const PatternNode& wanted = pattern_.nodes[step.node];
    const std::size_t known_before = bound_.size();
    for (const ENodeId id : candidates) {
      if (stopped_) return;
      if (egraph_.form(id) == wanted.form && has_wanted_age(step.node, id) && enter(wanted, id)) {
        if (plan.size() == 1)
          found();
        else
          walk_on(plan.subspan(1));
      }
      forget(known_before);
      if (++steps_ % 4096 == 0 && limits_.watch->interrupted()) stopped_ = true;
    }
  }

  void walk_on(std::span<const MatchStep> plan) {
    const MatchStep& step = plan.front();
    const ClassId known = classes_[step.variable];
    const std::uint32_t symbol = pattern_.nodes[step.node].symbol;
    if (step.source == MatchStep::Source::nodes) {
      if (egraph_.may_have_node(known, symbol)) walk(plan, egraph_.nodes(known));
    } else {
      if (egraph_.may_have_parent(known, symbol)) walk(plan, egraph_.parents(known));
    }
  }

  /// The starting node must be new and those before it in the pattern old, so that each match is
  /// found from its first new node only.
  bool has_wanted_age(std::uint32_t node, ENodeId id) const {
    return node > start_ || (egraph_.stamp(id) > limits_.since) == (node == start_);
  }

  bool enter(const PatternNode& wanted, ENodeId id) {
    const auto children = egraph_.children(id);
    if (children.size() != wanted.operands.size()) return false;
    if (!bind(wanted.result, egraph_.find(id.founded()))) return false;
    for (std::size_t i = 0; i < children.size(); ++i)
      if (!bind(wanted.operands[i], children[i])) return false;
    return true;
  }

  bool bind(std::uint32_t variable, ClassId value) {
    if (value.is_none()) return false;
    ClassId& known = classes_[variable];
    if (!known.is_none()) return known == value;
    known = value;
    bound_.push_back(variable);
    return true;
  }

  void forget(std::size_t count) {
    for (; bound_.size() > count; bound_.pop_back()) classes_[bound_.back()] = ClassId::none();
  }

  void found() {
    stopped_ = matches_.size() >= limits_.matches;
    if (!stopped_) matches_.add(classes_);
  }

  const Graph& egraph_;
  const Pattern& pattern_;
  MatchLimits limits_;
  std::vector<ClassId> classes_;      // by variable; none if it is not known
  std::vector<std::uint32_t> bound_;  // the variables that are known, in order
  std::uint32_t start_ = 0;
  std::size_t steps_ = 0;
  bool stopped_ = false;
  Matches matches_;
};

}  // namespace lemma::engine
