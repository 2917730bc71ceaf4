#include "backend/emit/turned_block.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/emit/element_writer.h"
#include "backend/emit/source_types.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

constexpr std::int64_t side = 16;  // of a square that is transposed
constexpr std::int64_t least_step =
    16;  // elements between neighbours: several in one cache line are no loss

/// Types whose elements processors have instructions for, to mix those of two registers.
bool is_turned_in_registers(DataType type) {
  return type == DataType::f32 || (bits(type) % 8 == 0 && byte_size(type) <= 2);
}

/// Whether neighbours along the row axis lie side by side, and those along the last axis far apart.
bool is_turned(const LoweredOutput& nest, const Term& read, LoopVariable row, LoopVariable lane) {
  for (const Linear& index : read.indices)
    for (const auto& [atom, factor] : index.terms)
      if (atom >= lowering::first_term_atom) return false;
  for (std::size_t axis = 0; axis < read.indices.size(); ++axis)
    if (!nest.graph.is_inside(read, axis)) return false;
  const Linear address = nest.graph.address(read);
  return address.coefficient(row) == 1 && address.coefficient(lane) >= least_step;
}

std::vector<TermNumber> used_terms(const LoweredOutput& nest) {
  std::vector<bool> is_used(nest.graph.size(), false);
  is_used[nest.root] = true;
  std::vector<TermNumber> terms;
  for (TermNumber id = nest.root + 1; id-- > 0;) {
    if (!is_used[id]) continue;
    terms.push_back(id);
    for (const TermNumber operand : nest.graph.term(id).operands) is_used[operand] = true;
  }
  return terms;
}

/// Reads of the operands come from the transposed square.
class TurnedWriter : public ElementWriter {
 public:
  TurnedWriter(const LoweredOutput& nest, const TurnedBlock& block)
      : ElementWriter(nest, LongReductions::in_order), nest_(nest), block_(block) {}

  Result<source::Statements> write_all(const ElementStore& store) {
    move_elements(nest_.root);
    const LoopVariable row = nest_.axes[block_.row_axis], lane = nest_.axes[block_.lane_axis];
    for (const TermNumber id : block_.reads) LEMMA_RETURN_IF_ERROR(write_turn(id, row, lane));
    open_counter("row", row, block_.rows);
    // What a row shares is not read again for each element: the compiler does not know that it stays the same.
    for (const bool is_along_lanes : {false, true}) {
      if (is_along_lanes) open_counter("lane", lane, block_.lanes);
      for (const TermNumber id : plan_.regions[0].terms)
        if (((graph_.term(id).depends & lowering::set_of(lane)) != 0) == is_along_lanes)
          LEMMA_RETURN_IF_ERROR(write_term(id));
    }
    source_.add(store.of(term_name(nest_.root)));
    source_.close(2);
    return source_.take();
  }

 protected:
  Result<source::Expression> read_text(TermNumber id) const override {
    if (std::find(block_.reads.begin(), block_.reads.end(), id) == block_.reads.end())
      return ElementWriter::read_text(id);
    return {fmt::format("turned_{}[row * {} + lane]", term_name(id), side)};
  }

 private:
  void open_counter(const std::string& counter, LoopVariable variable, std::int64_t extent) {
    source_.open(source::counting_loop(counter, "0", fmt::format("{}", extent)));
    source::Declaration index =
        source::constant("std::int64_t", variable_name(variable),
                         fmt::format("start_{} + {}", variable_name(variable), counter));
    index.may_be_unused = true;
    source_.add(std::move(index));
  }

  Result<void> write_turn(TermNumber id, LoopVariable row, LoopVariable lane) {
    const Term& read = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(read.type, graph_.domain()));
    const Linear address = graph_.address(read);
    std::string start =
        linear_text(graph_, lowering::combine(lowering::combine(address, Linear::atom(row), -1),
                                              Linear::atom(lane), -address.coefficient(lane)));
    const std::string square = "turned_" + term_name(id);
    source_.add(source::Declaration{
        .type = type, .name = square, .extents = {fmt::format("{}", side * side)}});
    source_.add(source::Call{
        fmt::format("turn<{}, {}>", block_.rows, block_.lanes),
        {square,
         fmt::format("&{}[{} + start_{} + start_{} * {}LL]", input_name(read.input), start,
                     variable_name(row), variable_name(lane), address.coefficient(lane)),
         fmt::format("{}", address.coefficient(lane))}});
    return {};
  }

  const LoweredOutput& nest_;
  const TurnedBlock& block_;
};

}  // namespace

std::optional<TurnedBlock> find_turned_block(const LoweredOutput& nest,
                                             const std::vector<std::int64_t>& least_extents) {
  constexpr std::int64_t least_lanes = 8;
  if (nest.axes.size() < 2 || !is_turned_in_registers(nest.type) ||
      least_extents.back() < least_lanes)
    return std::nullopt;
  const std::vector<TermNumber> terms = used_terms(nest);
  for (const TermNumber id : terms)
    if (is_reduction(nest.graph.term(id).kind)) return std::nullopt;
  TurnedBlock block;
  block.lane_axis = nest.axes.size() - 1;
  block.rows = side;
  block.lanes = std::min(side, least_extents.back());
  for (block.row_axis = block.lane_axis; block.row_axis-- > 0;) {
    if (least_extents[block.row_axis] < side) continue;
    for (const TermNumber id : terms) {
      const Term& term = nest.graph.term(id);
      if (term.kind == Kind::read && term.type == nest.type &&
          is_turned(nest, term, nest.axes[block.row_axis], nest.axes[block.lane_axis]))
        block.reads.push_back(id);
    }
    if (block.reads.empty()) continue;
    const Term& read = nest.graph.term(block.reads.front());
    std::int64_t row_step = 1;
    for (std::size_t axis = block.row_axis + 1; axis < nest.axes.size(); ++axis)
      row_step *= nest.graph.extent(nest.axes[axis]);
    constexpr std::int64_t far = 16384;  // elements between rows that are written in many pages
    block.has_rows_inside = row_step >= far && nest.graph.address(read).coefficient(
                                                   nest.axes[block.lane_axis]) < row_step;
    return block;
  }
  return std::nullopt;
}

Result<source::Statements> emit_turned_block(const LoweredOutput& nest, const TurnedBlock& block,
                                             const ElementStore& store) {
  return TurnedWriter(nest, block).write_all(store);
}

}  // namespace lemma::backend
