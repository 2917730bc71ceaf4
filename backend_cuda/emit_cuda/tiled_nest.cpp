#include "backend_cuda/emit_cuda/tiled_nest.h"

#include <algorithm>
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

  Result<Statements> write() {
    for (const std::size_t axis : product_.batches)
      source_.open(source::counting_loop(variable_name(nest_.axes[axis]), bounds_[axis].first,
                                         bounds_[axis].end));
    write_sizes();
    LEMMA_RETURN_IF_ERROR(write_factor("left", product_.left));
    LEMMA_RETURN_IF_ERROR(write_factor("right", product_.right));
    LEMMA_RETURN_IF_ERROR(write_after("store", false));
    source_.add(source::Call{
        fmt::format("sum_products<Results, {}, {}>", product_.tiles.stages, block_threads_),
        {"threads", "slots", "left", "right", "rows", "columns", fmt::format("{}", term_count()),
         "store"}});
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

  /// Writes what comes after the sum, which is read from an array of one element. `is_returned`: rather than stored.
  Result<void> write_after(const std::string& name, bool is_returned) {
    LoweredOutput rest = nest_;
    const std::uint32_t input = rest.graph.add_input({DataType::f32, {1}});
    rest.graph.replace_by_read(product_.sum, input, {Linear::of(0)});
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(nest_.type));
    Linear place;
    for (const LoopVariable axis : nest_.axes)
      place =
          lowering::combine(lowering::scale(place, nest_.graph.extent(axis)), Linear::atom(axis));
    source::Builder body;
    for (Statements indices :
         {axes_from(product_.left.lines, "row"), axes_from(product_.right.lines, "column")}) {
      // Values that are not stored may have no place.
      for (source::Statement& statement : indices)
        if (auto* const index = std::get_if<source::Declaration>(&statement.kind))
          index->may_be_unused = is_returned;
      body.add(std::move(indices));
    }
    source::Declaration sum = source::constant("float", input_name(input), "{sum}");
    sum.extents = {"1"};
    body.add(std::move(sum));
    LEMMA_ASSIGN_OR_RETURN(const std::string value, write_element(rest, body));
    if (is_returned)
      body.add(source::Return{fmt::format("static_cast<float>(static_cast<{}>({}))", type, value)});
    else
      body.add(ElementStore{fmt::format("y[{}]", linear_text(nest_.graph, place)), type}.of(value));
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
  source::Builder source_;
};

}  // namespace

Result<Statements> emit_tiled_nest(const LoweredOutput& nest, const TiledProduct& product,
                                   const std::vector<LoopBounds>& bounds,
                                   std::uint32_t block_threads) {
  return TiledWriter(nest, product, bounds, block_threads).write();
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
