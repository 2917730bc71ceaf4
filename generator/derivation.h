#pragma once
// Derivations of terms of the table from the rules found so far: one step with a rule at the top of
// a term, modulo equal classes below it. Equalities that follow in this way from smaller rules are
// not written.

#include <atomic>
#include <functional>

#include <tbb/spin_rw_mutex.h>

#include "generator/candidate.h"
#include "rule_language/substitution.h"

namespace lemma::generator {

inline constexpr auto no_rule = static_cast<std::size_t>(-1);

/// Several threads may ask while one adds.
class RuleMemory {
 public:
  explicit RuleMemory(const TermTable& table) : table_(table), by_operator_(count_outputs(table)) {}

  void add(Candidate candidate, Substitution rule);
  std::size_t size() const { return size_.load(); }
  /// The rule is not applied any more. Not while others ask.
  void drop(std::size_t rule) { dropped_[rule] = 1; }
  bool is_dropped(std::size_t rule) const { return dropped_[rule] != 0; }

  /// What is sought: nodes that are kept, or ones like them that are not.
  struct Sought {
    /// Operators that it may have on top, a bit each (those that agree modulo 64 have one).
    std::uint64_t operators = ~std::uint64_t{0};
    std::function<bool(const TermNode& equal, std::optional<TermNodeId> kept)> wanted;
    /// Called for what is wanted if the rule holds for the types at hand.
    std::function<void(const TermNode& equal, std::optional<TermNodeId> kept, std::size_t rule)>
        on_equal;
  };
  /// Applies the rules from the given one on at the top of the term. What is built below the top
  /// is of smaller cost than the term or the representative of its class, so that what is said to
  /// be equal rests on rules between smaller terms only.
  /// `left_out` is not applied.
  void apply(const TermNode& term, std::size_t first_rule, std::size_t left_out,
             const Sought& sought) const;
  /// Prepares the memory. To be called when classes were added; not while others ask.
  void prepare();
  /// Prepares it as another memory of the same table was.
  void prepare_like(const RuleMemory& other) { operators_ = other.operators_; }
  /// Operators of the members of a class, a bit each.
  std::uint64_t operators_of(ClassId id) const { return (*operators_)[id]; }

  /// Whether a rule with several outputs is known that turns these terms into the outputs of `node`.
  bool merges(const std::vector<TermNode>& terms, const std::vector<TermNode>& outputs,
              std::size_t left_out = no_rule) const;

 private:
  struct Direction {
    std::size_t rule = 0;
    bool forward = true;
    std::vector<std::uint32_t> needed;  // terms of the side to build
    std::uint64_t operators = 0;        // that this side may have on top
  };
  template <typename Visit>
  class Match;
  bool may_match(const Candidate& rule, const CandidateTerm& top, const TermNode& term) const;
  void apply(const Direction& direction, const TermNode& term, const Sought& sought) const;
  TermNode built(const CandidateTerm& part, const std::vector<ClassId>& classes) const;

  static std::size_t count_outputs(const TermTable& table) { return table.set().operators.size(); }
  bool is_below(TermNodeId id, std::size_t cost) const;
  bool is_typed(std::size_t rule, const std::vector<ClassId>& classes) const;

  const TermTable& table_;
  mutable tbb::spin_rw_mutex mutex_;
  std::atomic<std::size_t> size_ = 0;
  std::shared_ptr<const std::vector<std::uint64_t>> operators_;  // by class
  std::vector<Candidate> rules_;
  std::vector<char> dropped_;
  std::vector<Substitution> symbolic_;
  std::vector<std::vector<std::uint32_t>> set_inputs_;  // by rule, by input of the rule
  /// The directions by the operator on top of the side to match; in the order of the rules.
  std::vector<std::vector<Direction>> by_operator_;
};

}  // namespace lemma::generator
