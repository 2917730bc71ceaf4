#include "backend_cuda/emit_cuda/tiled_text.h"

#include <fmt/format.h>

#include "backend_cuda/emit/emit_element.h"
#include "backend_cuda/emit/source_types.h"
#include "backend_cuda/emit_cuda/spread_nest.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

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
              const std::vector<LoopBounds>& bounds, std::uint32_t block_threads, int indent)
      : nest_(nest),
        product_(product),
        bounds_(bounds),
        block_threads_(block_threads),
        indent_(indent) {}

  Result<std::string> write() {
    open_batches();
    write_sizes();
    LEMMA_RETURN_IF_ERROR(write_factor("left", product_.left));
    LEMMA_RETURN_IF_ERROR(write_factor("right", product_.right));
    LEMMA_RETURN_IF_ERROR(write_store());
    line(fmt::format(
        "sum_products<Results, {}, {}>(threads, slots, left, right, rows, columns, {}, store);",
        product_.tiles.stages, block_threads_, term_count()));
    for (std::size_t i = 0; i < product_.batches.size(); ++i) close();
    return std::move(text_);
  }

 private:
  void line(std::string_view part) {
    text_ += std::string(static_cast<std::size_t>(indent_), ' ') + std::string(part) + "\n";
  }
  void open(std::string_view part) {
    line(part);
    indent_ += 2;
  }
  void close(std::string_view part = "}") {
    indent_ -= 2;
    line(part);
  }

  void open_batches() {
    for (const std::size_t axis : product_.batches)
      open(fmt::format("for (std::int64_t {0} = {1}; {0} < {2}; ++{0}) {{",
                       variable_name(nest_.axes[axis]), bounds_[axis].first, bounds_[axis].end));
  }

  std::string count_text(const std::vector<std::size_t>& axes) const {
    std::string count;
    for (const std::size_t axis : axes)
      count += (count.empty() ? "" : " * ") + length_text(bounds_[axis]);
    return fmt::format("static_cast<int>({})", count);
  }

  std::int64_t term_count() const {
    std::int64_t count = 1;
    for (const LoopVariable v : sum().bound) count *= nest_.graph.extent(v);
    return count;
  }

  const Term& sum() const { return nest_.graph.term(product_.sum); }

  void write_sizes() {
    const TileChoice& tiles = product_.tiles;
    const auto tile = [&](std::string_view name, const Factor& factor, std::int64_t lines) {
      line(fmt::format("using {} = FactorTile<{}, {}, {}, {}>;", name,
                       tile_element(tiles.arithmetic), order_text(factor), lines,
                       tiles.tile.terms));
    };
    line("// Tiles: " +
         tile_name(tiles, product_.left.access, product_.right.access, block_threads_));
    tile("Left", product_.left, tiles.tile.rows);
    tile("Right", product_.right, tiles.tile.columns);
    line(fmt::format("using Results = {}<Left, Right, {}, {}, {}>;",
                     tiles.arithmetic == TileArithmetic::f32 ? "ThreadTiles" : "MatrixTiles",
                     tiles.part_rows, tiles.part_columns, tiles.slices));
    line(fmt::format("static_assert(product_bytes<Results, {}>() <= {});", tiles.stages,
                     tiles.shared_bytes));
    line(fmt::format("const int rows = {}, columns = {};", count_text(product_.left.lines),
                     count_text(product_.right.lines)));
  }

  static std::string_view order_text(const Factor& factor) {
    return factor.access.lines_together ? "Order::lines" : "Order::terms";
  }

  /// The indices of the axes from one number.
  void write_axes(const std::vector<std::size_t>& axes, const std::string& number) {
    std::vector<LoopVariable> variables;
    std::vector<LoopBounds> bounds;
    for (const std::size_t axis : axes) {
      variables.push_back(nest_.axes[axis]);
      bounds.push_back(bounds_[axis]);
    }
    write_indices(variables, bounds, number);
  }

  void write_term_indices(const std::string& number) {
    std::vector<LoopBounds> bounds;
    for (const LoopVariable v : sum().bound) {
      const std::int64_t extent = nest_.graph.extent(v);
      bounds.push_back({"0", fmt::format("{}", extent), extent, extent});
    }
    write_indices(sum().bound, bounds, number);
  }

  void write_indices(const std::vector<LoopVariable>& variables,
                     const std::vector<LoopBounds>& bounds, const std::string& number) {
    for (const std::string& each : index_lines(variables, bounds, "std::uint32_t", number))
      line(each);
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
    open(fmt::format("const auto {} = {}_factor<{}, {}>(", name,
                     factor.is_in_block ? "window" : "tensor", order_text(factor),
                     factor.access.width));
    indent_ += 2;
    line(input_name(read.input) + ",");
    open("[&](int line) {");
    write_axes(factor.lines, "line");
    line(fmt::format("return static_cast<{}>({});", type, linear_text(nest_.graph, of_lines)));
    close("},");
    open("[&](int term) {");
    write_term_indices("term");
    line(fmt::format("return static_cast<{}>({});", type, linear_text(nest_.graph, of_terms)));
    close("});");
    indent_ -= 4;
    return {};
  }

  /// The statements of the nest for an element of a factor.
  Result<void> write_computed(const std::string& name, const Factor& factor) {
    open(fmt::format("const auto {} = computed_factor([&](int line, int term) {{", name));
    write_axes(factor.lines, "line");
    write_term_indices("term");
    LoweredOutput part = nest_;
    part.root = factor.term;
    LEMMA_RETURN_IF_ERROR(write_element(part, "return {};"));
    close("});");
    return {};
  }

  /// What comes after the sum, which is read from an array of one element.
  Result<void> write_store() {
    LoweredOutput rest = nest_;
    const std::uint32_t input = rest.graph.add_input({DataType::f32, {1}});
    rest.graph.replace_by_read(product_.sum, input, {Linear::of(0)});
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(nest_.type));
    Linear place;
    for (const LoopVariable axis : nest_.axes)
      place =
          lowering::combine(lowering::scale(place, nest_.graph.extent(axis)), Linear::atom(axis));
    open("const auto store = [&](int row, int column, float sum) {");
    write_axes(product_.left.lines, "row");
    write_axes(product_.right.lines, "column");
    line(fmt::format("const float {}[1] = {{sum}};", input_name(input)));
    LEMMA_RETURN_IF_ERROR(write_element(rest, fmt::format("y[{}] = static_cast<{}>({{}});",
                                                          linear_text(nest_.graph, place), type)));
    close("};");
    return {};
  }

  /// `use`: a statement with the element as "{}".
  Result<void> write_element(const LoweredOutput& nest, const std::string& use) {
    LEMMA_ASSIGN_OR_RETURN(const ElementSource element,
                           emit_element(nest, indent_, LongReductions::in_order));
    // Takes note of divisors of zero: what is divided is undefined, and may be selected away.
    if (element.statements.find(", ok)") != std::string::npos) line("std::uint8_t ok = 1;");
    text_ += element.statements;
    line(fmt::format(fmt::runtime(use), element.value));
    return {};
  }

  const LoweredOutput& nest_;
  const TiledProduct& product_;
  const std::vector<LoopBounds>& bounds_;
  std::uint32_t block_threads_;
  int indent_;
  std::string text_;
};

}  // namespace

Result<std::string> tiled_nest_text(const LoweredOutput& nest, const TiledProduct& product,
                                    const std::vector<LoopBounds>& bounds,
                                    std::uint32_t block_threads, int indent) {
  return TiledWriter(nest, product, bounds, block_threads, indent).write();
}

}  // namespace lemma::backend
