#pragma once
// Writes the statements of a loop nest's body: for one element, or, by classes made of this one, for several.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "backend/emit/emit_element.h"
#include "lowering/regions.h"

namespace lemma::backend {

class ElementWriter {
 public:
  explicit ElementWriter(const lowering::LoweredOutput& output,
                         LongReductions reductions = LongReductions::partial_results);

  ElementWriter(const ElementWriter&) = delete;
  ElementWriter& operator=(const ElementWriter&) = delete;
  virtual ~ElementWriter() = default;

  Result<ElementSource> write(lowering::TermNumber root);
  /// How lanes take the terms of reductions, where they share them.
  void take_together(TermsOfLanes terms) { terms_of_lanes_ = std::move(terms); }

 protected:
  using TermNumber = lowering::TermNumber;
  using RegionId = lowering::RegionId;

  /// Elements of 16 bits that come to the root as they were read are not converted to f32 and back.
  void move_elements(TermNumber root);
  Result<void> write_region(RegionId region);
  Result<void> write_term(TermNumber id);
  /// The text that reads an element of an operand.
  virtual Result<source::Expression> read_text(TermNumber id) const;
  /// Whether a term is the same for all elements of a long row, in front of which it is computed.
  virtual bool is_same_for_row(TermNumber /*id*/) const { return false; }
  void open_loop(RegionId loop, const std::string& first = "0", const std::string& step = "1",
                 std::int64_t turns_at_once = 1);
  static Result<source::Expression> step_text(const lowering::Term& term, const std::string& total,
                                              const std::string& element);
  struct SummedProduct {
    TermNumber factors[2] = {};
    std::optional<TermNumber> condition = {};  // where it does not hold, nothing is added
  };
  /// The product that is rounded together with the sum. Every way to write a sum has to round its
  /// products alike: the cut into tasks decides which way it is.
  std::optional<SummedProduct> summed_product_of(const lowering::Term& reduction) const;
  /// Whether a term is computed of others: its operands, what its indices are made of, and what lies below it.
  bool uses_any(TermNumber id, const std::set<TermNumber>& others) const;
  /// Whether a value of f32 becomes one of f16, which is computed with in f32.
  bool is_rounded_to_f16(TermNumber id) const;
  /// The function of parts/vectors.h that computes a term for many lanes at once; empty if there is none.
  std::string function_of_lanes(TermNumber id) const;
  /// Whether the branches of a select, or both sides of an `and`, are computed whatever the condition is.
  bool is_chosen(TermNumber id) const;
  /// The total with one more element.
  Result<source::Expression> accumulation_text(const lowering::Term& reduction,
                                               const std::string& total) const;
  Result<std::string> neutral_text(const lowering::Term& term) const;
  /// Where a read is whose place has been computed and may be outside.
  struct GatheredPlace {
    std::string inside;       // a condition
    lowering::Linear place;   // where it holds; else 0
    lowering::Linear beside;  // is added
  };
  /// Nothing for other reads.
  std::optional<GatheredPlace> gathered_place(const lowering::Term& read) const;

  const lowering::TermGraph& graph_;
  lowering::Regions plan_;
  source::Builder source_;
  bool reads_are_inside_ = false;  // it is known where this is written

 private:
  bool finds_moved(TermNumber id, DataType type);
  bool has_other_uses(TermNumber id) const;
  Result<std::string> type_of(TermNumber id) const;
  /// A branch of a select, with the type of the select.
  std::string branch_text(TermNumber select, TermNumber branch) const;
  Result<void> write_branch(RegionId region, TermNumber target, TermNumber value);
  Result<source::Expression> value_of(TermNumber id) const;
  Result<void> write_select(TermNumber id, const std::string& type);
  Result<void> write_and(TermNumber id, const std::string& type);
  bool is_near(TermNumber id) const;
  bool is_gathered(const lowering::Term& read) const;
  /// Conditions that all indices are inside that may be outside; empty where none may.
  std::string condition_inside(const lowering::Term& read) const;
  bool is_read_in_32_bits(TermNumber id) const;
  bool divides_near(TermNumber id) const;
  bool divides_by_same(TermNumber id) const;
  TermNumber before_exact_cast(TermNumber cast) const;
  bool can_be_in_vain(RegionId region) const;
  Result<void> write_reduction(TermNumber id, const std::string& type);
  std::int64_t lanes_of(const lowering::Term& reduction, const std::vector<RegionId>& loops) const;
  bool has_terms_side_by_side(const std::vector<RegionId>& loops) const;
  /// Of a region and those below it that are no loops.
  bool all_terms_below(RegionId region, const std::function<bool(TermNumber)>& holds) const;
  Result<void> write_in_lanes(TermNumber id, const std::string& type, const std::string& neutral,
                              std::int64_t lanes);
  Result<void> write_lanes(TermNumber id, const std::string& first, const std::string& count);
  Result<void> write_lane_results(TermNumber id, const std::string& type, std::int64_t lanes);
  bool is_extreme_of_f32(const lowering::Term& reduction) const;
  void widen_reads_of_lanes(RegionId loop, const std::string& first, const std::string& count,
                            const std::string& at);
  Result<void> write_part_of_lanes(TermNumber id, std::span<const TermNumber> part,
                                   const std::set<TermNumber>& later, const std::string& first,
                                   const std::string& count);
  Result<void> take_term_of_lane(TermNumber id);
  Result<void> write_terms_of_lane(TermNumber id, const LaneTerms& terms);
  Result<void> read_terms_of_lane(TermNumber id, const LaneTerms& terms);
  source::Loop unrolled_loop(const std::string& variable, std::int64_t count) const;
  Result<void> write_lane_combination(TermNumber id, const lowering::Term& term);

  LongReductions reductions_;
  TermsOfLanes terms_of_lanes_;
  std::set<TermNumber> products_in_sums_;
  std::set<TermNumber> moved_;
  std::map<TermNumber, std::string> widened_;   // where reads of f16 are that have been converted
  std::map<TermNumber, std::string> of_lanes_;  // where values of lanes are that later loops need
};

}  // namespace lemma::backend
