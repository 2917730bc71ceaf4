#include "backend/emit/block_prefetch.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backend/emit/emit_element.h"
#include "backend/emit/source_types.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;
using lowering::VariableSet;

/// Terms of a sum during which memory answers, and bytes of a result that does not stay in the nearest cache anyway.
constexpr std::int64_t least_terms = 64, least_bytes = 1 << 16;
/// Terms that are added up while the second cache answers, and the third one mostly does.
constexpr std::int64_t usual_terms_ahead = 16;
constexpr std::int64_t line_bytes = 64;

bool has_long_sums(const LoweredOutput& nest, const ElementBlock& block, VariableSet axes) {
  for (TermNumber id = 0; id < nest.graph.size(); ++id) {
    const Term& term = nest.graph.term(id);
    if (!is_reduction(term.kind) || (term.depends & ~axes) != 0 ||
        !find_vector_reduction(nest, block, id))
      continue;
    std::int64_t terms = 1;
    for (const LoopVariable v : term.bound) terms *= nest.graph.extent(v);
    if (terms >= least_terms) return true;
  }
  return false;
}

bool depends_on_axes_alone(const Linear& place) {
  return std::all_of(place.terms.begin(), place.terms.end(),
                     [](const auto& term) { return term.first < lowering::first_term_atom; });
}

/// Texts of the places, in the order of the terms, each once.
std::vector<std::string> places_read(const LoweredOutput& nest, const ElementBlock& block,
                                     VariableSet axes) {
  const LoopVariable last = nest.axes.back();
  const LoopVariable other =
      nest.axes[block.has_channel_lanes() ? block.lane_axis : block.row_axis];
  std::vector<std::string> places;
  for (TermNumber id = 0; id < nest.graph.size(); ++id) {
    const Term& read = nest.graph.term(id);
    if (read.kind != ExpressionKind::read || (read.depends & ~axes) != 0) continue;
    const Linear address = nest.graph.address(read);
    if (!depends_on_axes_alone(address) || address.coefficient(last) != 1 ||
        address.coefficient(other) == 0)
      continue;
    std::string place =
        fmt::format("{}[{}]", input_name(read.input), linear_text(nest.graph, address));
    if (std::find(places.begin(), places.end(), place) == places.end())
      places.push_back(std::move(place));
  }
  return places;
}

/// How far ahead of a term its element is asked for.
struct Distance {
  std::size_t depth = 0;    // loops inside of these stay in the same lines
  std::int64_t window = 0;  // elements that they go over, beside the first
  std::int64_t elements = 0;
};

/// Nothing where all loops stay in the same lines. The loops that are gone ahead in are those that have enough terms.
std::optional<Distance> distance_of(const LoweredOutput& nest, const Linear& address,
                                    std::int64_t element_bytes, std::int64_t terms_ahead,
                                    const std::vector<LoopVariable>& loops) {
  const auto extent_of = [&](std::size_t i) { return nest.graph.extent(loops[i]); };
  const auto step_of = [&](std::size_t i) { return address.coefficient(loops[i]); };
  Distance result{loops.size(), 0, 0};
  std::int64_t inner = 1;  // terms of the loops inside of the one to go ahead in
  while (result.depth > 0) {
    const std::size_t i = result.depth - 1;
    if (step_of(i) < 0 || step_of(i) * extent_of(i) * element_bytes > line_bytes) break;
    result.window += step_of(i) * (extent_of(i) - 1);
    inner *= extent_of(i);
    --result.depth;
  }
  if (result.depth == 0) return std::nullopt;
  std::size_t i = result.depth - 1;
  std::int64_t extent = extent_of(i), step = step_of(i);
  const auto count = [&] { return (terms_ahead + inner - 1) / inner; };
  for (; i > 0 && extent < 2 * count(); --i) {
    if (step_of(i - 1) == extent * step) {  // one goes on where the other ends
      extent *= extent_of(i - 1);
      continue;
    }
    inner *= extent;
    step = step_of(i - 1);
    extent = extent_of(i - 1);
  }
  result.elements = count() * step;
  return result;
}

/// `count`: elements of a block from the first to the last one, as text.
std::optional<TermPrefetch> prefetch_read(const LoweredOutput& nest, const ElementBlock& block,
                                          TermNumber id, const std::string& count,
                                          const std::vector<LoopVariable>& loops) {
  const Term& read = nest.graph.term(id);
  Linear address = nest.graph.address(read);
  const auto bytes = static_cast<std::int64_t>(byte_size(nest.graph.inputs()[read.input].type));
  const auto distance =
      distance_of(nest, address, bytes, block.schedule.ahead.value_or(usual_terms_ahead), loops);
  if (!distance) return std::nullopt;
  const auto without = [&](LoopVariable variable) {
    address = lowering::combine(address, Linear::atom(variable), -address.coefficient(variable));
  };
  // The loops inside, and the one over the elements of a group, begin at 0.
  for (LoopVariable v = 0; v < nest.graph.variable_count(); ++v) {
    const auto open_loops = loops.begin() + static_cast<std::ptrdiff_t>(distance->depth);
    if (std::find(nest.axes.begin(), nest.axes.end(), v) == nest.axes.end() &&
        std::find(loops.begin(), open_loops, v) == open_loops)
      without(v);
  }
  address.constant += distance->elements;
  std::string row;
  if (block.has_rows()) {
    const LoopVariable variable = nest.axes[block.row_axis];
    if (const std::int64_t step = address.coefficient(variable); step != 0)
      row = fmt::format(" + start_{} * {}LL", variable_name(variable), step);
    without(variable);
  }
  return TermPrefetch{
      distance->depth,
      {fmt::format("prefetch<{} + {}, false>", count, distance->window),
       {fmt::format("&{}[{}{}]", input_name(read.input), linear_text(nest.graph, address), row)}}};
}

}  // namespace

std::vector<TermPrefetch> prefetch_terms(const LoweredOutput& nest, const ElementBlock& block,
                                         const VectorReduction& reduction,
                                         const std::vector<LoopVariable>& loops) {
  constexpr std::int64_t most_step = 4;  // between rows, for their elements to share lines
  std::int64_t terms = 1;
  for (const LoopVariable v : loops) terms *= nest.graph.extent(v);
  if (!block.has_rows() || terms < least_terms || block.schedule.ahead == 0) return {};
  const LoopVariable row = nest.axes[block.row_axis];
  std::vector<TermPrefetch> result;
  const auto add = [&](TermNumber id, const std::string& count) {
    if (auto prefetch = prefetch_read(nest, block, id, count, loops))
      result.push_back(std::move(*prefetch));
  };
  const Term& across = nest.graph.term(reduction.across);
  const std::int64_t step = reduction.step * reduction.together;
  if ((across.depends & lowering::set_of(row)) == 0)
    add(reduction.across, fmt::format("lanes * {}", step));
  if (!reduction.down) return result;
  const std::int64_t row_step =
      nest.graph.address(nest.graph.term(*reduction.down)).coefficient(row);
  if (row_step > 0 && row_step <= most_step)
    add(*reduction.down, fmt::format("(rows - 1) * {} + {}", row_step, reduction.together));
  return result;
}

source::Statements emit_prefetch(const LoweredOutput& nest, const ElementBlock& block,
                                 std::string_view result, const Linear& place) {
  VariableSet axes = 0;
  std::int64_t bytes = static_cast<std::int64_t>(byte_size(nest.type));
  for (const LoopVariable axis : nest.axes) {
    axes |= lowering::set_of(axis);
    bytes *= nest.graph.extent(axis);
  }
  if (!block.has_rows() || bytes < least_bytes || !has_long_sums(nest, block, axes)) return {};
  const bool is_panel = block.has_channel_lanes();
  const std::string outer = variable_name(nest.axes[is_panel ? block.lane_axis : block.row_axis]);
  const std::string inner = variable_name(nest.axes.back());
  const std::string_view outer_count = is_panel ? "lanes" : "rows",
                         inner_count = is_panel ? "rows" : "lanes";
  source::Builder statements;
  statements.open(source::counting_loop("ahead", "0", std::string(outer_count)));
  statements.add(source::constant("std::int64_t", outer, fmt::format("start_{} + ahead", outer)));
  statements.add(source::constant("std::int64_t", inner, "start_" + inner));
  statements.add(source::Call{fmt::format("prefetch<{}, true>", inner_count),
                              {fmt::format("&{}[{}]", result, linear_text(nest.graph, place))}});
  for (const std::string& read : places_read(nest, block, axes))
    statements.add(source::Call{fmt::format("prefetch<{}, false>", inner_count), {"&" + read}});
  statements.close();
  return statements.take();
}

}  // namespace lemma::backend
