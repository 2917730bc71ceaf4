#include "backend/emit/emit_nest.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/block_prefetch.h"
#include "backend/emit/element_writer.h"
#include "backend/emit/emit_algorithm.h"
#include "backend/emit/emit_block.h"
#include "backend/emit/emit_cases.h"
#include "backend/emit/guarded_row.h"
#include "backend/emit/source_types.h"
#include "backend/emit/turned_block.h"
#include "backend/nest_algorithm.h"
#include "lowering/merge_axes.h"

namespace lemma::backend {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::TermNumber;
using source::Statements;

std::vector<LoopBounds> all_of(const LoweredOutput& nest) {
  std::vector<LoopBounds> bounds;
  for (const lowering::LoopVariable axis : nest.axes) {
    const std::int64_t extent = nest.graph.extent(axis);
    bounds.push_back(
        {"0", fmt::format("{}", extent), extent, extent, std::max<std::int64_t>(1, extent)});
  }
  return bounds;
}

namespace {

/// A writer of single elements, whose reads may be known to be inside.
class SingleWriter : public ElementWriter {
 public:
  SingleWriter(const LoweredOutput& nest, bool reads_are_inside) : ElementWriter(nest) {
    move_elements(nest.root);
    reads_are_inside_ = reads_are_inside;
  }
};

/// Writes what is the same for all elements of a row in front of the loop over it.
class RowWriter : public ElementWriter {
 public:
  RowWriter(const LoweredOutput& nest, bool has_quotients)
      : ElementWriter(nest), nest_(nest), has_quotients_(has_quotients) {
    move_elements(nest.root);
  }

  Result<Statements> write_before() {
    if (nest_.axes.empty()) return Statements{};
    return write_terms([this](lowering::TermNumber id) { return !is_of_element(id); });
  }

  Result<ElementSource> write_rest() {
    LEMMA_ASSIGN_OR_RETURN(Statements statements, write_terms([this](lowering::TermNumber id) {
                             return nest_.axes.empty() || is_of_element(id);
                           }));
    return ElementSource{std::move(statements), term_name(nest_.root)};
  }

 private:
  bool is_same_for_row(lowering::TermNumber id) const override {
    return has_quotients_ && !is_of_element(id);
  }

  bool is_of_element(lowering::TermNumber id) const {
    return (graph_.term(id).depends & lowering::set_of(nest_.axes.back())) != 0;
  }

  template <typename Belongs>
  Result<Statements> write_terms(const Belongs& belongs) {
    for (const lowering::TermNumber id : plan_.regions[0].terms)
      if (belongs(id)) LEMMA_RETURN_IF_ERROR(write_term(id));
    return source_.take();
  }

  const LoweredOutput& nest_;
  bool has_quotients_;
};

class NestWriter {
 public:
  NestWriter(const LoweredOutput& nest, const std::vector<LoopBounds>& bounds,
             std::string_view result)
      : nest_(nest), bounds_(bounds), result_(result) {}

  /// `has_quotients`: as for emit_block.
  Result<Statements> write_elements(bool has_quotients = false) {
    if (const auto row = find_guarded_row(nest_)) return write_rows(*row);
    for (std::size_t axis = 0; axis + 1 < nest_.axes.size(); ++axis) open_loop(axis, "");
    RowWriter row(nest_, has_quotients);
    LEMMA_ASSIGN_OR_RETURN(Statements before, row.write_before());
    source_.add(std::move(before));
    if (!nest_.axes.empty()) open_loop(nest_.axes.size() - 1, "");
    LEMMA_ASSIGN_OR_RETURN(ElementSource element, row.write_rest());
    LEMMA_RETURN_IF_ERROR(write_element(std::move(element)));
    return closed();
  }

  /// All elements along the axes of the cases together.
  Result<Statements> write_cases(const Cases& cases) {
    constexpr std::int64_t most_lanes = 16;
    const LoopBounds& last = bounds_.back();
    const bool has_vectors = last.extent % most_lanes == 0 && last.least % most_lanes == 0 &&
                             can_be_vectors(nest_, cases);
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(nest_.type, nest_.graph.domain()));
    if (has_vectors)
      source_.add(source::compile_time_constant(
          "std::int64_t", "count",
          fmt::format("fitting({}, register_elements<{}>)", most_lanes, type)));
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis)
      if (std::find(cases.axes.begin(), cases.axes.end(), axis) == cases.axes.end())
        open_loop(axis, "", has_vectors && axis + 1 == nest_.axes.size() ? "count" : "1");
    const auto store = [&](const std::vector<std::int64_t>& indices,
                           const std::string& value) -> source::Statement {
      const std::string target =
          fmt::format("{}[{}]", result_, linear_text(nest_.graph, place_of_case(cases, indices)));
      if (has_vectors) return source::Call{"store<count>", {"&" + target, value}};
      return ElementStore{target, type}.of(value);
    };
    LEMMA_ASSIGN_OR_RETURN(Statements body, has_vectors ? emit_case_vectors(nest_, cases, store)
                                                        : emit_cases(nest_, cases, store));
    source_.add(std::move(body));
    return closed();
  }

  Result<Statements> write_turned(const TurnedBlock& block) {
    const auto rows = fmt::format("{}", block.rows), lanes = fmt::format("{}", block.lanes);
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis)
      if (axis == block.lane_axis)
        open_loop(axis, lanes);
      else if (axis != block.row_axis)
        open_loop(axis, "");
      else if (!block.has_rows_inside)
        open_loop(axis, rows);
    if (block.has_rows_inside) open_loop(block.row_axis, rows);
    LEMMA_ASSIGN_OR_RETURN(const ElementStore store, element_store());
    LEMMA_ASSIGN_OR_RETURN(Statements body, emit_turned_block(nest_, block, store));
    source_.add(std::move(body));
    return closed();
  }

  Result<Statements> write_blocks(const ElementBlock& block, bool has_quotients) {
    LEMMA_ASSIGN_OR_RETURN(Statements sizes, block_sizes(nest_, block));
    source_.add(std::move(sizes));
    open_block_loops(block);
    source_.add(emit_prefetch(nest_, block, result_, place_of_element()));
    LEMMA_ASSIGN_OR_RETURN(const ElementStore store, element_store());
    LEMMA_ASSIGN_OR_RETURN(Statements body, emit_block(nest_, block, store, has_quotients));
    source_.add(std::move(body));
    return closed();
  }

 private:
  Result<void> write_element(ElementSource element) {
    source_.add(std::move(element.statements));
    LEMMA_ASSIGN_OR_RETURN(const ElementStore store, element_store());
    source_.add(store.of(element.value));
    return {};
  }

  /// Each row in three parts: the guard holds for all of the second one.
  Result<Statements> write_rows(const GuardedRow& row) {
    for (std::size_t axis = 0; axis + 1 < nest_.axes.size(); ++axis) open_loop(axis, "");
    const LoopBounds& all = bounds_.back();
    write_bounds(row, all);
    LoweredOutput inside = nest_, outside = nest_;
    inside.root = row.value;
    outside.root = row.otherwise;
    for (const auto& [first, end] : {std::pair<std::string, std::string>{all.first, "from"},
                                     {"from", "to"},
                                     {"to", all.end}}) {
      const bool is_inside = end == "to";
      if (is_inside && is_copied(row.value)) {
        add_copy(row.value);
        continue;
      }
      source_.open(source::counting_loop(variable_name(nest_.axes.back()), first, end));
      const LoweredOutput& part = is_inside ? inside : outside;
      LEMMA_ASSIGN_OR_RETURN(ElementSource element, SingleWriter(part, is_inside).write(part.root));
      LEMMA_RETURN_IF_ERROR(write_element(std::move(element)));
      source_.close();
    }
    return closed();
  }

  /// Whether elements that lie side by side are moved as they are.
  bool is_copied(lowering::TermNumber id) const {
    const lowering::Term& read = nest_.graph.term(id);
    if (read.kind != ExpressionKind::read || read.type != nest_.type) return false;
    const lowering::InputView& input = nest_.graph.inputs()[read.input];
    if (input.type != nest_.type || input.as_lanes) return false;
    const lowering::Linear address = nest_.graph.address(read);
    return address.coefficient(nest_.axes.back()) == 1 &&
           std::all_of(address.terms.begin(), address.terms.end(),
                       [](const auto& term) { return term.first < lowering::first_term_atom; });
  }

  /// The elements from `from` to `to`.
  void add_copy(lowering::TermNumber id) {
    const lowering::Term& read = nest_.graph.term(id);
    source_.open(source::Block{});
    source_.add(source::constant("std::int64_t", variable_name(nest_.axes.back()), "from"));
    source_.add(
        source::Call{"copy_row",
                     {fmt::format("&{}[{}]", result_, linear_text(nest_.graph, place_of_element())),
                      fmt::format("&{}[{}]", input_name(read.input),
                                  linear_text(nest_.graph, nest_.graph.address(read))),
                      "to - from"}});
    source_.close();
  }

  /// `from` and `to`: where the bounds hold, or two times the same number.
  void write_bounds(const GuardedRow& row, const LoopBounds& all) {
    source_.add(source::Declaration{.type = "std::int64_t", .name = "from", .value = all.first});
    source_.add(source::Declaration{.type = "std::int64_t", .name = "to", .value = all.end});
    const auto assign = [this](const std::string& bound, std::string_view function,
                               const std::string& other) {
      source_.add(source::Assignment{bound, fmt::format("{}({}, {})", function, bound, other)});
    };
    const LoopVariable last = nest_.axes.back();
    for (const RowBound& bound : row.bounds) {
      const std::int64_t factor = bound.form.coefficient(last);
      // The other side of a comparison with the last axis, in whole numbers.
      lowering::Linear rest = lowering::combine(bound.form, lowering::Linear::atom(last), -factor);
      if (factor == 0) {
        source_.add(
            source::Assignment{.target = "to",
                               .value = all.first,
                               .condition = fmt::format("{} {} 0", linear_text(nest_.graph, rest),
                                                        bound.is_strict ? ">=" : ">")});
      } else if (factor < 0) {
        rest.constant += bound.is_strict ? 1 : 0;
        assign("from", "at_least", linear_text(nest_.graph, rest));
      } else {
        rest = lowering::scale(rest, -1);
        rest.constant += bound.is_strict ? 0 : 1;
        assign("to", "at_most", linear_text(nest_.graph, rest));
      }
    }
    assign("from", "at_most", all.end);
    assign("to", "at_least", "from");
  }

  void open_block_loops(const ElementBlock& block) {
    const bool is_moved = block.has_rows() && block.order != LoopOrder::rows_outside;
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis) {
      if (is_moved && (axis == block.row_axis || axis == block.lane_axis)) continue;
      open_loop(axis, axis == block.lane_axis                      ? "lanes"
                      : axis == block.row_axis && block.has_rows() ? "rows"
                                                                   : "");
    }
    if (!is_moved) return;
    if (block.order == LoopOrder::rows_inside) {
      open_loop(block.lane_axis, "lanes");
      open_loop(block.row_axis, "rows");
      return;
    }
    open_chunk_loops(block);
  }

  void open_chunk_loops(const ElementBlock& block) {
    const std::string variable = variable_name(nest_.axes[block.lane_axis]);
    const std::string chunk = "chunk_" + variable, chunk_end = "end_" + variable;
    const LoopBounds& all = bounds_[block.lane_axis];
    open(source::counting_loop(chunk, all.first, all.end, fmt::format("{}", block.chunk)));
    source_.add(source::constant(
        "std::int64_t", chunk_end,
        fmt::format("{0} + {1} < {2} ? {0} + {1} : {2}", chunk, block.chunk, all.end)));
    open_loop(block.row_axis, "rows");
    open(source::counting_loop("block_" + variable, chunk, chunk_end, "lanes"));
    declare_start(variable, "lanes", all.end);
  }

  /// `step`: the name of a number, or empty for `plain_step` elements at a time, of which there is no last block.
  void open_loop(std::size_t axis, const std::string& step, const std::string& plain_step = "1") {
    const std::string variable = variable_name(nest_.axes[axis]);
    const LoopBounds& all = bounds_[axis];
    if (step.empty()) {
      open(source::counting_loop(variable, all.first, all.end, plain_step));
      return;
    }
    open(source::counting_loop("block_" + variable, all.first, all.end, step));
    declare_start(variable, step, all.end);
  }

  /// Declares where the block begins, so that it ends inside.
  void declare_start(const std::string& variable, const std::string& step, const std::string& end) {
    source_.add(source::constant(
        "std::int64_t", "start_" + variable,
        fmt::format("{0} + {1} <= {2} ? {0} : {2} - {1}", "block_" + variable, step, end)));
  }

  Result<ElementStore> element_store() const {
    LEMMA_ASSIGN_OR_RETURN(std::string type, stored_type(nest_.type, nest_.graph.domain()));
    return ElementStore{
        fmt::format("{}[{}]", result_, linear_text(nest_.graph, place_of_element())),
        std::move(type)};
  }

  lowering::Linear place_of_case(const Cases& cases,
                                 const std::vector<std::int64_t>& indices) const {
    lowering::Linear place = place_of_element();
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const LoopVariable axis = nest_.axes[cases.axes[i]];
      const std::int64_t step = place.coefficient(axis);
      place = lowering::combine(place, lowering::Linear::atom(axis), -step);
      place.constant += step * indices[i];
    }
    return place;
  }

  lowering::Linear place_of_element() const {
    lowering::Linear place;
    for (const lowering::LoopVariable axis : nest_.axes)
      place = lowering::combine(lowering::scale(place, nest_.graph.extent(axis)),
                                lowering::Linear::atom(axis));
    return place;
  }

  void open(source::Loop loop) {
    source_.open(std::move(loop));
    ++open_loops_;
  }

  Statements closed() {
    source_.close(open_loops_);
    return source_.take();
  }

  const LoweredOutput& nest_;
  const std::vector<LoopBounds>& bounds_;
  std::string_view result_;
  std::size_t open_loops_ = 0;
  source::Builder source_;
};

/// Whether fast::quotient divides by what is the same for a row. The cut into tasks does not decide it, which may decide in
/// which form a nest is written: there is one that goes along rows, whatever the bounds are.
bool has_quotients_along_rows(const LoweredOutput& nest) {
  constexpr std::int64_t long_row = 16;
  if (nest.axes.empty() || nest.graph.extent(nest.axes.back()) < long_row) return false;
  std::vector<std::int64_t> extents;
  for (const LoopVariable axis : nest.axes) extents.push_back(nest.graph.extent(axis));
  if (find_cases(nest) || find_turned_block(nest, extents)) return false;
  for (TermNumber id = 0; id < nest.graph.size(); ++id)
    if (is_reduction(nest.graph.term(id).kind)) return false;
  return true;
}

bool goes_through_all(const Cases& cases, const std::vector<LoopBounds>& bounds) {
  return std::all_of(cases.axes.begin(), cases.axes.end(),
                     [&](std::size_t axis) { return bounds[axis].least == bounds[axis].extent; });
}

}  // namespace

Result<Statements> emit_nest(const LoweredOutput& nest, const std::vector<LoopBounds>& bounds,
                             std::string_view result) {
  return NestWriter(nest, bounds, result).write_elements();
}

Result<Statements> emit_blocked_nest(const LoweredOutput& given,
                                     const std::vector<LoopBounds>& bounds, std::string_view result,
                                     const LoopSchedule& schedule) {
  std::vector<std::int64_t> least;
  for (const LoopBounds& axis : bounds) least.push_back(axis.least);
  if (const auto algorithm = find_nest_algorithm(given))
    return emit_algorithm(given, *algorithm, bounds, result);
  LEMMA_ASSIGN_OR_RETURN(const LoweredOutput nest, lowering::merge_bound(given));
  NestWriter writer(nest, bounds, result);
  if (const auto cases = find_cases(nest); cases && goes_through_all(*cases, bounds))
    return writer.write_cases(*cases);
  if (auto turned = find_turned_block(nest, least)) {
    if (schedule.order) turned->has_rows_inside = schedule.order == LoopOrder::rows_inside;
    return writer.write_turned(*turned);
  }
  const bool has_quotients = has_quotients_along_rows(nest);
  if (const auto block = find_block(nest, least, schedule))
    return writer.write_blocks(*block, has_quotients);
  return writer.write_elements(has_quotients);
}

std::vector<bool> used_inputs(const LoweredOutput& nest) {
  std::vector<bool> is_used(nest.graph.inputs().size(), false);
  for (lowering::TermNumber id = 0; id < nest.graph.size(); ++id)
    if (nest.graph.term(id).kind == ExpressionKind::read) is_used[nest.graph.term(id).input] = true;
  return is_used;
}

}  // namespace lemma::backend
