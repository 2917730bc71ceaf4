#include "backend_cuda/emit/emit_element.h"

#include "backend_cuda/emit/element_writer.h"
#include "backend_cuda/emit/source_types.h"

namespace lemma::backend {

namespace {

using namespace lowering;  // NOLINT: its words are those of this file
using Kind = ExpressionKind;

std::int64_t count_of(const Sizes& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

bool deals_out(const LoweredOutput& output, LongReductions reductions) {
  if (reductions != LongReductions::partial_results)
    return reductions == LongReductions::across_lanes;
  return reduces_along_lanes(output.graph, count_of(output.sizes));
}

}  // namespace

ElementWriter::ElementWriter(const LoweredOutput& output, int indent, LongReductions reductions)
    : graph_(output.graph),
      plan_(plan_regions(graph_, output.root, deals_out(output, reductions))),
      indent_(indent),
      reductions_(reductions) {
  for (TermNumber id = 0; id < graph_.size(); ++id)
    if (is_reduction(graph_.term(id).kind) && sums_products(graph_.term(id)))
      products_in_sums_.insert(graph_.term(id).operands[0]);
}

Result<ElementSource> ElementWriter::write(TermNumber root) {
  LEMMA_RETURN_IF_ERROR(write_region(0));
  return ElementSource{std::move(source_), term_name(root)};
}

Result<void> ElementWriter::write_region(RegionId region) {
  for (const TermNumber id : plan_.regions[region].terms) LEMMA_RETURN_IF_ERROR(write_term(id));
  return {};
}

Result<void> ElementWriter::write_block(RegionId region, TermNumber target, TermNumber value) {
  indent_ += 2;
  LEMMA_RETURN_IF_ERROR(write_region(region));
  line("{} = {};", term_name(target), term_name(value));
  indent_ -= 2;
  return {};
}

Result<void> ElementWriter::write_term(TermNumber id) {
  const Term& term = graph_.term(id);
  LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
  if (term.kind == Kind::select) return write_select(id, type);
  if (term.kind == Kind::logical_and) return write_and(id, type);
  if (is_reduction(term.kind)) return write_reduction(id, type);
  LEMMA_ASSIGN_OR_RETURN(const std::string value, value_of(id));
  line("{}const {} {} = {};", products_in_sums_.contains(id) ? "[[maybe_unused]] " : "", type,
       term_name(id), value);
  return {};
}

Result<std::string> ElementWriter::value_of(TermNumber id) const {
  const Term& term = graph_.term(id);
  const auto operand = [&](std::size_t i) { return term_name(term.operands[i]); };
  switch (term.kind) {
    case Kind::integer_constant:
    case Kind::real_constant: return constant_text(term.bits, term.lanes);
    case Kind::index: return linear_text(graph_, term.linear);
    case Kind::read: return read_text(id);
    case Kind::logical_not: return fmt::format("Equal::apply({}, std::uint8_t{{0}})", operand(0));
    default: break;
  }
  if (term.divisor != 0)
    return binary_text(Kind::floor_divide, LaneKind::integer, false,
                       fmt::format("std::int64_t{{{}}}", linear_text(graph_, term.linear)),
                       fmt::format("std::int64_t{{{}}}", term.divisor));
  if (compares_linear(graph_, term))
    return binary_text(
        term.kind, LaneKind::integer, false,
        fmt::format("std::int64_t{{{}}}", linear_text(graph_, difference(graph_, term))),
        "std::int64_t{0}");
  const Term& first = graph_.term(term.operands[0]);
  if (term.kind == Kind::cast) return cast_text(first.type, term.type, operand(0));
  const bool unsigned64 = first.type == DataType::u64;
  if (term.operands.size() == 1)
    return function_text(term.function, first.lanes, unsigned64, operand(0));
  return binary_text(term.kind, first.lanes, unsigned64, operand(0), operand(1));
}

/// Reads that may lie outside are behind a guard, but may have been moved in front of it.
Result<std::string> ElementWriter::read_text(TermNumber id) const {
  const Term& term = graph_.term(id);
  LEMMA_RETURN_IF_ERROR(stored_type(term.type));
  LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
  const std::string element = fmt::format("static_cast<{}>({}[{}])", type, input_name(term.input),
                                          linear_text(graph_, graph_.address(term)));
  std::string inside;
  for (std::size_t axis = 0; axis < term.indices.size(); ++axis)
    if (!reads_are_inside_ && !graph_.is_inside(term, axis))
      inside += fmt::format("{}is_inside({}, {})", inside.empty() ? "" : " && ",
                            linear_text(graph_, term.indices[axis]),
                            graph_.inputs()[term.input].sizes[axis]);
  if (inside.empty()) return element;
  return fmt::format("{} ? {} : {}{{0}}", inside, element, type);
}

Result<void> ElementWriter::write_select(TermNumber id, const std::string& type) {
  const Term& term = graph_.term(id);
  line("{} {};", type, term_name(id));
  line("if ({} != 0) {{", term_name(term.operands[0]));
  LEMMA_RETURN_IF_ERROR(write_block(plan_.below[id][0], id, term.operands[1]));
  line("}} else {{");
  LEMMA_RETURN_IF_ERROR(write_block(plan_.below[id][1], id, term.operands[2]));
  line("}}");
  return {};
}

Result<void> ElementWriter::write_and(TermNumber id, const std::string& type) {
  const Term& term = graph_.term(id);
  line("{} {} = 0;", type, term_name(id));
  line("if ({} != 0) {{", term_name(term.operands[0]));
  LEMMA_RETURN_IF_ERROR(write_block(plan_.below[id][0], id, term.operands[1]));
  line("}}");
  return {};
}

/// In the order of its variables, the last one fastest; along lanes, that one is dealt out to partial
/// results, as the interpreter does it.
Result<void> ElementWriter::write_reduction(TermNumber id, const std::string& type) {
  const Term& term = graph_.term(id);
  const std::vector<RegionId>& loops = plan_.below[id];
  const bool is_across_lanes =
      plan_.regions[loops.back()].along_lanes && reductions_ == LongReductions::across_lanes;
  const bool is_dealt_out = plan_.regions[loops.back()].along_lanes && !is_across_lanes;
  LEMMA_ASSIGN_OR_RETURN(const std::string neutral, neutral_text(term));
  line("{} {} = {};", type, term_name(id), neutral);
  std::string total = term_name(id);
  if (is_dealt_out) {
    line("{} p{}[{}];", type, id, partial_results);
    line("for ({}& one : p{}) one = {};", type, id, neutral);
    total = fmt::format("p{}[{} % {}]", id, variable_name(plan_.regions[loops.back()].variable),
                        partial_results);
  }
  for (const RegionId loop : loops) {
    if (is_across_lanes && loop == loops.back())
      open_loop(loop, "threads.rank % lanes", "lanes");
    else
      open_loop(loop);
    LEMMA_RETURN_IF_ERROR(write_region(loop));
  }
  LEMMA_ASSIGN_OR_RETURN(const std::string step, accumulation_text(term, total));
  line("{} = {};", total, step);
  close_loops(loops.size());
  if (is_across_lanes) return write_lane_combination(id, term);
  return is_dealt_out ? write_combination(id, term) : Result<void>();
}

Result<void> ElementWriter::write_lane_combination(TermNumber id, const Term& term) {
  LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
  LEMMA_ASSIGN_OR_RETURN(const std::string step, step_text(term, "a", "b"));
  line("{0} = across_lanes<lanes>({0}, []({1} a, {1} b) {{ return {2}; }});", term_name(id), type,
       step);
  return {};
}

Result<void> ElementWriter::write_combination(TermNumber id, const Term& term) {
  LEMMA_ASSIGN_OR_RETURN(const std::string step, step_text(term, fmt::format("p{}[i]", id),
                                                           fmt::format("p{}[i + width]", id)));
  line("for (std::int64_t width = {}; width > 0; width /= 2)", partial_results / 2);
  line("  for (std::int64_t i = 0; i < width; ++i) p{}[i] = {};", id, step);
  line("{} = p{}[0];", term_name(id), id);
  return {};
}

bool ElementWriter::sums_products(const Term& reduction) const {
  if (reductions_ != LongReductions::partial_results || reduction.kind != Kind::sum) return false;
  return (reduction.lanes == LaneKind::f32 || reduction.lanes == LaneKind::f64) &&
         graph_.term(reduction.operands[0]).kind == Kind::multiply;
}

Result<std::string> ElementWriter::accumulation_text(const Term& reduction,
                                                     const std::string& total) const {
  const TermNumber element = reduction.operands[0];
  if (!sums_products(reduction)) return step_text(reduction, total, term_name(element));
  const Term& product = graph_.term(element);
  return fmt::format("fast::multiply_add({}, {}, {})", term_name(product.operands[0]),
                     term_name(product.operands[1]), total);
}

Result<std::string> ElementWriter::step_text(const Term& term, const std::string& total,
                                             const std::string& element) {
  return binary_text(step_of(term.kind), term.lanes, term.type == DataType::u64, total, element);
}

void ElementWriter::open_loop(RegionId loop, const std::string& first, const std::string& step) {
  const std::string variable = variable_name(plan_.regions[loop].variable);
  line("for (std::int64_t {0} = {1}; {0} < {2}; {3}) {{", variable, first,
       graph_.extent(plan_.regions[loop].variable),
       step == "1" ? "++" + variable : fmt::format("{} += {}", variable, step));
  indent_ += 2;
}

void ElementWriter::close_loops(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    indent_ -= 2;
    line("}}");
  }
}

Result<std::string> ElementWriter::neutral_text(const Term& term) const {
  LEMMA_ASSIGN_OR_RETURN(const std::uint64_t bits,
                         neutral_element(term.kind, term.type, graph_.domain()));
  return constant_text(bits, term.lanes);
}

Result<ElementSource> emit_element(const LoweredOutput& output, int indent,
                                   LongReductions reductions) {
  return ElementWriter(output, indent, reductions).write(output.root);
}

}  // namespace lemma::backend
