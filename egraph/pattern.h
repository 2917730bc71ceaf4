#pragma once
// Rules made ready for matching, and finding where they apply.
//
// A left side is a conjunction over e-nodes: one for each operation of the pattern, joined by the
// classes they share. A match is found by starting at some node and walking to the others: down
// into a class that is known, up through the parents of one, or, if nothing is shared, over all
// nodes of an operator. So several outputs are joined through what they share instead of pairing
// all matches of one with all of the other.
//
// Only what is new is looked for: a match is new if one of its nodes has changed since the rule's
// last run. For each pattern node there is a plan that starts at the changed nodes; nodes before it
// in the pattern must then be unchanged, so that no match is found twice.

#include <functional>
#include <memory>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include "egraph/egraph.h"
#include "ir/substitution.h"

namespace lemma {

struct PatternNode {
  ENodeKind kind = ENodeKind::operation;  // or projection
  OperatorId op;
  std::uint32_t output = 0;  // projection
  std::uint32_t output_count = 1;
  TermId term;                          // whose attributes are meant (operation)
  std::uint32_t result = 0;             // variable of the class that the node is in
  std::vector<std::uint32_t> operands;  // variables; absent_operand for none
  static constexpr std::uint32_t absent_operand = 0xffffffffU;
};

/// Finding a node for one pattern node, once those of earlier steps are there.
struct MatchStep {
  std::uint32_t node = 0;  // in CompiledRule::nodes
  /// Classes known by then in which it must be: among the nodes of one, or the parents of one. The
  /// shortest list is walked; all nodes of the operator if there is none.
  struct Source {
    bool down = false;
    std::uint32_t variable = 0;
  };
  std::vector<Source> sources;
  /// What its class and its children say about variables, in this order.
  struct Place {
    static constexpr std::uint32_t result = 0xffffffffU;
    std::uint32_t operand = result;
    std::uint32_t variable = 0;
    bool known = false;  // compare; else bind
  };
  std::vector<Place> places;
  // What can be asked once these are known.
  std::vector<std::uint32_t> weights;  // must be weight-only
  std::vector<std::pair<std::uint32_t, std::uint32_t>>
      distinct;          // outputs not to be merged with themselves
  bool ordered = false;  // symmetric outputs
};

struct CompiledRule {
  Substitution rule;
  std::vector<PatternNode> nodes;
  std::uint32_t variable_count = 0;
  std::vector<std::uint32_t> input_variables;   // by input of the rule
  std::vector<std::uint32_t> left_variables;    // by output of the left side
  std::vector<std::uint32_t> variable_of_term;  // of terms of the left side
  std::vector<std::vector<MatchStep>> plans;    // by pattern node to start from
  bool backward = false;                        // read from right to left
  /// Two outputs that can be exchanged without changing the claim: only one order is matched.
  bool symmetric = false;
};

/// Errors: a left side that is a bare input would match everything.
Result<CompiledRule> compile_rule(const Substitution& rule);
/// Which terms the roots are computed from, by number.
std::vector<char> needed_terms(const Substitution& rule, std::span<const TermId> roots);
/// Both directions of rules with `=`, in order; errors name the rule.
Result<std::vector<CompiledRule>> compile_rules(std::span<const Substitution> rules);

/// Places where a rule applies. One after the other: the classes of the rule's inputs, those of the
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
  void clear() { data_.clear(); }

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
};

/// Finds matches of one rule; keeps what it has learnt about forms.
class RuleMatcher {
 public:
  explicit RuleMatcher(const CompiledRule& rule)
      : rule_(&rule), fits_(rule.nodes.size()), last_key_(rule.nodes.size()) {}

  /// Appends matches with a node that has changed after time `since`, but not those whose right side
  /// is there already, equal to the left. Stops when there are `limit`
  /// of them, or when `interrupted` says so (asked now and then); false in these cases.
  bool search(EGraph& egraph, std::uint32_t since, std::size_t limit,
              const std::function<bool()>& interrupted, MatchList& matches);

  /// The right side at a match: its outputs' classes. New nodes that are outputs are added to the
  /// class of the left side. False if the right side is not well typed there.
  bool instantiate(EGraph& egraph, std::span<const ClassId> match, std::uint32_t bound,
                   std::vector<ClassId>& right) const;

  /// Fetches where instantiate() will look first; of use a few matches ahead of it.
  void prefetch(const EGraph& egraph, std::span<const ClassId> match, std::uint32_t bound) const;

  const CompiledRule& rule() const { return *rule_; }
  const BoundRule& bound(std::uint32_t i) const { return *bound_[i]; }
  /// Combinations of forms that fitted one by one, but not together.
  std::size_t rejected() const { return rejected_; }

 private:
  class Search;
  static constexpr std::uint32_t unbound = 0xffffffffU;
  enum class Fit : std::uint8_t { unknown, no, yes };
  using Key = absl::InlinedVector<std::uint32_t, 8>;

  bool fits(const EGraph& egraph, std::uint32_t pattern, ENodeId id) {
    std::vector<Fit>& known = fits_[pattern];
    const std::uint32_t form = egraph.node(id).form.v;
    if (form >= known.size()) known.resize(egraph.form_count(), Fit::unknown);
    if (known[form] == Fit::unknown)
      known[form] = find_out_fit(egraph, rule_->nodes[pattern], id) ? Fit::yes : Fit::no;
    return known[form] == Fit::yes;
  }
  bool find_out_fit(const EGraph& egraph, const PatternNode& pattern, ENodeId id) const;
  std::uint32_t bind(EGraph& egraph, std::span<const ENodeId> nodes);
  std::unique_ptr<BoundRule> try_bind(EGraph& egraph, std::span<const ENodeId> nodes) const;
  void plan_right_side(EGraph& egraph, const std::vector<TypeId>& variable_types,
                       std::vector<Attributes>& attributes, BoundRule& bound) const;

  const CompiledRule* rule_;
  std::vector<std::vector<Fit>> fits_;  // by pattern node and form
  std::vector<std::unique_ptr<BoundRule>> bound_;
  absl::flat_hash_map<Key, std::uint32_t> bound_by_forms_;
  Key last_key_;
  std::uint32_t last_bound_ = unbound;
  std::size_t rejected_ = 0;
};

}  // namespace lemma
