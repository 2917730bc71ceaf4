#include "backend/emit/emit_block.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "backend/emit/block_groups.h"
#include "backend/emit/block_prefetch.h"
#include "backend/emit/source_types.h"
#include "backend/emit/vector_reduction.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::RegionId;
using lowering::Term;
using lowering::TermNumber;
using source::Statements;

class BlockWriter : public BlockGroups {
 public:
  BlockWriter(const LoweredOutput& nest, const ElementBlock& block, const ElementStore& store,
              bool has_quotients)
      : BlockGroups(nest, block), store_(store), has_quotients_(has_quotients) {}

  Result<Statements> write_all() {
    const bool stores_along_rows = block_.has_channel_lanes();
    const bool is_split = stores_along_rows && operations_after_sums() > most_operations_of_a_store;
    if (is_split) LEMMA_RETURN_IF_ERROR(write_reads_along_rows());
    LEMMA_RETURN_IF_ERROR(write_parts(0));
    if (block_.converts && nest_.type == DataType::f16 && is_in_lanes(nest_.root)) {
      write_narrowed();
      return with_groups();
    }
    if (is_split || is_narrowed_last()) close_group();
    group().goes_along_rows = stores_along_rows;
    group().used.insert(nest_.root);
    add_to_group(store_.of(term_name(nest_.root)));
    close_group();
    return with_groups();
  }

 private:
  bool is_same_for_row(TermNumber id) const override { return has_quotients_ && !is_in_lanes(id); }

  /// Writes the parts of the block. What is the same for all of it comes first: nothing of it
  /// depends on the lanes.
  Result<void> write_parts(RegionId region) {
    for (const TermNumber id : plan_.regions[region].terms)
      if (!is_in_lanes(id)) LEMMA_RETURN_IF_ERROR(write_term(id));
    if (has_shared_places()) LEMMA_RETURN_IF_ERROR(write_shared(region));
    for (const TermNumber id : plan_.regions[region].terms) {
      if (!is_in_lanes(id) || written_.contains(id)) continue;
      if (block_.converts && reads_halves_along(graph_, id, nest_.axes[block_.lane_axis]))
        write_widened(id);
      else if (block_.converts && !function_of_lanes(id).empty())
        write_for_lanes(id);
      else
        LEMMA_RETURN_IF_ERROR(is_reduction(graph_.term(id).kind) ? write_sums(id)
                                                                 : add_to_group(id));
    }
    return {};
  }

  /// The lanes of a read of f16, converted.
  void write_widened(TermNumber id) {
    close_group();
    source_.add(declaration_of_held(id, "float"));
    source_.open(source::Block{});
    source_.add(index_declaration(block_.lane_axis, ""));
    source_.add(source::Call{"widen<lanes>", {held_row(id), "&" + element_read(id)}});
    source_.close();
    held_.insert(id);
  }

  /// A term that a function computes for all lanes.
  void write_for_lanes(TermNumber id) {
    const TermNumber from = graph_.term(id).operands[0];
    hold(from);
    source_.add(declaration_of_held(id, "float"));
    source_.add(source::Call{function_of_lanes(id) + "<lanes>", {held_row(id), held_row(from)}});
    held_.insert(id);
  }

  /// Stores the lanes of the result, converted.
  void write_narrowed() {
    const TermNumber from =
        is_rounded_to_f16(nest_.root) ? graph_.term(nest_.root).operands[0] : nest_.root;
    hold(from);
    source_.open(source::Block{});
    source_.add(index_declaration(block_.lane_axis, ""));
    source_.add(source::Call{"narrow<lanes>", {"&" + store_.target, held_row(from)}});
    source_.close();
  }

  static std::string held_row(TermNumber id) { return term_name(id) + "_held[0]"; }

  /// Whether elements are read at places that have been computed, and that are the same for all rows of a block.
  bool has_shared_places() const {
    if (!block_.has_rows() || block_.has_channel_lanes()) return false;
    for (TermNumber id = 0; id < graph_.size(); ++id)
      if (graph_.term(id).kind == ExpressionKind::read && shared_place_of(id)) return true;
    return false;
  }

  std::optional<GatheredPlace> shared_place_of(TermNumber read) const {
    const Term& term = graph_.term(read);
    auto gathered = gathered_place(term);
    if (!gathered || !depends_on_row(read)) return std::nullopt;
    for (std::size_t axis = 0; axis < term.indices.size(); ++axis)
      if (!graph_.is_inside(term, axis) && depends_on_row(term.indices[axis])) return std::nullopt;
    return gathered;
  }

  /// Writes what is the same for all rows of a block in front of what is not: terms that need no sum of the region, and the
  /// places of reads.
  Result<void> write_shared(RegionId region) {
    const std::vector<TermNumber>& terms = plan_.regions[region].terms;
    std::set<TermNumber> later;  // and what is computed of it
    for (const TermNumber id : terms) {
      const Term& term = graph_.term(id);
      if (!is_in_lanes(id)) continue;
      if (is_reduction(term.kind) || depends_on_row(id) || uses_any(id, later) ||
          lowering::compares_linear(graph_, term)) {
        later.insert(id);
        continue;
      }
      group().is_of_lanes = true;
      LEMMA_RETURN_IF_ERROR(add_to_group(id));
      written_.insert(id);
    }
    add_places(region, later);
    close_group();
    return {};
  }

  /// Those of a region and of the branches of choices, whose terms are computed whatever the condition is.
  void add_places(RegionId region, std::set<TermNumber>& later) {
    for (const TermNumber id : plan_.regions[region].terms) {
      const Term& term = graph_.term(id);
      if (term.kind == ExpressionKind::select && is_chosen(id))
        for (const RegionId below : plan_.below[id]) {
          // What a branch computes is not known before it.
          const std::vector<TermNumber>& inner = plan_.regions[below].terms;
          later.insert(inner.begin(), inner.end());
          add_places(below, later);
        }
      if (term.kind != ExpressionKind::read) continue;
      const auto place = shared_place_of(id);
      later.erase(id);
      if (place && !uses_any(id, later)) {
        group().is_of_lanes = true;
        add_place(id, *place);
      }
      later.insert(id);
    }
  }

  /// The place of a read as a value of its own, as narrow as it can be: processors gather more elements by narrow numbers.
  void add_place(TermNumber read, const GatheredPlace& gathered) {
    std::int64_t elements = 1;
    for (const std::int64_t size : graph_.inputs()[graph_.term(read).input].sizes) elements *= size;
    const std::string type =
        elements <= std::numeric_limits<std::int32_t>::max() ? "std::int32_t" : "std::int64_t";
    const TermNumber place = static_cast<TermNumber>(graph_.size()) + read;
    places_.emplace(read, type);
    add_to_group(source::constant(type, term_name(place),
                                  fmt::format("{} ? static_cast<{}>({}) : 0", gathered.inside, type,
                                              linear_text(graph_, gathered.place))));
    group().defined.insert(place);
    for (const lowering::Linear& index : graph_.term(read).indices) use(index);
  }

  Result<source::Expression> read_text(TermNumber id) const override {
    if (!places_.contains(id)) return ElementWriter::read_text(id);
    const Term& term = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(const std::string type, computed_type(term.lanes));
    const auto gathered = gathered_place(term);
    return fmt::format("static_cast<{}>((&{}[{}])[{}])", type, input_name(term.input),
                       linear_text(graph_, gathered->beside),
                       term_name(static_cast<TermNumber>(graph_.size()) + id));
  }

  /// The most operations on each sum of a block with channel lanes that go along the rows with the store, where vectors
  /// are short and far apart. Where there are more, they go along the lanes, and only the store goes along the rows.
  static constexpr std::size_t most_operations_of_a_store = 3;
  std::size_t operations_after_sums() const {
    const std::vector<TermNumber>& terms = plan_.regions[0].terms;
    return static_cast<std::size_t>(
        std::count_if(terms.begin(), terms.end(), [this](TermNumber id) {
          const Term& term = graph_.term(id);
          return is_in_lanes(id) && term.kind != ExpressionKind::read && !is_reduction(term.kind);
        }));
  }

  /// Writes, in a block with channel lanes, the elements of other operands that are neighbours along the rows: like the
  /// result, they are far apart along the lanes. What lies between goes along the lanes.
  Result<void> write_reads_along_rows() {
    for (const TermNumber id : plan_.regions[0].terms) {
      const Term& term = graph_.term(id);
      if (term.kind != ExpressionKind::read || !depends_on_row(id) || !has_linear_indices(term))
        continue;
      group().goes_along_rows = true;
      LEMMA_RETURN_IF_ERROR(add_to_group(id));
      written_.insert(id);
    }
    close_group();
    return {};
  }

  /// A reduction of each lane, side by side.
  Result<void> write_sums(TermNumber id) {
    if (const auto reduction = find_vector_reduction(nest_, block_, id)) {
      close_group();
      return write_vectors(id, *reduction);
    }
    const Term& term = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(const std::string neutral, neutral_text(term));
    add_to_group(source::Assignment{held(id), neutral});
    held_.insert(id);
    declare_before_group(id);
    close_group();
    for (const RegionId loop : plan_.below[id]) {
      open_loop(loop);
      LEMMA_RETURN_IF_ERROR(write_parts(loop));
      if (loop != plan_.below[id].back()) close_group();
    }
    use(term.operands[0]);
    if (const auto product = summed_product_of(term)) {
      for (const TermNumber factor : product->factors) use(factor);
      if (product->condition) use(*product->condition);
    }
    LEMMA_ASSIGN_OR_RETURN(source::Expression step, accumulation_text(term, held(id)));
    add_to_group(source::Assignment{held(id), std::move(step)});
    close_group();
    source_.close(plan_.below[id].size());
    return {};
  }

  /// Results that stay in vectors until they have all their terms.
  Result<void> write_vectors(TermNumber id, const VectorReduction& reduction) {
    const Term& term = graph_.term(id);
    LEMMA_ASSIGN_OR_RETURN(std::string type, computed_type(term.lanes));
    LEMMA_ASSIGN_OR_RETURN(std::string neutral, neutral_text(term));
    if (reduction.has_groups()) {
      type = "std::int32_t";
      neutral = "0";
    }
    source_.add(declaration_of_held(id, type));
    source_.open(source::Block{});
    source_.add(source::compile_time_constant("std::int64_t", "count",
                                              fmt::format("vector_lanes<{}>(lanes)", type)));
    const std::string vector = fmt::format("Vector<{}, count>", type);
    source_.add(source::Declaration{
        .type = vector, .name = "total", .extents = {rows_text(), "lanes / count"}});
    open_parts_of_rows();
    source_.add(source::Assignment{"total[row][part]", vector + "{} + " + neutral});
    source_.close(2);
    source_.add(index_declaration(block_.lane_axis, ""));
    // All elements of a group are multiplied at once.
    const std::size_t loops = plan_.below[id].size() - (reduction.has_groups() ? 1 : 0);
    std::vector<LoopVariable> variables;
    for (std::size_t i = 0; i < loops; ++i)
      variables.push_back(plan_.regions[plan_.below[id][i]].variable);
    const auto prefetches = prefetch_terms(nest_, block_, reduction, variables);
    for (std::size_t i = 0; i < loops; ++i) {
      open_loop(plan_.below[id][i], "0", "1",
                i + 1 == loops ? block_.schedule.unroll.value_or(1) : 1);
      for (const TermPrefetch& prefetch : prefetches)
        if (prefetch.depth == i + 1) source_.add(prefetch.call);
    }
    if (reduction.has_groups())
      source_.add(source::constant("std::int64_t", variable_name(term.bound.back()), "0"));
    write_step(term.kind, reduction, type);
    source_.close(loops);
    open_parts_of_rows();
    source_.add(source::Call{
        "store<count>",
        {fmt::format("&{}_held[row][part * count]", term_name(id)), "total[row][part]"}});
    source_.close(3);
    held_.insert(id);
    return {};
  }

  void open_rows() { source_.open(source::counting_loop("row", "0", rows_text())); }
  void open_parts() { source_.open(source::counting_loop("part", "0", "lanes / count")); }
  void open_parts_of_rows() {
    open_rows();
    open_parts();
  }

  /// One term of each result. What is the same for all rows is loaded before them.
  void write_step(ExpressionKind kind, const VectorReduction& reduction, const std::string& type) {
    const bool across_first = !depends_on_row(reduction.across);
    const bool down_first = reduction.down && !depends_on_row(*reduction.down);
    const bool guards_first = std::none_of(reduction.guards.begin(), reduction.guards.end(),
                                           [this](TermNumber id) { return depends_on_row(id); });
    if (across_first) load_across(reduction, type);
    if (down_first) load_down(reduction, type);
    if (guards_first) find_lanes(reduction);
    open_rows();
    if (block_.has_rows()) source_.add(index_declaration(block_.row_axis, "row"));
    if (!guards_first) find_lanes(reduction);
    if (!across_first) load_across(reduction, type);
    if (reduction.down && !down_first) load_down(reduction, type);
    open_parts();
    const std::string total = "total[row][part]", across = "across[part]";
    if (reduction.has_groups())
      source_.add(source::Call{adder_of_groups(reduction), {total, across, "down"}});
    else if (!reduction.guards.empty())
      source_.add(source::Call{fmt::format("add_products_where<{}, count>", type),
                               {total, across, "down", "there[part]"}});
    else if (kind == ExpressionKind::sum && reduction.down)
      source_.add(
          source::Call{fmt::format("add_products<{}, count>", type), {total, across, "down"}});
    else if (kind == ExpressionKind::sum)
      source_.add(source::Assignment{total, across, "+="});
    else
      source_.add(source::Call{
          kind == ExpressionKind::minimum_over ? "take_minimum" : "take_maximum", {total, across}});
    source_.close(2);
  }

  /// Declares `there`: for each part a bit for each lane in which all guards hold.
  void find_lanes(const VectorReduction& reduction) {
    if (reduction.guards.empty()) return;
    const LoopVariable lane = nest_.axes[block_.lane_axis];
    source_.add(source::Declaration{
        .type = "std::uint64_t", .name = "there", .extents = {"lanes / count"}});
    open_parts();
    std::string text;
    for (const TermNumber id : reduction.guards) {
      lowering::Linear form = lowering::difference(graph_, graph_.term(id));
      if (graph_.term(id).kind == ExpressionKind::less_equal) form.constant -= 1;
      const std::int64_t step = form.coefficient(lane);
      text += fmt::format("{}lanes_below<count, {}>({} + part * count * {}LL)",
                          text.empty() ? "" : " & ", step, linear_text(graph_, form), step);
    }
    source_.add(source::Assignment{"there[part]", text});
    source_.close();
  }

  std::string element_read(TermNumber read) const {
    return fmt::format("{}[{}]", input_name(graph_.term(read).input),
                       linear_text(graph_, graph_.address(graph_.term(read))));
  }

  void load_across(const VectorReduction& reduction, const std::string& type) {
    source_.add(source::Declaration{.type = fmt::format("Vector<{}, count>", type),
                                    .name = "across",
                                    .extents = {"lanes / count"}});
    open_parts();
    const std::string element = "&" + element_read(reduction.across);
    const std::string first =
        reduction.has_groups() ? fmt::format("groups_at({})", element) : element;
    source_.add(source::Call{
        fmt::format("load<count, {}>", reduction.step),
        {"across[part]", fmt::format("{} + part * count * {}", first, reduction.step)}});
    source_.close();
  }

  void load_down(const VectorReduction& reduction, const std::string& type) {
    const std::string element = element_read(*reduction.down);
    source_.add(source::constant(
        type, "down", reduction.has_groups() ? fmt::format("group_at(&{})", element) : element));
  }

  std::string adder_of_groups(const VectorReduction& reduction) const {
    if (reduction.together == 2) return "add_products_of_pairs<count>";
    return fmt::format("add_products_of_bytes<count, {}>",
                       graph_.term(reduction.across).type == DataType::u8);
  }

  const ElementStore& store_;
  bool has_quotients_;
  std::set<TermNumber> written_;  // before the others of their region
};

/// The lanes of a block: those that fill a number of registers, or as many as the source chooses.
std::string lanes_text(const ElementBlock& block, const std::string& type) {
  if (!block.schedule.vectors)
    return fmt::format("{}<{}>({})", block.has_rows() ? "lanes_of_block" : "lanes_of_row", type,
                       block.lane_extent);
  const std::string in_register = fmt::format("register_elements<{}>", type);
  return fmt::format("{0} < {1} ? fitting({0}, {1}) : at_most({2}, {0} / {1}) * {1}",
                     block.lane_extent, in_register, *block.schedule.vectors);
}

std::string rows_text(const ElementBlock& block, const std::string& type) {
  if (block.schedule.rows)
    return fmt::format("even_parts({}, {})", block.row_extent, *block.schedule.rows);
  return fmt::format("{}<{}>({}, lanes)",
                     block.has_channel_lanes() ? "rows_of_panel" : "rows_of_block", type,
                     block.row_extent);
}

}  // namespace

Result<Statements> block_sizes(const LoweredOutput& nest, const ElementBlock& block) {
  if (block.converts)
    return Statements{source::compile_time_constant(
        "std::int64_t", "lanes",
        fmt::format("fitting({}, {})", block.lane_extent,
                    block.schedule.chunk.value_or(lanes_of_conversions)))};
  LEMMA_ASSIGN_OR_RETURN(std::string type,
                         computed_type(lowering::lane_kind(nest.type, nest.graph.domain())));
  for (TermNumber id = 0; id < nest.graph.size(); ++id)
    if (const auto reduction = find_vector_reduction(nest, block, id)) {
      // Their sums are what registers have to hold.
      LEMMA_ASSIGN_OR_RETURN(type, computed_type(nest.graph.term(id).lanes));
      if (!reduction->has_groups()) continue;
      type = "std::int32_t";
      break;
    }
  Statements sizes = {
      source::compile_time_constant("std::int64_t", "lanes", lanes_text(block, type))};
  if (block.has_rows())
    sizes.push_back(source::compile_time_constant("std::int64_t", "rows", rows_text(block, type)));
  return sizes;
}

Result<Statements> emit_block(const LoweredOutput& nest, const ElementBlock& block,
                              const ElementStore& store, bool has_quotients) {
  return BlockWriter(nest, block, store, has_quotients).write_all();
}

}  // namespace lemma::backend
