#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "backend/emit/element_writer.h"
#include "backend/emit/source_types.h"
#include "lowering/sum_of_products.h"

namespace lemma::backend {

namespace {

using namespace lowering;  // NOLINT: its words are those of this file
using Kind = ExpressionKind;

}  // namespace

/// Writes a reduction in the order of its variables, the last one fastest, or in lanes.
Result<void> ElementWriter::write_reduction(TermNumber id, const std::string& type) {
  const Term& term = graph_.term(id);
  const std::vector<RegionId>& loops = plan_.below[id];
  const bool is_across_lanes =
      plan_.regions[loops.back()].along_lanes && reductions_ == LongReductions::across_lanes;
  LEMMA_ASSIGN_OR_RETURN(const std::string neutral, neutral_text(term));
  if (const std::int64_t lanes = lanes_of(term, loops); lanes > 1)
    return write_in_lanes(id, type, neutral, lanes);
  source_.add(source::Declaration{.type = type, .name = term_name(id), .value = neutral});
  const auto together = is_across_lanes ? terms_of_lanes_.find(id) : terms_of_lanes_.end();
  for (const RegionId loop : loops) {
    if (together != terms_of_lanes_.end() && loop == loops.back()) {
      LEMMA_RETURN_IF_ERROR(write_terms_of_lane(id, together->second));
      source_.close(loops.size() - 1);
      return write_lane_combination(id, term);
    }
    if (is_across_lanes && loop == loops.back())
      open_loop(loop, "threads.rank % lanes", "lanes");
    else
      open_loop(loop);
    LEMMA_RETURN_IF_ERROR(write_region(loop));
  }
  LEMMA_ASSIGN_OR_RETURN(source::Expression step, accumulation_text(term, term_name(id)));
  source_.add(source::Assignment{term_name(id), std::move(step)});
  source_.close(loops.size());
  return is_across_lanes ? write_lane_combination(id, term) : Result<void>();
}

/// How many partial results a reduction is dealt out to; 1 for one in the order of its terms. Where few elements are
/// computed, as many as the interpreter has, whose order matters to sums and products.
std::int64_t ElementWriter::lanes_of(const Term& reduction,
                                     const std::vector<RegionId>& loops) const {
  if (reductions_ != LongReductions::partial_results) return 1;
  constexpr std::uint64_t lanes = 32;
  const lowering::Region& last = plan_.regions[loops.back()];
  const auto extent = static_cast<std::uint64_t>(graph_.extent(last.variable));
  const bool has_order = reduction.kind == Kind::sum || reduction.kind == Kind::product;
  const bool is_side_by_side = has_terms_side_by_side(loops);
  if (last.along_lanes && (has_order || !is_side_by_side))
    return static_cast<std::int64_t>(
        std::min<std::uint64_t>(partial_results, std::bit_ceil(extent)));
  constexpr std::uint64_t least_terms = 16;
  // So many that a processor need not wait for its own results. The order of comparisons makes no difference.
  constexpr std::uint64_t many_terms = 512;
  const std::uint64_t most =
      is_extreme_of_f32(reduction) || extent >= many_terms ? 2 * lanes : lanes;
  return is_side_by_side && extent >= least_terms
             ? static_cast<std::int64_t>(std::min(most, std::bit_floor(extent)))
             : 1;
}

/// Whether it is the greatest or the least of numbers of f32, among which NaN is noticed apart (parts/vectors.h): processors
/// have an instruction for it that loses NaN.
bool ElementWriter::is_extreme_of_f32(const Term& reduction) const {
  return (reduction.kind == Kind::maximum_over || reduction.kind == Kind::minimum_over) &&
         reduction.lanes == LaneKind::f32 && graph_.domain() == Domain::native;
}

/// Whether terms that follow each other are read side by side. Reads that neighbouring results have side by side are for
/// blocks of results: the cut into tasks must not decide in which order terms are taken.
bool ElementWriter::has_terms_side_by_side(const std::vector<RegionId>& loops) const {
  const LoopVariable variable = plan_.regions[loops.back()].variable;
  bool is_side_by_side = false;
  const auto agrees = [&](TermNumber id) {
    const Term& term = graph_.term(id);
    if (is_reduction(term.kind)) return false;
    if (term.kind != Kind::read) return true;
    const Linear address = graph_.address(term);
    for (const auto& [atom, factor] : address.terms)
      if (atom >= first_term_atom || (atom != variable && factor > 0 && factor < 3)) return false;
    is_side_by_side = is_side_by_side || address.coefficient(variable) == 1;
    return true;
  };
  return all_terms_below(loops.back(), agrees) && is_side_by_side;
}

bool ElementWriter::all_terms_below(RegionId region,
                                    const std::function<bool(TermNumber)>& holds) const {
  const std::vector<TermNumber>& terms = plan_.regions[region].terms;
  return std::all_of(terms.begin(), terms.end(), [&](TermNumber id) {
    return holds(id) &&
           (is_reduction(graph_.term(id).kind) ||
            std::all_of(plan_.below[id].begin(), plan_.below[id].end(),
                        [&](RegionId below) { return all_terms_below(below, holds); }));
  });
}

/// Each lane takes every so many terms. Then lanes are combined in pairs.
Result<void> ElementWriter::write_in_lanes(TermNumber id, const std::string& type,
                                           const std::string& neutral, std::int64_t lanes) {
  const Term& term = graph_.term(id);
  const std::vector<RegionId>& loops = plan_.below[id];
  const LoopVariable variable = plan_.regions[loops.back()].variable;
  const std::int64_t whole = graph_.extent(variable) / lanes * lanes;
  const std::string in_lanes = fmt::format("l{}", id), at = fmt::format("at{}", id),
                    count = fmt::format("{}", lanes);
  source_.add(
      source::Declaration{.type = type, .name = in_lanes, .extents = {count}, .alignment = 64});
  if (is_extreme_of_f32(term))
    source_.add(source::Declaration{.type = "std::uint32_t",
                                    .name = fmt::format("sizes{}", id),
                                    .extents = {count},
                                    .alignment = 64});
  source_.open(source::counting_loop(at, "0", count));
  source_.add(source::Assignment{fmt::format("{}[{}]", in_lanes, at), neutral});
  if (is_extreme_of_f32(term))
    source_.add(source::Assignment{fmt::format("sizes{}[{}]", id, at), "0"});
  source_.close();
  for (const RegionId loop : loops) {
    if (loop == loops.back()) break;
    open_loop(loop);
    LEMMA_RETURN_IF_ERROR(write_region(loop));
  }
  const std::string block = "block_" + variable_name(variable);
  source_.open(source::counting_loop(block, "0", fmt::format("{}", whole), count));
  LEMMA_RETURN_IF_ERROR(write_lanes(id, block, count));
  source_.close();
  if (whole < graph_.extent(variable))
    LEMMA_RETURN_IF_ERROR(write_lanes(id, fmt::format("{}", whole),
                                      fmt::format("{}", graph_.extent(variable) - whole)));
  source_.close(loops.size() - 1);
  return write_lane_results(id, type, lanes);
}

/// Declares the result of what the lanes have.
Result<void> ElementWriter::write_lane_results(TermNumber id, const std::string& type,
                                               std::int64_t lanes) {
  const Term& term = graph_.term(id);
  std::string text;
  if (is_extreme_of_f32(term)) {
    text = fmt::format("extreme_of_lanes<{}, {}>(l{}, sizes{})", lanes,
                       term.kind == Kind::maximum_over ? "true" : "false", id, id);
  } else {
    LEMMA_ASSIGN_OR_RETURN(const source::Expression step, step_text(term, "a", "b"));
    text = fmt::format("combined_in_pairs<{0}>(l{1}, []({2} a, {2} b) {{ return {3}; }})", lanes,
                       id, type, step.text);
  }
  source_.add(source::constant(type, term_name(id), text));
  return {};
}

/// One term more for each lane, the first one at `first`. What has a function for all lanes at once, as values that are
/// rounded to f16, is computed between loops over them.
Result<void> ElementWriter::write_lanes(TermNumber id, const std::string& first,
                                        const std::string& count) {
  const RegionId loop = plan_.below[id].back();
  source_.open(source::Block{});
  widen_reads_of_lanes(loop, first, count, fmt::format("at{}", id));
  std::span<const TermNumber> terms = plan_.regions[loop].terms;
  while (true) {
    const auto rounded = std::find_if(terms.begin(), terms.end(), [this](TermNumber term) {
      return !function_of_lanes(term).empty();
    });
    const auto part = terms.first(static_cast<std::size_t>(rounded - terms.begin()));
    terms = terms.subspan(part.size());
    LEMMA_RETURN_IF_ERROR(
        write_part_of_lanes(id, part, {terms.begin(), terms.end()}, first, count));
    if (terms.empty()) break;
    const std::string name = fmt::format("computed{}", terms.front());
    source_.add(
        source::Declaration{.type = "float", .name = name, .extents = {count}, .alignment = 64});
    source_.add(source::Call{fmt::format("{}<{}>", function_of_lanes(terms.front()), count),
                             {name, of_lanes_.at(graph_.term(terms.front()).operands[0])}});
    of_lanes_.emplace(terms.front(), name);
    terms = terms.subspan(1);
  }
  source_.close();
  widened_.clear();
  of_lanes_.clear();
  return {};
}

/// A loop over the lanes with some terms. `later`: those that follow, the first of which has a function of its own; if there are none, the lanes
/// take what has been computed.
Result<void> ElementWriter::write_part_of_lanes(TermNumber id, std::span<const TermNumber> part,
                                                const std::set<TermNumber>& later,
                                                const std::string& first,
                                                const std::string& count) {
  const std::string at = fmt::format("at{}", id);
  const auto is_needed = [&](TermNumber term) {
    const Term& reduction = graph_.term(id);
    const auto product = summed_product_of(reduction);
    return reduction.operands[0] == term ||
           (product && (product->factors[0] == term || product->factors[1] == term ||
                        product->condition == term)) ||
           std::any_of(later.begin(), later.end(),
                       [&](TermNumber user) { return uses_any(user, {term}); });
  };
  std::vector<TermNumber> kept;
  for (const TermNumber term : part) {
    if (later.empty() || !is_needed(term)) continue;
    LEMMA_ASSIGN_OR_RETURN(const std::string type, type_of(term));
    const std::string name = fmt::format("of_lanes{}", term);
    source_.add(
        source::Declaration{.type = type, .name = name, .extents = {count}, .alignment = 64});
    kept.push_back(term);
  }
  source_.open(source::counting_loop(at, "0", count));
  source::Declaration index = source::constant(
      "std::int64_t", variable_name(plan_.regions[plan_.below[id].back()].variable),
      first + " + " + at);
  index.may_be_unused = true;
  source_.add(std::move(index));
  for (const auto& [term, name] : of_lanes_) {
    LEMMA_ASSIGN_OR_RETURN(const std::string type, type_of(term));
    source::Declaration value = source::constant(type, term_name(term), name + "[" + at + "]");
    value.may_be_unused = true;
    source_.add(std::move(value));
  }
  for (const TermNumber term : part) LEMMA_RETURN_IF_ERROR(write_term(term));
  for (const TermNumber term : kept) {
    const std::string name = fmt::format("of_lanes{}", term);
    source_.add(source::Assignment{name + "[" + at + "]", term_name(term)});
    of_lanes_.emplace(term, name);
  }
  if (later.empty()) LEMMA_RETURN_IF_ERROR(take_term_of_lane(id));
  source_.close();
  return {};
}

/// What has been computed goes into the result of the lane.
Result<void> ElementWriter::take_term_of_lane(TermNumber id) {
  const Term& term = graph_.term(id);
  const std::string at = fmt::format("at{}", id), total = fmt::format("l{}[{}]", id, at);
  if (is_extreme_of_f32(term)) {
    source_.add(
        source::Call{fmt::format("take_extreme<{}>", term.kind == Kind::maximum_over),
                     {total, fmt::format("sizes{}[{}]", id, at), term_name(term.operands[0])}});
    return {};
  }
  LEMMA_ASSIGN_OR_RETURN(source::Expression step, accumulation_text(term, total));
  source_.add(source::Assignment{total, std::move(step)});
  return {};
}

/// Converts what the lanes read of f16 side by side, for all of them at once.
void ElementWriter::widen_reads_of_lanes(RegionId loop, const std::string& first,
                                         const std::string& count, const std::string& at) {
  const LoopVariable variable = plan_.regions[loop].variable;
  for (const TermNumber id : plan_.regions[loop].terms) {
    if (moved_.contains(id) || !reads_halves_along(graph_, id, variable)) continue;
    const std::string name = fmt::format("wide{}", id);
    const Term& read = graph_.term(id);
    source_.add(
        source::Declaration{.type = "float", .name = name, .extents = {count}, .alignment = 64});
    source_.open(source::Block{});
    source_.add(source::constant("std::int64_t", variable_name(variable), first));
    source_.add(source::Call{fmt::format("widen<{}>", count),
                             {name, fmt::format("&{}[{}]", input_name(read.input),
                                                linear_text(graph_, graph_.address(read)))}});
    source_.close();
    widened_.emplace(id, fmt::format("{}[{}]", name, at));
  }
}

source::Loop ElementWriter::unrolled_loop(const std::string& variable, std::int64_t count) const {
  source::Loop loop =
      source::counting_loop(variable, "0", fmt::format("{}", count), "1", "unsigned");
  loop.is_unrolled = true;
  return loop;
}

/// Reads what each group of terms of the lane needs, before any of it is used.
Result<void> ElementWriter::read_terms_of_lane(TermNumber id, const LaneTerms& terms) {
  const std::string variable = variable_name(plan_.regions[plan_.below[id].back()].variable);
  for (const std::uint32_t input : terms.inputs) {
    LEMMA_ASSIGN_OR_RETURN(const std::string stored, stored_type(graph_.inputs()[input].type));
    source_.add(
        source::Declaration{.type = fmt::format("ptx::Together<{}, {}>", stored, terms.together),
                            .name = fmt::format("near{}", input),
                            .extents = {fmt::format("{}", terms.groups)}});
  }
  source_.open(unrolled_loop("group", terms.groups));
  source_.add(
      source::constant("std::int64_t", variable,
                       fmt::format("first_{} + group * (lanes * {})", variable, terms.together)));
  for (TermNumber read = 0; read < id; ++read) {
    const Term& term = graph_.term(read);
    if (term.kind != Kind::read || !terms.inputs.contains(term.input) ||
        (term.depends & set_of(graph_.term(id).bound.back())) == 0)
      continue;
    source_.add(source::Assignment{
        fmt::format("near{}[group]", term.input),
        fmt::format("ptx::load_together<{}>({} + ({}))", terms.together, input_name(term.input),
                    linear_text(graph_, graph_.address(term)))});
  }
  source_.close();
  return {};
}

/// The last loop of a reduction of which a lane takes several terms that follow each other.
Result<void> ElementWriter::write_terms_of_lane(TermNumber id, const LaneTerms& terms) {
  const Term& term = graph_.term(id);
  const RegionId loop = plan_.below[id].back();
  const LoopVariable variable = plan_.regions[loop].variable;
  const std::string name = variable_name(variable);
  source_.open(source::counting_loop(
      "first_" + name, fmt::format("threads.rank % lanes * {}", terms.together),
      fmt::format("{}", graph_.extent(variable)), fmt::format("lanes * {}", terms.in_flight())));
  LEMMA_RETURN_IF_ERROR(read_terms_of_lane(id, terms));
  source_.open(unrolled_loop("group", terms.groups));
  source_.open(unrolled_loop("neighbour", terms.together));
  source::Declaration index = source::constant(
      "std::int64_t", name,
      fmt::format("first_{} + group * (lanes * {}) + neighbour", name, terms.together));
  index.may_be_unused = true;
  source_.add(std::move(index));
  for (const std::uint32_t input : terms.inputs) {
    LEMMA_ASSIGN_OR_RETURN(const std::string stored, stored_type(graph_.inputs()[input].type));
    source_.add(source::constant(fmt::format("KnownElement<{}>", stored), input_name(input),
                                 fmt::format("{{near{}[group].at[neighbour]}}", input)));
  }
  LEMMA_RETURN_IF_ERROR(write_region(loop));
  LEMMA_ASSIGN_OR_RETURN(source::Expression step, accumulation_text(term, term_name(id)));
  source_.add(source::Assignment{term_name(id), std::move(step)});
  source_.close(3);
  return {};
}

Result<void> ElementWriter::write_lane_combination(TermNumber id, const Term& term) {
  LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
  LEMMA_ASSIGN_OR_RETURN(const source::Expression step, step_text(term, "a", "b"));
  source_.add(source::Assignment{
      term_name(id), fmt::format("across_lanes<lanes>({0}, []({1} a, {1} b) {{ return {2}; }})",
                                 term_name(id), type, step.text)});
  return {};
}

std::optional<ElementWriter::SummedProduct> ElementWriter::summed_product_of(
    const Term& reduction) const {
  if (reductions_ != LongReductions::partial_results || reduction.kind != Kind::sum ||
      !is_scalar_type(reduction.lanes))
    return std::nullopt;
  const TermNumber element = reduction.operands[0];
  SummedProduct result;
  const Term* product = &graph_.term(element);
  if (product->kind == Kind::select) {
    const Term& zero = graph_.term(product->operands[2]);
    if (zero.kind != Kind::real_constant || zero.bits != 0 || plan_.below[element].empty() ||
        !is_chosen(element))
      return std::nullopt;
    result.condition = product->operands[0];
    product = &graph_.term(product->operands[1]);
  }
  if (product->kind != Kind::multiply) return std::nullopt;
  std::copy(product->operands.begin(), product->operands.end(), result.factors);
  return result;
}

Result<source::Expression> ElementWriter::accumulation_text(const Term& reduction,
                                                            const std::string& total) const {
  const auto product = summed_product_of(reduction);
  if (!product) return step_text(reduction, total, term_name(reduction.operands[0]));
  const std::string sum =
      fmt::format("fast::multiply_add({}, {}, {})", term_name(product->factors[0]),
                  term_name(product->factors[1]), total);
  if (!product->condition) return sum;
  return fmt::format("{} != 0 ? {} : {}", term_name(*product->condition), sum, total);
}

Result<source::Expression> ElementWriter::step_text(const Term& term, const std::string& total,
                                                    const std::string& element) {
  return binary_text(step_of(term.kind), term.lanes, term.type == DataType::u64, total, element);
}

void ElementWriter::open_loop(RegionId loop, const std::string& first, const std::string& step,
                              std::int64_t turns_at_once) {
  const LoopVariable variable = plan_.regions[loop].variable;
  source::Loop opened = source::counting_loop(variable_name(variable), first,
                                              fmt::format("{}", graph_.extent(variable)), step);
  opened.turns_at_once = turns_at_once;
  source_.open(std::move(opened));
}

Result<std::string> ElementWriter::neutral_text(const Term& term) const {
  LEMMA_ASSIGN_OR_RETURN(const std::uint64_t bits,
                         neutral_element(term.kind, term.type, graph_.domain()));
  return constant_text(bits, term.lanes);
}

}  // namespace lemma::backend
