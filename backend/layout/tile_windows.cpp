#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "backend/layout/channel_lanes.h"
#include "backend/layout/layout.h"
#include "backend/layout/short_rows.h"
#include "backend/layout/window_transform.h"
#include "backend/lower/copy_definition.h"
#include "backend/panels.h"
#include "lowering/sum_of_products.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Sizes;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

constexpr std::int64_t points = tile_side * tile_side;

/// A sum of products over all channels and a window of 3x3: result[n, k, y, x] is the sum over c, i, j of
/// image[n, c, y + i, x + j] * windows[k, c, i, j], and what else the definition does with it.
struct WindowSum {
  std::uint32_t image = 0, windows = 0;  // inputs
  std::int64_t batch = 1, filters = 0, channels = 0, height = 0, width = 0;

  std::int64_t tile_rows() const { return (height + result_side - 1) / result_side; }
  std::int64_t tile_columns() const { return (width + result_side - 1) / result_side; }
  /// Filters side by side.
  std::int64_t panel() const {
    return filters % channel_panels.front() == 0 ? channel_panels.front() : channel_panels.back();
  }
};

/// How tiles are dealt out: those of a group go through all steps before the next ones do.
struct TileGroups {
  std::int64_t outer = 1, inner = 1;  // images: one of both is the batch
  std::int64_t groups = 1, rows = 1;  // of an image, and rows of tiles in each

  std::int64_t count() const { return outer * groups; }
};

/// The groups of tiles that read least. What goes from step to step is read twice, and weights once for each group;
/// what a cache does not hold costs more.
TileGroups groups_of(const WindowSum& sum) {
  constexpr double near_bytes = 1 << 20, cache_bytes = 1 << 24, beyond_near = 2, beyond_cache = 6;
  const auto cost = [](double bytes) {
    return bytes <= near_bytes ? 1 : bytes <= cache_bytes ? beyond_near : beyond_cache;
  };
  const double weights = static_cast<double>(points * sum.channels * sum.filters) * sizeof(float);
  const double row =
      static_cast<double>(points * sum.tile_columns() * (sum.channels + sum.filters)) *
      sizeof(float);
  const double all = row * static_cast<double>(sum.batch * sum.tile_rows());
  TileGroups best{1, sum.batch, 1, sum.tile_rows()};
  double least = 2 * all * cost(all) + weights * cost(weights);
  for (std::int64_t rows = sum.tile_rows(); rows > 0; --rows) {
    if (sum.tile_rows() % rows != 0) continue;
    const TileGroups groups{sum.batch, 1, sum.tile_rows() / rows, rows};
    const double group_bytes = row * static_cast<double>(rows);
    const double bytes =
        2 * all * cost(group_bytes) + weights * cost(weights) * static_cast<double>(groups.count());
    if (bytes >= least) continue;
    least = bytes;
    best = groups;
  }
  return best;
}

class SumFinder {
 public:
  SumFinder(const Computation& computation, const std::vector<Buffer>& buffers,
            const LoweredOutput& nest)
      : computation_(computation), buffers_(buffers), nest_(nest) {}

  std::optional<WindowSum> find() {
    if (nest_.type != DataType::f32 || nest_.sizes.size() != 4) return std::nullopt;
    std::optional<TermNumber> sum;
    for (TermNumber id = 0; id < nest_.graph.size(); ++id) {
      if (!is_reduction(nest_.graph.term(id).kind)) continue;
      if (sum) return std::nullopt;
      sum = id;
    }
    if (!sum || nest_.graph.term(*sum).type != DataType::f32) return std::nullopt;
    sum_ = &nest_.graph.term(*sum);
    const auto product = lowering::summed_product(nest_.graph, *sum_);
    if (!product) return std::nullopt;
    for (const std::size_t i : {0, 1}) {
      const Term& image = nest_.graph.term((*product)[i]);
      const Term& windows = nest_.graph.term((*product)[1 - i]);
      if (image.kind == Kind::read && windows.kind == Kind::read)
        if (auto tiles = of_factors(image, windows)) return tiles;
    }
    return std::nullopt;
  }

 private:
  /// The variable of an axis of the result, as a form; 0 for axes of one element.
  Linear axis(std::size_t number) const {
    std::size_t next = 0;
    for (std::size_t i = 0; i < number; ++i)
      if (nest_.sizes[i] != 1) ++next;
    return nest_.sizes[number] == 1 ? Linear::of(0) : Linear::atom(nest_.axes[next]);
  }

  bool is_inside(const Term& read) const {
    for (std::size_t i = 0; i < read.indices.size(); ++i)
      if (!nest_.graph.is_inside(read, i)) return false;
    return true;
  }

  std::optional<WindowSum> of_factors(const Term& image, const Term& windows) const {
    const Sizes &all = nest_.sizes, &sizes = nest_.graph.inputs()[windows.input].sizes;
    if (image.indices.size() != 4 || windows.indices.size() != 4 || sum_->bound.size() != 3 ||
        sizes != Sizes{all[1], sizes[1], window_side, window_side} || !is_inside(image) ||
        !is_inside(windows) || !are_small_weights(windows.input))
      return std::nullopt;
    const Linear channel = Linear::atom(sum_->bound[0]), row = Linear::atom(sum_->bound[1]),
                 column = Linear::atom(sum_->bound[2]);
    const std::vector<Linear> of_windows = {axis(1), channel, row, column},
                              of_image = {axis(0), channel, lowering::combine(axis(2), row, 1),
                                          lowering::combine(axis(3), column, 1)};
    if (windows.indices != of_windows || image.indices != of_image ||
        nest_.graph.extent(sum_->bound[0]) != sizes[1] ||
        nest_.graph.extent(sum_->bound[1]) != window_side ||
        nest_.graph.extent(sum_->bound[2]) != window_side)
      return std::nullopt;
    return WindowSum{image.input, windows.input, all[0], all[1], sizes[1], all[2], all[3]};
  }

  bool are_small_weights(std::uint32_t input) const {
    if (!is_weight(computation_, buffers_, input)) return false;
    const auto& contents = buffers_[computation_.operands[input]].contents;
    if (!contents || contents->type().data_type != DataType::f32) return false;
    const std::vector<double> elements = contents->reals();
    // Finite, and so that what they are transformed to is, too.
    constexpr double most = 0x1p100;
    return std::all_of(elements.begin(), elements.end(),
                       [](double x) { return std::abs(x) <= most; });
  }

  const Computation& computation_;
  const std::vector<Buffer>& buffers_;
  const LoweredOutput& nest_;
  const Term* sum_ = nullptr;
};

/// Whether channels and filters fill vectors and panels, without which there are no tiles.
bool are_whole(const WindowSum& sum) {
  constexpr std::int64_t least_multiple = 16;
  return sum.channels % least_multiple == 0 && sum.filters % least_multiple == 0;
}

/// Whether tiles take clearly less time. In operations of a product: those of both ways, and what it takes to transform the
/// elements of a tile, to transpose an element, and to bring a byte of the weights (docs/rtask.md, "Costs of a processor").
bool pays(const WindowSum& sum) {
  constexpr double of_tile = 1000, of_element = 50, of_byte = 6, clearly = 0.9;
  const auto positions = static_cast<double>(sum.batch * sum.height * sum.width);
  const auto tiles = static_cast<double>(sum.batch * sum.tile_rows() * sum.tile_columns());
  const auto channels = static_cast<double>(sum.channels),
             filters = static_cast<double>(sum.filters);
  constexpr double taps = window_side * window_side;
  const double weights = channels * filters * sizeof(float) * of_byte;
  const double plain = 2 * taps * channels * filters * positions + taps * weights;
  const double tiled = 2 * points * channels * filters * tiles + points * weights +
                       (channels + filters) * (of_tile * tiles + of_element * positions);
  return tiled < clearly * plain;
}

/// The value for each element along an axis.
Expression chosen(DefinitionBuilder& builder, Expression axis, std::span<const Expression> values) {
  Expression result = values.back();
  for (std::size_t i = values.size() - 1; i-- > 0;)
    result =
        builder.select(axis == builder.integer(static_cast<std::int64_t>(i)), values[i], result);
  return result;
}

class TiledWindows {
 public:
  TiledWindows(ComputationGraph graph, lowering::Domain domain)
      : graph_(std::move(graph)), domain_(domain) {}

  Result<ComputationGraph> run() {
    for (Computation& computation : graph_.computations) {
      const auto nest = nest_of(computation);
      const auto sum = nest ? SumFinder(computation, graph_.buffers, *nest).find() : std::nullopt;
      if (sum && are_whole(*sum) && computation.schedule.tiles.value_or(pays(*sum)))
        LEMMA_RETURN_IF_ERROR(tile(computation, *sum));
      result_.push_back(std::move(computation));
    }
    graph_.computations = std::move(result_);
    return std::move(graph_);
  }

 private:
  Result<void> tile(Computation& computation, const WindowSum& sum) {
    LEMMA_ASSIGN_OR_RETURN(const BufferNumber windows,
                           windows_of(computation.operands[sum.windows], sum));
    const BufferNumber tiles = tiles_of(computation, sum);
    const BufferNumber products = products_of(computation.name, tiles, windows, sum);
    result_.back().schedule = std::exchange(computation.schedule, {});
    const BufferNumber results = results_of(computation.name, products, sum);
    replace_sum(computation, results, sum);
    return {};
  }

  BufferNumber add_buffer(std::string name, Sizes sizes) {
    Buffer buffer;
    buffer.name = std::move(name);
    buffer.type = DataType::f32;
    buffer.elements = 1;
    for (const std::int64_t size : sizes) buffer.elements *= size;
    buffer.sizes = std::move(sizes);
    graph_.buffers.push_back(std::move(buffer));
    return static_cast<BufferNumber>(graph_.buffers.size() - 1);
  }

  /// A computation of a new buffer with these sizes from others. `value`: of the axes.
  template <typename Value>
  BufferNumber add(std::string name, std::string description, const Sizes& sizes,
                   const std::vector<std::pair<BufferNumber, Sizes>>& operands,
                   const Value& value) {
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    for (const std::int64_t size : sizes) axes.push_back(builder.variable(size));
    builder.output(axes, value(builder, axes));
    Computation computation;
    computation.name = std::move(name);
    computation.description = std::move(description);
    computation.definition = std::move(builder).finish();
    for (const auto& [operand, view] : operands) {
      computation.operands.push_back(operand);
      computation.views.push_back({DataType::f32, view, false});
    }
    computation.result = add_buffer(computation.name, sizes);
    computation.is_stored = true;
    result_.push_back(std::move(computation));
    return result_.back().result;
  }

  Result<BufferNumber> windows_of(BufferNumber from, const WindowSum& sum) {
    if (const auto entry = windows_.find(from); entry != windows_.end()) return entry->second;
    LEMMA_ASSIGN_OR_RETURN(Constant contents, transformed_windows(*graph_.buffers[from].contents,
                                                                  sum.panel(), domain_));
    const BufferNumber number =
        add_buffer(graph_.buffers[from].name + " transformed",
                   {sum.filters / sum.panel(), points, sum.channels, sum.panel()});
    graph_.buffers[number].memory = Memory::weights;
    graph_.buffers[number].contents = std::move(contents);
    windows_.emplace(from, number);
    return number;
  }

  /// The image with whole tiles, and its transformed tiles: [image, group, point, image, row, column, channel].
  BufferNumber tiles_of(const Computation& computation, const WindowSum& sum) {
    const BufferNumber image = computation.operands[sum.image];
    const Sizes& view = computation.views[sum.image].sizes;
    const Sizes whole = {sum.batch, sum.channels, result_side * sum.tile_rows() + 2,
                         result_side * sum.tile_columns() + 2};
    const auto key = std::tuple(image, view, whole, groups_of(sum).groups);
    if (const auto entry = tiles_.find(key); entry != tiles_.end()) return entry->second;
    const std::string name = graph_.buffers[image].name;
    const BufferNumber turned = turned_image(name, whole_image(name, image, view, whole), whole);
    const TileGroups groups = groups_of(sum);
    const BufferNumber tiles = add(
        name + " in tiles", "tiles",
        {groups.outer, groups.groups, points, groups.inner, groups.rows, sum.tile_columns(),
         sum.channels},
        {{turned, {whole[0], whole[2], whole[3], whole[1]}}},
        [&groups](DefinitionBuilder& builder, const std::vector<Expression>& axes) {
          const Expression first_row = (axes[1] * groups.rows + axes[4]) * result_side,
                           first_column = axes[5] * result_side;
          std::array<std::array<Expression, tile_side>, tile_side> half;
          for (std::size_t j = 0; j < tile_side; ++j) {
            std::array<Expression, tile_side> column;
            for (std::size_t i = 0; i < tile_side; ++i)
              column[i] = builder.read(0, DataType::f32,
                                       {axes[0] + axes[3], first_row + static_cast<std::int64_t>(i),
                                        first_column + static_cast<std::int64_t>(j), axes[6]});
            const auto transformed = transformed_tile_row(builder, column);
            for (std::size_t i = 0; i < tile_side; ++i) half[i][j] = transformed[i];
          }
          std::vector<Expression> values;
          for (const auto& row : half)
            for (const Expression& value : transformed_tile_row(builder, row))
              values.push_back(value);
          return chosen(builder, axes[2], values);
        });
    tiles_.emplace(key, tiles);
    return tiles;
  }

  /// Tiles that reach over the edge find zeros there.
  BufferNumber whole_image(const std::string& name, BufferNumber image, const Sizes& view,
                           const Sizes& whole) {
    // The copies are of different forms: one after the other is faster than both as one.
    for (Computation& computation : result_)
      if (computation.result == image && computation.description == "padding")
        computation.is_stored = true;
    if (view == whole) return image;
    return add(name + " to whole tiles", "padding", whole, {{image, view}},
               [&view](DefinitionBuilder& builder, const std::vector<Expression>& axes) {
                 Expression is_inside = builder.integer(1, DataType::boolean);
                 for (std::size_t axis = 0; axis < axes.size(); ++axis)
                   is_inside = is_inside && builder.in_range(axes[axis], view[axis]);
                 return builder.select(is_inside, builder.read(0, DataType::f32, axes),
                                       builder.real(0, DataType::f32));
               });
  }

  /// Channels side by side: [batch, row, column, channel].
  BufferNumber turned_image(const std::string& name, BufferNumber image, const Sizes& sizes) {
    return add(name + " with channels last", "turning", {sizes[0], sizes[2], sizes[3], sizes[1]},
               {{image, sizes}},
               [](DefinitionBuilder& builder, const std::vector<Expression>& axes) {
                 return builder.read(0, DataType::f32, {axes[0], axes[3], axes[1], axes[2]});
               });
  }

  /// [image, group, point, image, row, column, panel, filter in the panel].
  BufferNumber products_of(const std::string& name, BufferNumber tiles, BufferNumber windows,
                           const WindowSum& sum) {
    const Sizes from = graph_.buffers[tiles].sizes;
    Sizes to = from;
    to.back() = sum.filters / sum.panel();
    to.push_back(sum.panel());
    return add(name + " in products", "products of tiles", to,
               {{tiles, from}, {windows, graph_.buffers[windows].sizes}},
               [&sum](DefinitionBuilder& builder, const std::vector<Expression>& axes) {
                 const Expression channel = builder.variable(sum.channels);
                 const std::vector<Expression> tile = {axes[0], axes[1], axes[2], axes[3],
                                                       axes[4], axes[5], channel},
                                               window = {axes[6], axes[2], channel, axes[7]};
                 return builder.sum({channel}, builder.read(0, DataType::f32, tile) *
                                                   builder.read(1, DataType::f32, window));
               });
  }

  /// [image, group, image, row, row in the tile, column, column in the tile, filter]: rows of elements in order.
  BufferNumber results_of(const std::string& name, BufferNumber products, const WindowSum& sum) {
    const TileGroups groups = groups_of(sum);
    return add(
        name + " in tiles", "results of tiles",
        {groups.outer, groups.groups, groups.inner, groups.rows, result_side, sum.tile_columns(),
         result_side, sum.filters},
        {{products,
          {groups.outer, groups.groups, points, groups.inner, groups.rows, sum.tile_columns(),
           sum.filters}}},
        [](DefinitionBuilder& builder, const std::vector<Expression>& axes) {
          std::array<std::array<Expression, tile_side>, result_side> half;
          for (std::size_t j = 0; j < tile_side; ++j) {
            std::array<Expression, tile_side> column;
            for (std::size_t i = 0; i < tile_side; ++i)
              column[i] = builder.read(
                  0, DataType::f32,
                  {axes[0], axes[1], builder.integer(static_cast<std::int64_t>(i * tile_side + j)),
                   axes[2], axes[3], axes[5], axes[7]});
            const auto transformed = transformed_product_row(builder, column);
            for (std::size_t i = 0; i < result_side; ++i) half[i][j] = transformed[i];
          }
          std::vector<Expression> rows;
          for (const auto& row : half)
            rows.push_back(chosen(builder, axes[6], transformed_product_row(builder, row)));
          return chosen(builder, axes[4], rows);
        });
  }

  /// The results take the place of the sum.
  void replace_sum(Computation& computation, BufferNumber results, const WindowSum& sum) {
    const Definition before = computation.definition;
    const DefinedOutput& output = before.outputs()[computation.output];
    const auto input = static_cast<std::uint32_t>(computation.operands.size());
    computation.operands.push_back(results);
    computation.views.push_back(
        {DataType::f32,
         {sum.batch, result_side * sum.tile_rows(), result_side * sum.tile_columns(), sum.filters},
         false});
    DefinitionBuilder builder;
    std::map<std::uint32_t, Expression> variables;
    std::vector<Expression> axes;
    for (const VariableId axis : output.axes) {
      axes.push_back(builder.variable(before.extent(axis)));
      variables.emplace(axis.v, axes.back());
    }
    DefinitionCopier copier(
        builder, before, std::move(variables),
        [&](ExpressionId id, const std::vector<Expression>&) -> std::optional<Expression> {
          if (before.node(id).kind != Kind::sum) return std::nullopt;
          return builder.read(input, DataType::f32, {axes[0], axes[2], axes[3], axes[1]});
        });
    const Expression value = copier.copy(output.value);
    builder.output(axes, value);
    computation.definition = std::move(builder).finish();
    computation.output = 0;
    forget_unread(computation);
  }

  ComputationGraph graph_;
  lowering::Domain domain_;
  std::vector<Computation> result_;
  std::map<BufferNumber, BufferNumber> windows_;
  std::map<std::tuple<BufferNumber, Sizes, Sizes, std::int64_t>, BufferNumber> tiles_;
};

}  // namespace

Result<ComputationGraph> tile_windows(ComputationGraph graph, lowering::Domain domain) {
  return TiledWindows(std::move(graph), domain).run();
}

}  // namespace lemma::backend
