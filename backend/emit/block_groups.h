#pragma once
// The statements of a block of elements, in groups: each group is loops over the lanes, and over the rows, around statements for one
// element. Values that one group computes and another one reads are held in arrays between them.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backend/emit/element_writer.h"
#include "backend/emit/emit_block.h"

namespace lemma::backend {

class BlockGroups : public ElementWriter {
 public:
  BlockGroups(const lowering::LoweredOutput& nest, const ElementBlock& block);

 protected:
  using LoopVariable = lowering::LoopVariable;
  using Statements = source::Statements;
  using Term = lowering::Term;

  /// Loops over the lanes of a block, around statements for one element. Values that other groups compute are held in
  /// arrays.
  struct Group {
    struct Step {
      Statements statements;
      Statements unguarded =
          {};  // of a select whose condition holds for all of the block; or empty
      std::optional<TermNumber> term = {};  // that it computes
    };
    bool goes_along_rows = false;  // of a block with channel lanes: the loop over rows is inside
    bool is_of_lanes = false;      // the same for all rows: there is no loop over them
    std::vector<Step> steps;
    std::set<TermNumber> defined, used;
  };

  bool is_in_lanes(TermNumber id) const { return (graph_.term(id).depends & variables_) != 0; }
  /// Keeps a value of all lanes in its array, behind what has been written so far.
  void hold(TermNumber id);
  /// Whether real numbers become integers of 8 bits last, which have a loop of their own: compilers make vectors of as many
  /// elements as the smallest type of a loop has in a register, or of so few of the larger types as there are lanes.
  bool is_narrowed_last() const;
  bool depends_on_row(lowering::VariableSet depends) const;
  bool depends_on_row(TermNumber id) const { return depends_on_row(graph_.term(id).depends); }
  bool depends_on_row(const lowering::Linear& form) const;
  std::string rows_text() const { return block_.has_rows() ? "rows" : "1"; }
  /// The one that is open: statements of other kinds come before it or after it.
  Group& group();
  void close_group() { is_open_ = false; }
  void add_to_group(source::Statement statement);
  /// The statements that compute a term for one element, with all that lies below it.
  Result<void> add_to_group(TermNumber id);
  static bool has_linear_indices(const Term& read);
  void use(TermNumber id);
  void use(const lowering::Linear& form);
  /// Where the value of the element at `row` and `lane` is.
  std::string held(TermNumber id) const;
  source::Declaration declaration_of_held(TermNumber id, const std::string& type) const;
  void declare_before_group(TermNumber id) { declared_[groups_.size() - 1].push_back(id); }
  /// Each group in its place, now that it is known which values others need.
  Result<Statements> with_groups();
  /// The index along an axis of the block: the first one, and further by a counter, or by none.
  source::Declaration index_declaration(std::size_t axis, const std::string& counter) const;

  const lowering::LoweredOutput& nest_;
  const ElementBlock& block_;
  lowering::VariableSet variables_;           // of the lanes and the rows
  std::set<TermNumber> held_;                 // reductions
  std::map<TermNumber, std::string> places_;  // types of the places of reads, by read

 private:
  /// The type of a value that other groups read.
  Result<std::string> held_type(TermNumber id) const;
  /// What is written, in place of going to the end of the source.
  template <typename Write>
  Result<Statements> captured(const Write& write) {
    source::Builder outside = std::exchange(source_, {});
    const auto done = write();
    source::Builder inside = std::exchange(source_, std::move(outside));
    if (!done) return tl::unexpected(done.error());
    return inside.take();
  }
  /// A select whose condition holds, and whose reads are inside their tensors.
  Result<void> write_unguarded(TermNumber id);
  template <typename Visit>
  void visit_reads(RegionId region, const Visit& visit) const {
    for (const TermNumber id : plan_.regions[region].terms) {
      if (graph_.term(id).kind == ExpressionKind::read) visit(graph_.term(id));
      for (const RegionId below : plan_.below[id]) visit_reads(below, visit);
    }
  }
  bool has_linear_reads(RegionId region) const;
  /// Whether it holds for a whole block if it holds at the block's corners, and is computed in the group.
  bool is_decided_at_corners(TermNumber id, const Group& at) const;
  /// Finds those terms that compute the condition, with what it is made of.
  void find_conditions(TermNumber id, std::set<TermNumber>& conditions) const;
  void collect(TermNumber id);
  /// Comparisons of index arithmetic use what its forms are made of.
  void use_with_forms(TermNumber id);
  /// Whether a value is the same for all rows, in a group of its own.
  bool is_of_lanes(TermNumber id) const;
  Result<Statements> statements_of(std::size_t number);
  /// Loops over the block with the steps of a group, without guards that hold for all of the block, or as they are.
  Result<source::Statement> loops_over(std::size_t number, bool is_unguarded);
  Result<std::string> value_type(TermNumber id) const;
  source::Statement over_elements(const Group& group, const std::string& row_step,
                                  const std::string& lane_step, Statements statements) const;
  /// A loop with the step in the same words, whatever it is.
  static source::Loop long_loop(const std::string& counter, const std::string& end,
                                const std::string& step);
  /// Conditions for that the guards of the group hold for all of the block, and what they guard is read inside.
  /// All are bounds of linear forms, so that the corners of the block decide. None where that is not so, or there
  /// is no guard.
  std::vector<std::string> demands_of_guards(const Group& group) const;
  /// Declares `is_whole`: the demands are met at the corners of the block.
  Statements whole_block(const Group& group, const std::vector<std::string>& demands) const;
  bool is_held_somewhere(TermNumber id) const;

  std::vector<Group> groups_;
  bool is_open_ = false;
  std::set<std::pair<std::size_t, TermNumber>> needed_;      // by other groups
  std::map<std::size_t, std::vector<TermNumber>> declared_;  // before a group
};

}  // namespace lemma::backend
