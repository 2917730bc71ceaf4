#include "backend/emit/block_prefetch.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "backend/emit/emit_element.h"
#include "backend/emit/source_types.h"
#include "backend/emit/vector_reduction.h"

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

}  // namespace

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
