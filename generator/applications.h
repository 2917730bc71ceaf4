#pragma once
// Which operators are applied to which classes at a level, divided into pieces of work.

#include <array>
#include <functional>
#include <vector>

#include "generator/terms.h"

namespace lemma::generator {

/// Applications of one plan. Either all combinations of lists of classes, or a list of its own.
struct Piece {
  const Plan* plan = nullptr;
  std::array<const std::vector<ClassId>*, most_operands> lists = {};
  std::size_t begin = 0, end = 0;  // of the first list, or of `chosen`
  bool ordered = false;            // commutative: only operands in ascending order
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
    for (const ClassId b : *lists[1]) {
      if (ordered && b < a) continue;
      if (lists[2] == nullptr) {
        visit(Operands{a, b, nothing});
        continue;
      }
      for (const ClassId c : *lists[2]) visit(Operands{a, b, c});
    }
  }
};

/// All applications that make terms of one cost, in an order that depends on the table alone.
class Level {
 public:
  /// Makes the plans that are needed, on several threads.
  static Result<Level> of(TermTable& table, std::size_t cost, int threads);

  const std::vector<Piece>& pieces() const { return pieces_; }
  std::size_t shared_pair_count() const { return shared_count_; }
  /// How many applications there are.
  double size() const;
  /// How often it applies an operator of a piece.
  static double size(const Piece& piece);

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
  void list_classes(const TermTable& table, std::size_t cost);
  std::vector<Division> divisions(const TermTable& table, std::size_t cost) const;
  std::vector<TermTable::PlanKey> keys_of(const TermTable& table, std::uint32_t op,
                                          const Costs& costs) const;
  struct SharedPairs;
  static std::vector<TermTable::PlanKey> shared_keys(const TermTable& table,
                                                     const SharedPairs& shared);
  void add_shared(const TermTable& table, const SharedPairs& shared, int threads);
  void add_plan(const Plan& plan, const Costs& costs, bool commutative);
  void add_chosen(const Plan& plan, std::vector<Operands> operands);

  std::vector<std::unique_ptr<ByType>> by_cost_;
  std::vector<std::unique_ptr<std::vector<Operands>>> chosen_;
  std::vector<Piece> pieces_;
  std::size_t shared_count_ = 0;
};

/// Pairs of classes, ascending, with members that are computed by `cost` operators together but
/// whose representatives need more.
std::vector<std::pair<ClassId, ClassId>> shared_pairs(const TermTable& table, std::size_t cost);

}  // namespace lemma::generator
