#include "backend/emit/emit_element.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/emit/dealt_terms.h"
#include "backend/emit/element_writer.h"
#include "backend/emit/real_range.h"
#include "backend/emit/source_types.h"
#include "lowering/sum_of_products.h"

namespace lemma::backend {

namespace {

using namespace lowering;  // NOLINT: its words are those of this file
using Kind = ExpressionKind;

bool deals_out(const LoweredOutput& output, LongReductions reductions) {
  if (reductions != LongReductions::partial_results)
    return reductions == LongReductions::across_lanes;
  return deals_out_terms(output);
}

}  // namespace

bool is_exponential_of_f32(const TermGraph& graph, TermNumber id) {
  const Term& term = graph.term(id);
  return term.kind == Kind::function && term.function == ScalarFunction::exp &&
         graph.term(term.operands[0]).lanes == LaneKind::f32;
}

bool reads_halves_along(const TermGraph& graph, TermNumber id, LoopVariable variable) {
  const Term& read = graph.term(id);
  if (read.kind != Kind::read || read.type != DataType::f16 || graph.domain() != Domain::native)
    return false;
  const InputView& input = graph.inputs()[read.input];
  if (input.type != DataType::f16 || input.as_lanes) return false;
  for (std::size_t axis = 0; axis < read.indices.size(); ++axis)
    if (!graph.is_inside(read, axis)) return false;
  const Linear address = graph.address(read);
  return address.coefficient(variable) == 1 &&
         std::all_of(address.terms.begin(), address.terms.end(),
                     [](const auto& term) { return term.first < first_term_atom; });
}

ElementWriter::ElementWriter(const LoweredOutput& output, LongReductions reductions)
    : graph_(output.graph),
      plan_(plan_regions(graph_, output.root, deals_out(output, reductions))),
      reductions_(reductions) {
  for (TermNumber id = 0; id < graph_.size(); ++id) {
    if (!is_reduction(graph_.term(id).kind) || !summed_product_of(graph_.term(id))) continue;
    const TermNumber element = graph_.term(id).operands[0];
    products_in_sums_.insert(element);
    if (graph_.term(element).kind == Kind::select)
      products_in_sums_.insert(graph_.term(element).operands[1]);
  }
}

void ElementWriter::move_elements(TermNumber root) {
  const DataType type = graph_.term(root).type;
  if (graph_.domain() == Domain::native && (type == DataType::f16 || type == DataType::bf16))
    finds_moved(root, type);
}

/// Adds a read, or a select of one.
bool ElementWriter::finds_moved(TermNumber id, DataType type) {
  const Term& term = graph_.term(id);
  if (term.type != type) return false;
  bool is_moved = term.kind == Kind::read && !has_other_uses(id);
  if (term.kind == Kind::select)
    for (const std::size_t branch : {1U, 2U})
      is_moved = finds_moved(term.operands[branch], type) || is_moved;
  if (is_moved) moved_.insert(id);
  return is_moved;
}

/// Than as one branch of a select.
bool ElementWriter::has_other_uses(TermNumber id) const {
  std::size_t uses = 0;
  for (TermNumber user = id + 1; user < graph_.size(); ++user) {
    const Term& term = graph_.term(user);
    for (std::size_t i = 0; i < term.operands.size(); ++i) {
      if (term.operands[i] != id) continue;
      if (term.kind != Kind::select || i == 0 || ++uses > 1) return true;
    }
  }
  return false;
}

Result<std::string> ElementWriter::type_of(TermNumber id) const {
  const Term& term = graph_.term(id);
  return moved_.contains(id) ? stored_type(term.type) : computed_type(term.lanes);
}

std::string ElementWriter::branch_text(TermNumber select, TermNumber branch) const {
  if (!moved_.contains(select) || moved_.contains(branch)) return term_name(branch);
  return fmt::format("static_cast<{}>({})",
                     graph_.term(select).type == DataType::f16 ? "F16" : "BF16", term_name(branch));
}

Result<ElementSource> ElementWriter::write(TermNumber root) {
  LEMMA_RETURN_IF_ERROR(write_region(0));
  return ElementSource{source_.take(), term_name(root)};
}

Result<void> ElementWriter::write_region(RegionId region) {
  for (const TermNumber id : plan_.regions[region].terms) LEMMA_RETURN_IF_ERROR(write_term(id));
  return {};
}

Result<void> ElementWriter::write_branch(RegionId region, TermNumber target, TermNumber value) {
  LEMMA_RETURN_IF_ERROR(write_region(region));
  source_.add(source::Assignment{term_name(target), branch_text(target, value)});
  return {};
}

Result<void> ElementWriter::write_term(TermNumber id) {
  const Term& term = graph_.term(id);
  LEMMA_ASSIGN_OR_RETURN(const std::string type, type_of(id));
  if (term.kind == Kind::select) return write_select(id, type);
  if (term.kind == Kind::logical_and) return write_and(id, type);
  if (is_reduction(term.kind)) return write_reduction(id, type);
  LEMMA_ASSIGN_OR_RETURN(source::Expression value, value_of(id));
  source::Declaration declaration = source::constant(type, term_name(id), std::move(value));
  declaration.may_be_unused = products_in_sums_.contains(id);
  source_.add(std::move(declaration));
  return {};
}

Result<source::Expression> ElementWriter::value_of(TermNumber id) const {
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
  if (is_near(id)) {
    LEMMA_ASSIGN_OR_RETURN(const std::string stored, stored_type(term.type));
    return fmt::format("convert_near<{}>({})", stored, operand(0));
  }
  if (term.kind == Kind::cast) {
    const TermNumber from = before_exact_cast(id);
    const std::string integer = term_name(from);
    return cast_text(graph_.term(from).type, term.type, graph_.domain(),
                     is_read_in_32_bits(from) && is_real(term.type)
                         ? fmt::format("static_cast<std::int32_t>({})", integer)
                         : integer);
  }
  const bool unsigned64 = first.type == DataType::u64;
  if (term.operands.size() == 1)
    return function_text(term.function, first.lanes, unsigned64, operand(0));
  if (divides_near(id))
    return fmt::format("divide_near<{}>({}, {})",
                       term.kind == Kind::floor_divide || term.kind == Kind::floor_modulo,
                       operand(0), operand(1));
  if (divides_by_same(id)) return fmt::format("fast::quotient({}, {})", operand(0), operand(1));
  return binary_text(term.kind, first.lanes, unsigned64, operand(0), operand(1));
}

/// Whether elements of a row of f32 are divided by a number that is the same for all of them.
bool ElementWriter::divides_by_same(TermNumber id) const {
  const Term& term = graph_.term(id);
  return term.kind == Kind::divide && term.lanes == LaneKind::f32 &&
         graph_.domain() == Domain::native && reductions_ == LongReductions::partial_results &&
         is_same_for_row(term.operands[1]) && !is_same_for_row(term.operands[0]);
}

/// Whether it is an element as it was read, of a type whose numbers 32 bits have: vectors of these are converted to real ones.
bool ElementWriter::is_read_in_32_bits(TermNumber id) const {
  const Term& term = graph_.term(id);
  return reductions_ == LongReductions::partial_results && graph_.domain() == Domain::native &&
         term.kind == Kind::read && term.lanes == LaneKind::integer && byte_size(term.type) <= 4 &&
         term.type != DataType::u32;
}

/// Whether two integers are divided whose types have 32 bits at most, all of whose quotients a division of f64 gives.
bool ElementWriter::divides_near(TermNumber id) const {
  const Term& term = graph_.term(id);
  if (reductions_ != LongReductions::partial_results || graph_.domain() != Domain::native ||
      (term.kind != Kind::divide && term.kind != Kind::floor_divide))
    return false;
  return std::all_of(term.operands.begin(), term.operands.end(), [this](TermNumber operand) {
    const Term& integer = graph_.term(operand);
    return integer.lanes == LaneKind::integer && byte_size(integer.type) <= 4;
  });
}

/// What a cast is of, without a cast to f64 in between that has all values of an integer type.
TermNumber ElementWriter::before_exact_cast(TermNumber cast) const {
  const TermNumber from = graph_.term(cast).operands[0];
  const Term& between = graph_.term(from);
  if (reductions_ != LongReductions::partial_results || graph_.domain() != Domain::native ||
      graph_.term(cast).lanes != LaneKind::f32 || between.kind != Kind::cast ||
      between.type != DataType::f64)
    return from;
  const Term& integer = graph_.term(between.operands[0]);
  const bool is_near = integer.lanes == LaneKind::integer && byte_size(integer.type) <= 4;
  return is_near ? between.operands[0] : from;
}

/// Whether a real number becomes an integer and is known to have 32 bits, so that vectors of them are converted.
bool ElementWriter::is_near(TermNumber id) const {
  const Term& term = graph_.term(id);
  if (reductions_ != LongReductions::partial_results || term.kind != Kind::cast ||
      term.lanes != LaneKind::integer || graph_.domain() != Domain::native)
    return false;
  const LaneKind from = graph_.term(term.operands[0]).lanes;
  if (from != LaneKind::f32 && from != LaneKind::f64) return false;
  const RealRange range = real_range(graph_, term.operands[0]);
  return range.low >= -0x1p31 && range.high <= 0x1p30;
}

/// Whether what has been computed decides where it reads along the axes on which that may be outside. Such a read has some
/// place inside whatever it is, so that it needs no guard.
bool ElementWriter::is_gathered(const Term& read) const {
  if (reductions_ != LongReductions::partial_results) return false;
  const Sizes& sizes = graph_.inputs()[read.input].sizes;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return false;
  bool is_computed = false;
  for (std::size_t axis = 0; axis < read.indices.size(); ++axis) {
    if (graph_.is_inside(read, axis)) continue;
    for (const auto& [atom, factor] : read.indices[axis].terms)
      is_computed = is_computed || atom >= first_term_atom;
    if (!is_computed) return false;
  }
  return is_computed;
}

std::string ElementWriter::condition_inside(const Term& read) const {
  std::string inside;
  for (std::size_t axis = 0; axis < read.indices.size(); ++axis)
    if (!reads_are_inside_ && !graph_.is_inside(read, axis))
      inside += fmt::format("{}is_inside({}, {})", inside.empty() ? "" : " && ",
                            linear_text(graph_, read.indices[axis]),
                            graph_.inputs()[read.input].sizes[axis]);
  return inside;
}

/// The address in two parts, of which the first has the indices that may be outside.
std::optional<ElementWriter::GatheredPlace> ElementWriter::gathered_place(const Term& read) const {
  GatheredPlace result;
  result.inside = condition_inside(read);
  if (result.inside.empty() || !is_gathered(read)) return std::nullopt;
  for (std::size_t axis = 0; axis < read.indices.size(); ++axis) {
    const std::int64_t size = graph_.inputs()[read.input].sizes[axis];
    Linear& sum = graph_.is_inside(read, axis) ? result.beside : result.place;
    result.place = scale(result.place, size);
    result.beside = scale(result.beside, size);
    sum = combine(sum, read.indices[axis]);
  }
  return result;
}

/// Reads that may lie outside are behind a guard, but may have been moved in front of it.
Result<source::Expression> ElementWriter::read_text(TermNumber id) const {
  const Term& term = graph_.term(id);
  LEMMA_RETURN_IF_ERROR(stored_type(term.type));
  LEMMA_ASSIGN_OR_RETURN(const std::string type, type_of(id));
  if (const auto widened = widened_.find(id); widened != widened_.end()) return widened->second;
  const std::string input = input_name(term.input);
  if (const auto gathered = gathered_place(term))
    return fmt::format("static_cast<{}>({}[({} ? {} : 0) + {}])", type, input, gathered->inside,
                       linear_text(graph_, gathered->place), linear_text(graph_, gathered->beside));
  const std::string element = fmt::format("static_cast<{}>({}[{}])", type, input,
                                          linear_text(graph_, graph_.address(term)));
  const std::string inside = condition_inside(term);
  if (inside.empty()) return element;
  source::Expression checked = fmt::format("{} ? {} : {}{{0}}", inside, element, type);
  checked.checks_bounds = true;
  return checked;
}

Result<void> ElementWriter::write_select(TermNumber id, const std::string& type) {
  const Term& term = graph_.term(id);
  if (is_chosen(id)) {
    for (const RegionId branch : plan_.below[id]) LEMMA_RETURN_IF_ERROR(write_region(branch));
    source_.add(source::constant(
        type, term_name(id),
        fmt::format("{} != 0 ? {} : {}", term_name(term.operands[0]),
                    branch_text(id, term.operands[1]), branch_text(id, term.operands[2]))));
    return {};
  }
  source_.add(source::Declaration{.type = type, .name = term_name(id)});
  source_.open(source::Guard{term_name(term.operands[0]) + " != 0", {}, {}});
  LEMMA_RETURN_IF_ERROR(write_branch(plan_.below[id][0], id, term.operands[1]));
  source_.otherwise();
  LEMMA_RETURN_IF_ERROR(write_branch(plan_.below[id][1], id, term.operands[2]));
  source_.close();
  return {};
}

Result<void> ElementWriter::write_and(TermNumber id, const std::string& type) {
  const Term& term = graph_.term(id);
  if (is_chosen(id)) {
    LEMMA_RETURN_IF_ERROR(write_region(plan_.below[id][0]));
    LEMMA_ASSIGN_OR_RETURN(source::Expression value,
                           binary_text(term.kind, term.lanes, false, term_name(term.operands[0]),
                                       term_name(term.operands[1])));
    source_.add(source::constant(type, term_name(id), std::move(value)));
    return {};
  }
  source_.add(source::Declaration{.type = type, .name = term_name(id), .value = "0"});
  source_.open(source::Guard{term_name(term.operands[0]) + " != 0", {}, {}});
  LEMMA_RETURN_IF_ERROR(write_branch(plan_.below[id][0], id, term.operands[1]));
  source_.close();
  return {};
}

/// Whether each term can be computed where it is not wanted: that reads nothing outside, divides by nothing, and calls
/// no function. Compilers make vectors of a choice, and not of guards.
bool ElementWriter::can_be_in_vain(RegionId region) const {
  return std::all_of(
      plan_.regions[region].terms.begin(), plan_.regions[region].terms.end(),
      [this](TermNumber id) {
        const Term& term = graph_.term(id);
        if (is_reduction(term.kind)) return false;
        if (term.kind == Kind::read && !is_gathered(term))
          for (std::size_t axis = 0; axis < term.indices.size(); ++axis)
            if (!graph_.is_inside(term, axis)) return false;
        if (term.divisor == 0 && !term.operands.empty() &&
            !is_plain_operation(term.kind, term.function, graph_.term(term.operands[0]).lanes))
          return false;
        return std::all_of(plan_.below[id].begin(), plan_.below[id].end(),
                           [this](RegionId below) { return can_be_in_vain(below); });
      });
}

bool ElementWriter::is_chosen(TermNumber id) const {
  return reductions_ == LongReductions::partial_results &&
         std::all_of(plan_.below[id].begin(), plan_.below[id].end(),
                     [this](RegionId below) { return can_be_in_vain(below); });
}

bool ElementWriter::uses_any(TermNumber id, const std::set<TermNumber>& others) const {
  const Term& term = graph_.term(id);
  const auto is_any = [&](const lowering::Linear& form) {
    return std::any_of(form.terms.begin(), form.terms.end(), [&](const auto& part) {
      return part.first >= lowering::first_term_atom &&
             others.contains(part.first - lowering::first_term_atom);
    });
  };
  if (is_any(term.linear) || std::any_of(term.indices.begin(), term.indices.end(), is_any))
    return true;
  for (const TermNumber operand : term.operands)
    if (others.contains(operand) || is_any(graph_.form(operand))) return true;
  for (const RegionId below : plan_.below[id])
    for (const TermNumber inner : plan_.regions[below].terms)
      if (uses_any(inner, others)) return true;
  return false;
}

bool ElementWriter::is_rounded_to_f16(TermNumber id) const {
  const Term& term = graph_.term(id);
  return term.kind == Kind::cast && term.type == DataType::f16 &&
         graph_.term(term.operands[0]).lanes == LaneKind::f32 && graph_.domain() == Domain::native;
}

std::string ElementWriter::function_of_lanes(TermNumber id) const {
  if (is_rounded_to_f16(id)) return "round_to_f16";
  return is_exponential_of_f32(graph_, id) ? "exp_of_lanes" : "";
}

source::Assignment ElementStore::of(const std::string& value) const {
  return {target, fmt::format("static_cast<{}>({})", type, value)};
}

Result<ElementSource> emit_element(const LoweredOutput& output, LongReductions reductions) {
  return ElementWriter(output, reductions).write(output.root);
}

Result<ElementSource> emit_element_across_lanes(const LoweredOutput& output,
                                                const TermsOfLanes& terms) {
  ElementWriter writer(output, LongReductions::across_lanes);
  writer.take_together(terms);
  return writer.write(output.root);
}

}  // namespace lemma::backend
