#pragma once
// Finding where a rule applies, and what it says there.
//
// A search is divided into tasks that only read and may run at the same time; what they find does
// not depend on how many do. Whether nodes can stand for a pattern, and what follows from it for the
// right side, depends on their forms alone, and is learnt once for each combination of forms. A task
// uses what was learnt before the search; combinations that it meets for the first time are learnt
// afterwards, one by one, because that may add types and attributes to the e-graph.

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include "egraph/egraph.h"
#include "egraph/operator_index.h"
#include "egraph/pattern.h"

namespace lemma {

/// Places where a rule applies, each as often as there are values for its free parameters. One after the other: the classes of the rule's inputs, those of the
/// outputs of its left side, and the number of the bound rule.
class MatchList {
 public:
  void start(std::size_t class_count) { stride_ = class_count + 1; }
  bool empty() const { return data_.empty(); }
  std::size_t size() const { return data_.size() / stride_; }
  std::span<const ClassId> classes(std::size_t i) const {
    return std::span(data_).subspan(i * stride_, stride_ - 1);
  }
  std::uint32_t bound(std::size_t i) const { return data_[(i + 1) * stride_ - 1].v; }
  void add(ClassId id) { data_.push_back(id); }
  void end(std::uint32_t bound) { data_.push_back({bound}); }
  void append(const MatchList& other) {
    data_.insert(data_.end(), other.data_.begin(), other.data_.end());
  }
  /// Keeps these, in this order.
  void select(std::span<const std::size_t> which) {
    std::vector<ClassId> kept;
    for (const std::size_t i : which)
      kept.insert(kept.end(), data_.begin() + static_cast<std::ptrdiff_t>(i * stride_),
                  data_.begin() + static_cast<std::ptrdiff_t>((i + 1) * stride_));
    data_ = std::move(kept);
  }
  void clear() { std::vector<ClassId>().swap(data_); }

 private:
  std::size_t stride_ = 1;
  std::vector<ClassId> data_;
};

/// A node of the right side. Slots number the classes of a match, then the nodes in order.
struct BuildStep {
  static constexpr std::uint32_t absent_slot = 0xffffffffU;
  FormId form;
  absl::InlinedVector<std::uint32_t, 4> operands;  // slots
  std::uint32_t home = absent_slot;                // of the output that it is equal to
};

/// What follows from the forms of the nodes that the left side has found.
struct BoundRule {
  RuleBindings bindings;
  std::vector<BuildStep> steps;
  std::vector<std::uint32_t> right;  // slots
  bool well_typed = false;           // the right side, with the types of the left
  /// How many others for the same forms, with other values of free parameters, follow the first of them.
  std::uint32_t others = 0;
};

/// A part of a search: matches whose first new node, in the order of the pattern, stands for pattern
/// node `start` and is among these of the e-graph's list of such nodes.
struct SearchTask {
  std::uint32_t start = 0;
  std::size_t begin = 0, end = 0;
};

struct SearchLimits {
  std::uint32_t since = 0;  // new: changed after this time
  std::size_t matches = 0;
  std::function<bool()> interrupted;     // asked now and then, by several tasks at once
  const OperatorIndex* index = nullptr;  // of the e-graph as it is; makes the search faster
};

/// What a task has found.
struct FoundMatches {
  MatchList matches;
  /// Matches with a combination of forms not seen before: the forms of the pattern's nodes, then the
  /// classes as in MatchList, one match after the other.
  std::vector<std::uint32_t> unknown;
  bool overflow = false;  // ended because there were too many of these
  std::size_t rejected = 0;
  bool complete = true;  // neither interrupted nor ended by the limit
  double seconds = 0;
};

/// Finds matches of one rule; keeps what it has learnt about forms.
class RuleMatcher {
 public:
  /// Matches at which the rule is no equation are left out, unless `refinements` is set.
  explicit RuleMatcher(const CompiledRule& rule, bool refinements = false);

  /// False if the e-graph lacks an operator that the rule names, as most graphs do of most rules: it has no match then.
  static bool can_match(const EGraph& egraph, const CompiledRule& rule);

  /// Learns what forms were added, and divides the search. Tasks of a rule whose outputs share
  /// nothing must run one by one: see concurrent().
  std::vector<SearchTask> prepare(const EGraph& egraph);
  bool concurrent() const { return concurrent_; }

  /// Matches with a node that is new, but not those whose right side is there already, equal to the
  /// left. The e-graph is changed only if the rule is not concurrent.
  FoundMatches search(EGraph& egraph, const SearchTask& task, const SearchLimits& limits);

  /// True if a task has met so many new combinations that it ended early. They are learnt now; the
  /// search must be done again.
  bool must_repeat(EGraph& egraph, std::span<const FoundMatches> parts);

  /// Puts together what the tasks have found, in their order; false if there is more than that.
  bool collect(EGraph& egraph, std::span<FoundMatches> parts, std::size_t limit,
               MatchList& matches);

  /// All of the above for one search, task by task.
  bool find(EGraph& egraph, const SearchLimits& limits, MatchList& matches);

  /// The right side at a match: its outputs' classes. New nodes that are outputs are added to the
  /// class of the left side. False if the right side is not well typed there.
  bool instantiate(EGraph& egraph, std::span<const ClassId> match, std::uint32_t bound,
                   std::vector<ClassId>& right) const;

  /// Fetches where instantiate() will look first; of use a few matches ahead of it.
  void prefetch(const EGraph& egraph, std::span<const ClassId> match, std::uint32_t bound) const;

  const CompiledRule& rule() const { return *rule_; }
  bool wants_refinements() const { return refinements_; }
  const BoundRule& bound(std::uint32_t i) const { return *bound_[i]; }
  /// Combinations of forms that fitted one by one, but not together.
  std::size_t rejected() const { return rejected_; }

 private:
  class Search;
  class NewnessFilter;
  static constexpr std::uint32_t unbound = 0xffffffffU;  // does not fit
  static constexpr std::uint32_t unknown = 0xfffffffeU;  // not tried yet
  using Key = absl::InlinedVector<std::uint32_t, 8>;     // forms, by pattern node

  std::size_t class_count() const {
    return rule_->input_variables.size() + rule_->left_variables.size();
  }
  bool fits(const EGraph& egraph, std::size_t pattern_node, FormId form);
  bool shape_fits(const EGraph& egraph, std::uint32_t input, TypeId type);
  bool attributes_fit(const EGraph& egraph, std::size_t pattern_node, const ENode& node);
  /// The last of the bound rules for the same forms.
  std::uint32_t last_way(std::uint32_t bound) const {
    return rule_->takes_free_values ? bound + bound_[bound]->others : bound;
  }
  std::uint32_t known_bound(const Key& key) const {
    const auto entry = bound_by_forms_.find(key);
    return entry == bound_by_forms_.end() ? unknown : entry->second;
  }
  std::uint32_t bind(EGraph& egraph, const Key& key);
  std::vector<std::unique_ptr<BoundRule>> try_bind(EGraph& egraph, const Key& key) const;
  std::vector<RuleBindings> bindings_of(std::span<const TensorType* const> inputs,
                                        std::span<const MatchedNode> matched) const;
  void plan_right_side(EGraph& egraph, const std::vector<TypeId>& variable_types,
                       std::vector<Attributes>& attributes, BoundRule& bound) const;

  const CompiledRule* rule_;
  bool refinements_ = false;
  bool concurrent_ = true;
  std::size_t forms_seen_ = 0;
  std::vector<std::vector<char>> fits_;  // by pattern node and form
  /// What was asked before: many forms have the same types and attributes.
  enum class Known : std::uint8_t { nothing, fits, differs };
  std::vector<std::vector<Known>> shapes_;      // by input and type
  std::vector<std::vector<Known>> attributes_;  // by pattern node and attributes
  std::vector<std::unique_ptr<BoundRule>> bound_;
  absl::flat_hash_map<Key, std::uint32_t> bound_by_forms_;
  std::size_t rejected_ = 0;
};

}  // namespace lemma
