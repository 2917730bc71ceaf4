#pragma once
// What the rules found so far say about terms of the table: one step with a rule at the top of a
// term, below which equal classes stand for each other. What follows in this way from smaller rules
// is not written again.

#include <functional>

#include "generator/candidate.h"
#include "ir/substitution.h"

namespace lemma::generator {

inline constexpr auto no_rule = static_cast<std::size_t>(-1);

class RuleMemory {
 public:
  explicit RuleMemory(const TermTable& table) : table_(table), by_operator_(count_outputs(table)) {}

  void add(Candidate candidate, Substitution rule);
  std::size_t size() const { return rules_.size(); }
  /// The rule is not applied any more.
  void drop(std::size_t rule) { dropped_[rule] = 1; }
  bool is_dropped(std::size_t rule) const { return dropped_[rule] != 0; }

  /// What a term is equal to: a node that is kept, or one like it that is not.
  using Found =
      std::function<void(const TermNode& equal, std::optional<TermNodeId> kept, std::size_t rule)>;
  /// Applies the rules from the given one on at the top of the term. What is built below the top
  /// is of smaller cost than the term or the representative of its class, so that what is said to
  /// be equal rests on rules between smaller terms only.
  /// `left_out` is not applied.
  void apply(const TermNode& term, std::size_t first_rule, std::size_t left_out,
             const Found& found) const;
  /// To be called when classes were added; then several threads may ask at once.
  void prepare();

  /// Whether a rule with several outputs is known that turns these terms into the outputs of `node`.
  bool merges(const std::vector<TermNode>& terms, const std::vector<TermNode>& outputs,
              std::size_t left_out = no_rule) const;

 private:
  struct Direction {
    std::size_t rule = 0;
    bool forward = true;
    std::vector<std::uint32_t> needed;  // terms of the side to build
  };
  template <typename Visit>
  class Match;
  bool may_match(const Candidate& rule, const CandidateTerm& top, const TermNode& term) const;

  static std::size_t count_outputs(const TermTable& table) { return table.set().operators.size(); }
  bool is_below(TermNodeId id, std::size_t cost) const;
  bool is_typed(std::size_t rule, const std::vector<ClassId>& classes) const;

  const TermTable& table_;
  /// Operators of the members of a class, a bit each (those that agree modulo 64 have one).
  std::vector<std::uint64_t> operators_;
  std::vector<Candidate> rules_;
  std::vector<char> dropped_;
  std::vector<Substitution> symbolic_;
  std::vector<std::vector<std::uint32_t>> set_inputs_;  // by rule, by input of the rule
  std::vector<std::vector<Direction>> by_operator_;     // of the top of the side to match
};

}  // namespace lemma::generator
