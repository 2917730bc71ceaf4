#include "backend_cuda/emit_cuda/tiled_nest.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "backend/blocks/shared_terms.h"
#include "backend/emit/emit_element.h"
#include "backend/emit/source_types.h"
#include "backend_cuda/emit_cuda/spread_nest.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using source::Statements;

/// The type of elements of tiles in the source.
std::string_view tile_element(TileArithmetic arithmetic) {
  switch (arithmetic) {
    case TileArithmetic::f16: return "F16";
    case TileArithmetic::bf16: return "BF16";
    default: return "float";
  }
}

/// The part of a form that is made of some variables.
Linear restricted(const Linear& form, const std::vector<LoopVariable>& variables) {
  Linear result;
  for (const LoopVariable v : variables)
    if (const std::int64_t factor = form.coefficient(v); factor != 0)
      result = lowering::combine(result, Linear::atom(v), factor);
  return result;
}

class TiledWriter {
 public:
  TiledWriter(const LoweredOutput& nest, const TiledProduct& product,
              const std::vector<LoopBounds>& bounds, std::uint32_t block_threads)
      : nest_(nest), product_(product), bounds_(bounds), block_threads_(block_threads) {}

  /// Results go to the device's memory. `is_in_block`: by input.
  void store_in_memory(std::vector<bool> is_in_block) { is_in_block_ = std::move(is_in_block); }

  Result<Statements> write() {
    for (const std::size_t axis : product_.batches)
      source_.open(source::counting_loop(variable_name(nest_.axes[axis]), bounds_[axis].first,
                                         bounds_[axis].end));
    write_sizes();
    LEMMA_RETURN_IF_ERROR(write_factor("left", product_.left));
    LEMMA_RETURN_IF_ERROR(write_factor("right", product_.right));
    const std::int64_t together = stored_together();
    LEMMA_RETURN_IF_ERROR(together > 1 ? write_together("store", together)
                                       : write_after("store", false));
    const std::string width = together > 1 ? fmt::format(", {}", together) : "";
    source_.add(source::Call{fmt::format("sum_products<Results, {}, {}{}>", product_.tiles.stages,
                                         block_threads_, width),
                             {"threads", "slots", "left", "right", "rows", "columns",
                              fmt::format("{}", term_count()), "store"}});
    source_.close(product_.batches.size());
    return source_.take();
  }

  /// The statements of attention in which this is the product of its results, and `scores` that of its scores.
  Result<Statements> write_attention(TiledWriter& scores, const Attention& attention,
                                     Statements tensors_of_scores, Statements tensors_of_results) {
    source_.add(std::move(tensors_of_results));
    for (const std::size_t axis : product_.batches)
      source_.open(source::counting_loop(variable_name(nest_.axes[axis]), bounds_[axis].first,
                                         bounds_[axis].end));
    LEMMA_RETURN_IF_ERROR(write_factor("values", product_.right));
    LEMMA_RETURN_IF_ERROR(write_after("store", false));
    source_.open(source::Block{});
    source_.add(std::move(tensors_of_scores));
    for (const std::size_t axis : product_.batches)
      if (const std::string own = variable_name(scores.nest_.axes[axis]),
          other = variable_name(nest_.axes[axis]);
          own != other)
        source_.add(source::constant("std::int64_t", own, other));
    const std::vector<std::uint32_t> single = scores.single_elements();
    LEMMA_RETURN_IF_ERROR(scores.read_ahead(single, source_));
    LEMMA_RETURN_IF_ERROR(scores.write_factor("queries", scores.product_.left));
    LEMMA_RETURN_IF_ERROR(scores.write_factor("keys", scores.product_.right));
    LEMMA_RETURN_IF_ERROR(scores.write_after("score", true));
    source_.add(scores.source_.take());
    const std::string_view element = tile_element(attention.arithmetic);
    const auto tile = [&](const Factor& factor, std::int64_t lines, std::int64_t terms) {
      return fmt::format("FactorTile<{}, {}, {}, {}>", element, order_text(factor), lines, terms);
    };
    source_.add(source::TypeAlias{
        "Queries", tile(scores.product_.left, attention.tile_rows, attention.terms)});
    source_.add(
        source::TypeAlias{"Keys", tile(scores.product_.right, attention_step, attention.terms)});
    source_.add(
        source::TypeAlias{"Values", tile(product_.right, attention.values, attention_step)});
    source_.add(source::Call{"static_assert",
                             {fmt::format("attention_bytes<Queries, Keys, Values, {}>() <= {}",
                                          attention.is_in_lanes(), attention.shared_bytes)}});
    source_.add(source::Call{
        fmt::format("{}<Queries, Keys, Values, {}>",
                    attention.is_in_lanes() ? "attend_in_lanes" : "attend", block_threads_),
        {"threads", "slots", "queries", "keys", "values", scores.lines_text(scores.product_.left),
         fmt::format("{}", attention.columns), "score", "store"}});
    source_.close(1 + (single.empty() ? 0 : 1) + product_.batches.size());
    return source_.take();
  }

 private:
  /// Inputs of which the nest reads one element, whatever its variables are, such as a scale.
  std::vector<std::uint32_t> single_elements() const {
    std::set<std::uint32_t> inputs, others;
    for (lowering::TermNumber id = 0; id < nest_.graph.size(); ++id) {
      const Term& read = nest_.graph.term(id);
      if (read.kind != ExpressionKind::read) continue;
      const bool is_single =
          nest_.graph.address(read) == Linear::of(0) && count_of_elements(read.input) == 1;
      (is_single ? inputs : others).insert(read.input);
    }
    for (const std::uint32_t input : others) inputs.erase(input);
    return {inputs.begin(), inputs.end()};
  }

  std::int64_t count_of_elements(std::uint32_t input) const {
    std::int64_t count = 1;
    for (const std::int64_t size : nest_.graph.inputs()[input].sizes) count *= size;
    return count;
  }

  /// Reads such elements before the loops, in a scope in which they take the places of their tensors.
  Result<void> read_ahead(const std::vector<std::uint32_t>& inputs, source::Builder& to) const {
    if (inputs.empty()) return {};
    const auto type_of = [&](std::uint32_t input) {
      return stored_type(nest_.graph.inputs()[input].type);
    };
    for (const std::uint32_t input : inputs) {
      LEMMA_ASSIGN_OR_RETURN(const std::string type, type_of(input));
      to.add(source::constant(type, fmt::format("only{}", input),
                              fmt::format("{}[0]", input_name(input))));
    }
    to.open(source::Block{});
    for (const std::uint32_t input : inputs) {
      LEMMA_ASSIGN_OR_RETURN(const std::string type, type_of(input));
      to.add(source::constant(fmt::format("KnownElement<{}>", type), input_name(input),
                              fmt::format("{{only{}}}", input)));
    }
    return {};
  }

  std::string lines_text(const Factor& factor) const {
    std::vector<LoopBounds> bounds;
    for (const std::size_t axis : factor.lines) bounds.push_back(bounds_[axis]);
    return fmt::format("static_cast<int>({})", count_text(bounds));
  }

  std::int64_t term_count() const {
    std::int64_t count = 1;
    for (const LoopVariable v : sum().bound) count *= nest_.graph.extent(v);
    return count;
  }

  const Term& sum() const { return nest_.graph.term(product_.sum); }

  void write_sizes() {
    const TileChoice& tiles = product_.tiles;
    const auto tile = [&](std::string name, const Factor& factor, std::int64_t lines) {
      source_.add(source::TypeAlias{
          std::move(name), fmt::format("FactorTile<{}, {}, {}, {}>", tile_element(tiles.arithmetic),
                                       order_text(factor), lines, tiles.tile.terms)});
    };
    source_.add(source::Comment{
        "Tiles: " + tile_name(tiles, product_.left.access, product_.right.access, block_threads_)});
    tile("Left", product_.left, tiles.tile.rows);
    tile("Right", product_.right, tiles.tile.columns);
    source_.add(source::TypeAlias{
        "Results",
        fmt::format("{}<Left, Right, {}, {}, {}>",
                    tiles.arithmetic == TileArithmetic::f32 ? "ThreadTiles" : "MatrixTiles",
                    tiles.part_rows, tiles.part_columns, tiles.slices)});
    source_.add(source::Call{
        "static_assert",
        {fmt::format("product_bytes<Results, {}>() <= {}", tiles.stages, tiles.shared_bytes)}});
    source_.add(source::constant("int", "rows", lines_text(product_.left)));
    source_.add(source::constant("int", "columns", lines_text(product_.right)));
  }

  static std::string_view order_text(const Factor& factor) {
    return factor.access.lines_together ? "Order::lines" : "Order::terms";
  }

  /// The indices of the axes from one number.
  Statements axes_from(const std::vector<std::size_t>& axes, const std::string& number) const {
    std::vector<LoopVariable> variables;
    std::vector<LoopBounds> bounds;
    for (const std::size_t axis : axes) {
      variables.push_back(nest_.axes[axis]);
      bounds.push_back(bounds_[axis]);
    }
    return declare_indices(variables, bounds, number_type, number);
  }

  Statements term_indices_from(const std::string& number) const {
    std::vector<LoopBounds> bounds;
    for (const LoopVariable v : sum().bound) {
      const std::int64_t extent = nest_.graph.extent(v);
      bounds.push_back({"0", fmt::format("{}", extent), extent, extent});
    }
    return declare_indices(sum().bound, bounds, number_type, number);
  }

  Result<void> write_factor(const std::string& name, const Factor& factor) {
    if (!factor.is_read) return write_computed(name, factor);
    const Term& read = nest_.graph.term(factor.term);
    const Linear address = nest_.graph.address(read);
    const Linear of_terms = restricted(address, sum().bound);
    const Linear of_lines = lowering::combine(address, of_terms, -1);
    std::int64_t elements = 1;
    for (const std::int64_t size : nest_.graph.inputs()[read.input].sizes) elements *= size;
    const std::string_view type =
        elements < (std::int64_t{1} << 30) ? "std::int32_t" : "std::int64_t";
    const auto offset = [&](const std::string& number, Statements indices, const Linear& form) {
      indices.push_back(
          source::Return{fmt::format("static_cast<{}>({})", type, linear_text(nest_.graph, form))});
      return source::Lambda{{{"int", number}}, std::move(indices)};
    };
    source_.add(source::LambdaDeclaration{
        name,
        fmt::format("{}_factor<{}, {}>", factor.is_in_block ? "window" : "tensor",
                    order_text(factor), factor.access.width),
        {input_name(read.input)},
        {offset("line", axes_from(factor.lines, "line"), of_lines),
         offset("term", term_indices_from("term"), of_terms)}});
    return {};
  }

  /// The statements of the nest for an element of a factor.
  Result<void> write_computed(const std::string& name, const Factor& factor) {
    LoweredOutput part = nest_;
    part.root = factor.term;
    source::Builder body;
    body.add(axes_from(factor.lines, "line"));
    body.add(term_indices_from("term"));
    LEMMA_ASSIGN_OR_RETURN(const std::string value, write_element(part, body));
    body.add(source::Return{value});
    source_.add(source::LambdaDeclaration{
        name, "computed_factor", {}, {{{{"int", "line"}, {"int", "term"}}, body.take()}}});
    return {};
  }

  /// The nest with a read of an input of one element, the last one, in place of the sum.
  LoweredOutput after_sum() const {
    LoweredOutput rest = nest_;
    const std::uint32_t input = rest.graph.add_input({DataType::f32, {1}});
    rest.graph.replace_by_read(product_.sum, input, {Linear::of(0)});
    return rest;
  }

  Linear place_of_result() const {
    Linear place;
    for (const LoopVariable axis : nest_.axes)
      place =
          lowering::combine(lowering::scale(place, nest_.graph.extent(axis)), Linear::atom(axis));
    return place;
  }

  /// Whether all that is read after the sum at places that differ between so many neighbours is read by one access.
  bool reads_together(const LoweredOutput& rest, std::int64_t together) const {
    std::vector<bool> is_in_block = *is_in_block_;
    is_in_block.push_back(true);  // the sum
    const auto reads = reads_of_neighbours(rest, is_in_block, together);
    const std::vector<bool> is_used = terms_below(rest, rest.root);
    for (lowering::TermNumber id = 0; id <= rest.root; ++id) {
      const Term& term = rest.graph.term(id);
      if (!is_used[id]) continue;
      if (is_reduction(term.kind)) return false;
      if (term.kind != ExpressionKind::read || term.input + 1 == is_in_block.size()) continue;
      const auto own = reads.find(term.input);
      if ((own == reads.end() || own->second != id) &&
          (term.depends & lowering::set_of(nest_.axes.back())) != 0)
        return false;
    }
    return true;
  }

  /// Neighbours along the last axis that are stored at once: of 16 bytes at most, where every task has multiples of them.
  std::int64_t stored_together() const {
    constexpr std::int64_t most_bytes = 16, most_terms = 512;
    if (!is_in_block_ || product_.right.lines.back() + 1 != nest_.axes.size()) return 1;
    const LoweredOutput rest = after_sum();
    const std::int64_t extent = nest_.graph.extent(nest_.axes.back()),
                       multiple = bounds_.back().multiple,
                       terms = static_cast<std::int64_t>(nest_.graph.size());
    for (std::int64_t together = most_bytes / static_cast<std::int64_t>(byte_size(nest_.type));
         together > 1; together /= 2)
      if (extent % together == 0 && multiple % together == 0 &&
          product_.tiles.tile.columns % together == 0 && terms * together <= most_terms &&
          reads_together(rest, together))
        return together;
    return 1;
  }

  /// The same as write_after of neighbours that are stored at once.
  Result<void> write_together(const std::string& name, std::int64_t together) {
    const LoweredOutput rest = after_sum();
    const auto input = static_cast<std::uint32_t>(rest.graph.inputs().size() - 1);
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(nest_.type));
    std::vector<bool> is_in_block = *is_in_block_;
    is_in_block.push_back(true);
    auto reads = reads_of_neighbours(rest, is_in_block, together);
    const std::vector<bool> is_used = terms_below(rest, rest.root);
    std::erase_if(reads, [&](const auto& read) { return !is_used[read.second]; });
    source::Builder body;
    body.add(unused_allowed(axes_from(product_.left.lines, "row")));
    for (const auto& [other, id] : reads) {
      LEMMA_ASSIGN_OR_RETURN(const std::string stored,
                             stored_type(nest_.graph.inputs()[other].type));
      body.add(source::Declaration{.type = fmt::format("ptx::Together<{}, {}>", stored, together),
                                   .name = fmt::format("near{}", other)});
    }
    body.open(source::Block{});
    body.add(unused_allowed(axes_from(product_.right.lines, "column")));
    for (const auto& [other, id] : reads)
      body.add(source::Assignment{
          fmt::format("near{}", other),
          fmt::format("ptx::load_together<{}>({} + ({}))", together, input_name(other),
                      linear_text(rest.graph, rest.graph.address(rest.graph.term(id))))});
    body.close();
    body.add(source::Declaration{.type = fmt::format("ptx::Together<{}, {}>", type, together),
                                 .name = "results"});
    source::Loop loop =
        source::counting_loop("neighbour", "0", fmt::format("{}", together), "1", "unsigned");
    loop.is_unrolled = true;
    body.open(std::move(loop));
    body.add(source::constant("int", "own", "column + static_cast<int>(neighbour)"));
    body.add(unused_allowed(axes_from(product_.right.lines, "own")));
    for (const auto& [other, id] : reads) {
      LEMMA_ASSIGN_OR_RETURN(const std::string stored,
                             stored_type(nest_.graph.inputs()[other].type));
      body.add(source::constant(fmt::format("KnownElement<{}>", stored), input_name(other),
                                fmt::format("{{near{}.at[neighbour]}}", other)));
    }
    source::Declaration sum = source::constant("float", input_name(input), "{sums[neighbour]}");
    sum.extents = {"1"};
    body.add(std::move(sum));
    LEMMA_ASSIGN_OR_RETURN(const std::string value, write_element(rest, body));
    body.add(ElementStore{"results.at[neighbour]", type}.of(value));
    body.close();
    body.add(unused_allowed(axes_from(product_.right.lines, "column")));
    body.add(source::Call{
        "ptx::store_together",
        {fmt::format("y + ({})", linear_text(nest_.graph, place_of_result())), "results"}});
    source_.add(source::LambdaDeclaration{
        name,
        "",
        {},
        {{{{"int", "row"}, {"int", "column"}, {"const float*", "sums"}}, body.take()}}});
    return {};
  }

  /// Indices that a value may have no use for.
  static Statements unused_allowed(Statements indices) {
    for (source::Statement& statement : indices)
      if (auto* const index = std::get_if<source::Declaration>(&statement.kind))
        index->may_be_unused = true;
    return indices;
  }

  /// Writes what comes after the sum, which is read from an array of one element. `is_returned`: rather than stored.
  Result<void> write_after(const std::string& name, bool is_returned) {
    const LoweredOutput rest = after_sum();
    const auto input = static_cast<std::uint32_t>(rest.graph.inputs().size() - 1);
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(nest_.type));
    source::Builder body;
    for (Statements indices :
         {axes_from(product_.left.lines, "row"), axes_from(product_.right.lines, "column")})
      // Values that are not stored may have no place.
      body.add(is_returned ? unused_allowed(std::move(indices)) : std::move(indices));
    source::Declaration sum = source::constant("float", input_name(input), "{sum}");
    sum.extents = {"1"};
    body.add(std::move(sum));
    LEMMA_ASSIGN_OR_RETURN(const std::string value, write_element(rest, body));
    if (is_returned)
      body.add(source::Return{fmt::format("static_cast<float>(static_cast<{}>({}))", type, value)});
    else
      body.add(
          ElementStore{fmt::format("y[{}]", linear_text(nest_.graph, place_of_result())), type}.of(
              value));
    source_.add(source::LambdaDeclaration{
        name, "", {}, {{{{"int", "row"}, {"int", "column"}, {"float", "sum"}}, body.take()}}});
    return {};
  }

  /// The value of the element, after the statements that compute it.
  static Result<std::string> write_element(const LoweredOutput& nest, source::Builder& body) {
    LEMMA_ASSIGN_OR_RETURN(ElementSource element, emit_element(nest, LongReductions::in_order));
    // Takes note of divisors of zero: what is divided is undefined, and may be selected away.
    body.add(source::with_ok(std::move(element.statements)));
    return element.value;
  }

  static constexpr const char* number_type = "std::uint32_t";

  const LoweredOutput& nest_;
  const TiledProduct& product_;
  const std::vector<LoopBounds>& bounds_;
  std::uint32_t block_threads_;
  std::optional<std::vector<bool>> is_in_block_;  // where results go to the device's memory
  source::Builder source_;
};

}  // namespace

Result<Statements> emit_tiled_nest(const LoweredOutput& nest, const TiledProduct& product,
                                   const std::vector<LoopBounds>& bounds,
                                   const std::vector<bool>& is_in_block, bool is_stored_in_memory,
                                   std::uint32_t block_threads) {
  TiledWriter writer(nest, product, bounds, block_threads);
  if (is_stored_in_memory) writer.store_in_memory(is_in_block);
  return writer.write();
}

Result<Statements> emit_attention(const Attention& attention, const Phase& scores,
                                  const Phase& results, const std::vector<LoopBounds>& bounds,
                                  Statements tensors_of_scores, Statements tensors_of_results,
                                  std::uint32_t block_threads) {
  const auto all_bounds = [&bounds](const LoweredOutput& nest) {
    std::vector<LoopBounds> result = all_of(nest);
    std::copy(bounds.begin(), bounds.end(), result.begin());
    return result;
  };
  const std::vector<LoopBounds> of_scores = all_bounds(scores.nest),
                                of_results = all_bounds(results.nest);
  TiledWriter scores_writer(scores.nest, attention.scores, of_scores, block_threads);
  return TiledWriter(results.nest, attention.results, of_results, block_threads)
      .write_attention(scores_writer, attention, std::move(tensors_of_scores),
                       std::move(tensors_of_results));
}

}  // namespace lemma::backend
