#include "backend_cuda/emit/nest_text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backend_cuda/emit/block_prefetch.h"
#include "backend_cuda/emit/case_text.h"
#include "backend_cuda/emit/element_writer.h"
#include "backend_cuda/emit/emit_block.h"
#include "backend_cuda/emit/guarded_row.h"
#include "backend_cuda/emit/source_types.h"
#include "backend_cuda/emit/turned_block.h"

namespace lemma::backend {

using lowering::LoopVariable;
using lowering::LoweredOutput;

std::vector<LoopBounds> all_of(const LoweredOutput& nest) {
  std::vector<LoopBounds> bounds;
  for (const lowering::LoopVariable axis : nest.axes) {
    const std::int64_t extent = nest.graph.extent(axis);
    bounds.push_back({"0", fmt::format("{}", extent), extent, extent});
  }
  return bounds;
}

namespace {

/// What an element reads is inside.
class InsideWriter : public ElementWriter {
 public:
  InsideWriter(const LoweredOutput& nest, int indent) : ElementWriter(nest, indent) {
    reads_are_inside_ = true;
  }
};

class NestWriter {
 public:
  NestWriter(const LoweredOutput& nest, const std::vector<LoopBounds>& bounds,
             std::string_view result, int indent)
      : nest_(nest), bounds_(bounds), result_(result), indent_(indent) {}

  Result<std::string> write_elements() {
    if (const auto row = find_guarded_row(nest_)) return write_rows(*row);
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis) open_loop(axis, "");
    LEMMA_ASSIGN_OR_RETURN(const ElementSource element, emit_element(nest_, indent_));
    LEMMA_RETURN_IF_ERROR(write_element(element));
    return closed();
  }

  /// All elements along the axes of the cases together.
  Result<std::string> write_cases(const Cases& cases) {
    constexpr std::int64_t most_lanes = 16;
    const LoopBounds& last = bounds_.back();
    const bool has_vectors = last.extent % most_lanes == 0 && last.least % most_lanes == 0 &&
                             can_be_vectors(nest_, cases);
    if (has_vectors)
      line(fmt::format("constexpr std::int64_t count = fitting({}, register_elements<float>);",
                       most_lanes));
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis)
      if (std::find(cases.axes.begin(), cases.axes.end(), axis) == cases.axes.end())
        open_loop(axis, "", has_vectors && axis + 1 == nest_.axes.size() ? "count" : "1");
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(nest_.type));
    const auto store = [&](const std::vector<std::int64_t>& indices, const std::string& value) {
      const std::string place = linear_text(nest_.graph, place_of_case(cases, indices));
      return has_vectors
                 ? fmt::format("store<count>(&{}[{}], {});", result_, place, value)
                 : fmt::format("{}[{}] = static_cast<{}>({});", result_, place, type, value);
    };
    LEMMA_ASSIGN_OR_RETURN(const std::string body,
                           has_vectors ? case_vector_text(nest_, cases, store, indent_)
                                       : case_text(nest_, cases, store, indent_));
    text_ += body;
    close_loops(nest_.axes.size() - cases.axes.size());
    return std::move(text_);
  }

  Result<std::string> write_turned(const TurnedBlock& block) {
    const auto rows = fmt::format("{}", block.rows), lanes = fmt::format("{}", block.lanes);
    for (std::size_t axis = 0; axis < nest_.axes.size(); ++axis)
      if (axis == block.lane_axis)
        open_loop(axis, lanes);
      else if (axis != block.row_axis)
        open_loop(axis, "");
      else if (!block.has_rows_inside)
        open_loop(axis, rows);
    if (block.has_rows_inside) open_loop(block.row_axis, rows);
    LEMMA_ASSIGN_OR_RETURN(const std::string store, store_text());
    LEMMA_ASSIGN_OR_RETURN(const std::string body, emit_turned_block(nest_, block, store, indent_));
    text_ += body;
    return closed();
  }

  Result<std::string> write_blocks(const ElementBlock& block) {
    LEMMA_ASSIGN_OR_RETURN(const std::string sizes, block_sizes_text(nest_, block));
    line(sizes);
    open_block_loops(block);
    LEMMA_ASSIGN_OR_RETURN(const std::string store, store_text());
    LEMMA_ASSIGN_OR_RETURN(const std::string body, emit_block(nest_, block, store, indent_));
    text_ += prefetch_text(nest_, block, result_, place_of_element(), indent_) + body;
    return closed();
  }

 private:
  void line(std::string_view part) {
    text_ += std::string(static_cast<std::size_t>(indent_), ' ') + std::string(part) + "\n";
  }

  Result<void> write_element(const ElementSource& element) {
    text_ += element.statements;
    LEMMA_ASSIGN_OR_RETURN(const std::string store, store_text());
    line(fmt::format(fmt::runtime(store), element.value));
    return {};
  }

  /// Each row in three parts: the guard holds for all of the second one.
  Result<std::string> write_rows(const GuardedRow& row) {
    for (std::size_t axis = 0; axis + 1 < nest_.axes.size(); ++axis) open_loop(axis, "");
    const LoopBounds& all = bounds_.back();
    write_bounds(row, all);
    LoweredOutput inside = nest_;
    inside.root = row.value;
    for (const auto& [first, end] : {std::pair<std::string, std::string>{all.first, "from"},
                                     {"from", "to"},
                                     {"to", all.end}}) {
      line(fmt::format("for (std::int64_t {0} = {1}; {0} < {2}; ++{0}) {{",
                       variable_name(nest_.axes.back()), first, end));
      indent_ += 2;
      LEMMA_ASSIGN_OR_RETURN(const ElementSource element,
                             end == "to" ? InsideWriter(inside, indent_).write(inside.root)
                                         : emit_element(nest_, indent_));
      LEMMA_RETURN_IF_ERROR(write_element(element));
      indent_ -= 2;
      line("}");
    }
    for (std::size_t axis = 0; axis + 1 < nest_.axes.size(); ++axis) {
      indent_ -= 2;
      line("}");
    }
    return std::move(text_);
  }

  /// `from` and `to`: where the bounds hold, or two times the same number.
  void write_bounds(const GuardedRow& row, const LoopBounds& all) {
    line(fmt::format("std::int64_t from = {}, to = {};", all.first, all.end));
    const LoopVariable last = nest_.axes.back();
    for (const RowBound& bound : row.bounds) {
      const std::int64_t factor = bound.form.coefficient(last);
      // The other side of a comparison with the last axis, in whole numbers.
      lowering::Linear rest = lowering::combine(bound.form, lowering::Linear::atom(last), -factor);
      if (factor == 0) {
        line(fmt::format("if ({} {} 0) to = {};", linear_text(nest_.graph, rest),
                         bound.is_strict ? ">=" : ">", all.first));
      } else if (factor < 0) {
        rest.constant += bound.is_strict ? 1 : 0;
        line(fmt::format("from = at_least(from, {});", linear_text(nest_.graph, rest)));
      } else {
        rest = lowering::scale(rest, -1);
        rest.constant += bound.is_strict ? 0 : 1;
        line(fmt::format("to = at_most(to, {});", linear_text(nest_.graph, rest)));
      }
    }
    line(fmt::format("from = at_most(from, {});", all.end));
    line("to = at_least(to, from);");
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
    const std::string variable = variable_name(nest_.axes[block.lane_axis]);
    const LoopBounds& all = bounds_[block.lane_axis];
    line(fmt::format("for (std::int64_t chunk_{0} = {1}; chunk_{0} < {2}; chunk_{0} += {3}) {{",
                     variable, all.first, all.end, block.chunk));
    indent_ += 2;
    ++extra_loops_;
    line(fmt::format("const std::int64_t end_{0} = chunk_{0} + {1} < {2} ? chunk_{0} + {1} : {2};",
                     variable, block.chunk, all.end));
    open_loop(block.row_axis, "rows");
    line(fmt::format(
        "for (std::int64_t block_{0} = chunk_{0}; block_{0} < end_{0}; block_{0} += lanes) {{",
        variable));
    indent_ += 2;
    line(fmt::format(
        "const std::int64_t start_{0} = block_{0} + lanes <= {1} ? block_{0} : {1} - lanes;",
        variable, all.end));
  }

  /// `step`: the name of a number, or empty for `plain_step` elements at a time, of which there is no last block.
  void open_loop(std::size_t axis, std::string_view step, std::string_view plain_step = "1") {
    const std::string variable = variable_name(nest_.axes[axis]);
    const std::string name = step.empty() ? variable : "block_" + variable;
    line(fmt::format("for (std::int64_t {0} = {1}; {0} < {2}; {3}) {{", name, bounds_[axis].first,
                     bounds_[axis].end,
                     !step.empty()       ? fmt::format("{} += {}", name, step)
                     : plain_step == "1" ? "++" + name
                                         : fmt::format("{} += {}", name, plain_step)));
    indent_ += 2;
    if (!step.empty())
      line(fmt::format("const std::int64_t start_{0} = {1} + {2} <= {3} ? {1} : {3} - {2};",
                       variable, name, step, bounds_[axis].end));
  }

  /// A statement for an element's value, "{}".
  Result<std::string> store_text() const {
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(nest_.type));
    return fmt::format("{}[{}] = static_cast<{}>({{}});", result_,
                       linear_text(nest_.graph, place_of_element()), type);
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

  void close_loops(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      indent_ -= 2;
      line("}");
    }
  }

  std::string closed() {
    close_loops(nest_.axes.size() + extra_loops_);
    return std::move(text_);
  }

  const LoweredOutput& nest_;
  const std::vector<LoopBounds>& bounds_;
  std::string_view result_;
  int indent_;
  std::size_t extra_loops_ = 0;  // beside one for each axis
  std::string text_;
};

bool goes_through_all(const Cases& cases, const std::vector<LoopBounds>& bounds) {
  return std::all_of(cases.axes.begin(), cases.axes.end(),
                     [&](std::size_t axis) { return bounds[axis].least == bounds[axis].extent; });
}

}  // namespace

Result<std::string> nest_text(const LoweredOutput& nest, const std::vector<LoopBounds>& bounds,
                              std::string_view result, int indent) {
  return NestWriter(nest, bounds, result, indent).write_elements();
}

Result<std::string> blocked_nest_text(const LoweredOutput& nest,
                                      const std::vector<LoopBounds>& bounds,
                                      std::string_view result, int indent) {
  std::vector<std::int64_t> least;
  for (const LoopBounds& each : bounds) least.push_back(each.least);
  NestWriter writer(nest, bounds, result, indent);
  if (const auto cases = find_cases(nest); cases && goes_through_all(*cases, bounds))
    return writer.write_cases(*cases);
  if (const auto turned = find_turned_block(nest, least)) return writer.write_turned(*turned);
  if (const auto block = find_block(nest, least)) return writer.write_blocks(*block);
  return writer.write_elements();
}

std::vector<bool> used_inputs(const LoweredOutput& nest) {
  std::vector<bool> is_used(nest.graph.inputs().size(), false);
  for (lowering::TermNumber id = 0; id < nest.graph.size(); ++id)
    if (nest.graph.term(id).kind == ExpressionKind::read) is_used[nest.graph.term(id).input] = true;
  return is_used;
}

}  // namespace lemma::backend
