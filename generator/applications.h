#pragma once
// Which operators are applied to which classes at a level, divided into pieces of work.

#include <array>
#include <functional>
#include <vector>

#include "generator/rank_share.h"
#include "generator/shared_pairs.h"
#include "generator/terms.h"

namespace lemma::generator {

/// Applications of one plan. Either all combinations of lists of classes, or a list of its own.
struct Piece {
  const Plan* plan = nullptr;
  std::array<const std::vector<ClassId>*, most_operands> lists = {};
  std::size_t begin = 0, end = 0;                // of the first list, or of `chosen`
  std::size_t second_begin = 0, second_end = 0;  // of the second list
  bool ordered = false;                          // commutative: only operands in ascending order
  const std::vector<Operands>* chosen = nullptr;

  template <typename Visit>
  void for_each(const Visit& visit) const {
    if (chosen != nullptr) {
      for (std::size_t i = begin; i < end; ++i) visit((*chosen)[i]);
      return;
    }
    if (lists[0] == nullptr) {
      visit(Operands{nothing, nothing, nothing});
      return;
    }
    for (std::size_t i = begin; i < end; ++i) visit_second((*lists[0])[i], visit);
  }

 private:
  template <typename Visit>
  void visit_second(ClassId a, const Visit& visit) const {
    if (lists[1] == nullptr) {
      visit(Operands{a, nothing, nothing});
      return;
    }
    for (std::size_t i = second_begin; i < second_end; ++i) {
      const ClassId b = (*lists[1])[i];
      if (ordered && b < a) continue;
      if (lists[2] == nullptr) {
        visit(Operands{a, b, nothing});
        continue;
      }
      for (const ClassId c : *lists[2]) visit(Operands{a, b, c});
    }
  }
};

/// All applications that make terms of one cost. Those whose operands need as many operators apart come first, then, by
/// operator, those of pairs of classes that share operators.
class Level {
 public:
  struct Options {
    int threads = 1;
    std::size_t piece_size = 16'384;  // applications, about
    /// The order of applications depends on the table alone. Without it, operands that many
    /// applications have are side by side, and pairs to which no third operand brings the first inputs are left out.
    bool in_order = true;
    std::size_t memory = 1'000'000'000;  // bytes of pairs, without the order
    /// Of the pieces, without the order: those of other ranks are left out.
    RankShare share;
  };
  /// Makes the plans that are needed, on several threads.
  static Result<Level> of(TermTable& table, std::size_t cost, const Options& options);

  /// All plans, in order of their first applications.
  const std::vector<const Plan*>& plans() const { return plans_; }
  /// About how many applications there are on all ranks, at most.
  double size() const;
  /// How often it applies an operator of a piece.
  static double size(const Piece& piece);

  /// Visits pieces side by side, once: visit(pieces, part of the whole that ends with them).
  using Visit = std::function<Result<void>(const std::vector<Piece>& pieces, double part)>;
  Result<void> for_each_batch(const TermTable& table, const Visit& visit);

 private:
  using ByType = std::vector<std::vector<ClassId>>;  // classes of one cost
  /// How many operators each operand of an application needs.
  using Costs = std::array<std::size_t, most_operands>;
  /// An operator applied to operands whose costs are given.
  struct Division {
    std::uint32_t op = 0;
    Costs costs = {};
    std::vector<TermTable::PlanKey> keys;
  };
  explicit Level(const Options& options) : options_(options) {}
  void list_classes(const TermTable& table, std::size_t cost);
  std::vector<Division> divisions(const TermTable& table, std::size_t cost) const;
  std::vector<TermTable::PlanKey> keys_of(const TermTable& table, std::uint32_t op,
                                          const Costs& costs) const;
  std::vector<TermTable::PlanKey> shared_keys(const TermTable& table) const;
  void note_shared(const TermTable& table);
  void add_plan(const Plan& plan, const Costs& costs, bool commutative);
  Result<void> visit_shared(const TermTable& table, const std::vector<ClassPair>& pairs,
                            double part, const Visit& visit);
  Result<void> visit_in_batches(const std::vector<Piece>& pieces, double first, double last,
                                const Visit& visit) const;

  Options options_;
  std::vector<std::unique_ptr<ByType>> by_cost_;
  std::vector<Piece> pieces_;
  std::optional<SharedPairs> shared_;
  std::vector<const Plan*> plans_;
  std::size_t piece_count_ = 0;  // of all ranks
  double size_ = 0;
};

}  // namespace lemma::generator
