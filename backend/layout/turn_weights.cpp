#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/blocks/shared_terms.h"
#include "backend/blocks/tile_choice.h"
#include "backend/layout/channel_lanes.h"
#include "backend/layout/layout.h"
#include "backend/lower/copy_definition.h"
#include "backend/pairs.h"
#include "lowering/sum_of_products.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using Kind = ExpressionKind;

/// The axis of an input that goes with the axis of the result whose elements are computed side by side.
struct Turned {
  std::uint32_t input = 0;
  std::size_t axis = 0;
  std::int64_t panel =
      0;  // elements of that axis that are to be side by side, or 0 for all of them
  bool has_groups =
      false;  // the last axis is that of a group (backend/pairs.h), and stays the last one
};

/// Wide enough for a block of one row, and for one of several rows (emit/parts/vectors.h).
constexpr std::array row_panels = {INT64_C(128), INT64_C(64)},
                     block_panels = {INT64_C(32), INT64_C(16)};

/// The axes that move: all, or all but that of groups.
std::size_t moving_axes(const lowering::Sizes& sizes, const Turned& turned) {
  return sizes.size() - (turned.has_groups ? 1 : 0);
}

/// Bytes of an element, or of a group.
std::size_t bytes_together(DataType type, const lowering::Sizes& sizes, const Turned& turned) {
  return byte_size(type) * (turned.has_groups ? static_cast<std::size_t>(sizes.back()) : 1);
}

/// Moves an axis behind the others.
template <typename T>
void rotate_axis(std::vector<T>& axes, std::size_t axis, std::size_t moving) {
  const auto first = axes.begin();
  std::rotate(first + static_cast<std::ptrdiff_t>(axis),
              first + static_cast<std::ptrdiff_t>(axis) + 1,
              first + static_cast<std::ptrdiff_t>(moving));
}

/// Copies elements so that one axis becomes the last.
Constant with_axis_last(const Constant& from, const lowering::Sizes& sizes, const Turned& turned) {
  const std::size_t axis = turned.axis, moving = moving_axes(sizes, turned);
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < moving; ++i) (i < axis ? outer : inner) *= i == axis ? 1 : sizes[i];
  const std::size_t size = bytes_together(from.type().data_type, sizes, turned);
  std::vector<std::byte> bytes(from.bytes().size());
  const std::byte* source = from.bytes().data();
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t a = 0; a < sizes[axis]; ++a)
      for (std::int64_t i = 0; i < inner; ++i, source += size)
        std::memcpy(
            bytes.data() + static_cast<std::size_t>((o * inner + i) * sizes[axis] + a) * size,
            source, size);
  lowering::Sizes result = sizes;
  rotate_axis(result, axis, moving);
  return detail::constant_from_copy(from.type().data_type, result, bytes.data(), bytes.size());
}

/// Elements [..., n] as [n / panel, ..., panel].
Constant in_panels(const Constant& from, const Turned& turned) {
  lowering::Sizes sizes;
  for (const Dimension& size : *from.type().shape) sizes.push_back(size.offset());
  const std::size_t last = moving_axes(sizes, turned) - 1;
  const std::size_t size = bytes_together(from.type().data_type, sizes, turned);
  const std::size_t row = static_cast<std::size_t>(sizes[last]) * size;
  const std::size_t part = static_cast<std::size_t>(turned.panel) * size;
  const std::size_t rows = row == 0 ? 0 : from.bytes().size() / row;
  std::vector<std::byte> bytes(from.bytes().size());
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t at = 0; at < row; at += part)
      std::memcpy(bytes.data() + at * rows + i * part, from.bytes().data() + i * row + at, part);
  const std::int64_t panels = sizes[last] / turned.panel;
  sizes[last] = turned.panel;
  sizes.insert(sizes.begin(), panels);
  return detail::constant_from_copy(from.type().data_type, sizes, bytes.data(), bytes.size());
}

class TurnedWeights {
 public:
  TurnedWeights(ComputationGraph graph, ReadBy by) : graph_(std::move(graph)), by_(by) {}

  ComputationGraph run() {
    std::vector<Computation> before = std::exchange(graph_.computations, {});
    for (Computation& computation : before) {
      turn_all(computation);
      graph_.computations.push_back(std::move(computation));
    }
    return without_unread_weights();
  }

 private:
  void turn_all(Computation& computation) {
    std::set<std::uint32_t> turned;
    while (const auto weight = find(computation, turned)) {
      turn(computation, *weight);
      turned.insert(weight->input);
    }
  }

  /// The next input that was not turned yet.
  std::optional<Turned> find(const Computation& computation,
                             const std::set<std::uint32_t>& done) const {
    const auto nest = nest_of(computation);
    if (!nest || nest->axes.empty()) return std::nullopt;
    if (const auto channels = find_channel_lanes(computation, graph_.buffers);
        channels && !done.contains(channels->weights))
      return of_channels(*nest, *channels);
    std::map<std::uint32_t, std::optional<Neighbours>> wanted;  // by input
    for (lowering::TermNumber id = 0; id < nest->graph.size(); ++id) {
      const lowering::Term& term = nest->graph.term(id);
      if (term.kind != Kind::read ||
          !(is_weight(computation, graph_.buffers, term.input) || is_worth_a_copy(*nest, id)))
        continue;
      auto neighbours = neighbours_of(*nest, id);
      if (neighbours) neighbours->has_groups = is_read_in_pairs(*nest, id);
      const auto [at, is_new] = wanted.try_emplace(term.input, neighbours);
      if (!is_new && at->second != neighbours) at->second = std::nullopt;
    }
    for (const auto& [input, neighbours] : wanted) {
      if (!neighbours || done.contains(input)) continue;
      const lowering::Sizes& sizes = computation.views[input].sizes;
      const bool has_groups = neighbours->has_groups;
      const std::int64_t panel =
          neighbours->are_terms
              ? 0
              : panel_of(*nest, sizes, neighbours->axis, has_groups, computation.schedule.panel);
      if (panel != 0 || is_followed(sizes, neighbours->axis, has_groups))
        return Turned{input, neighbours->axis, panel, has_groups};
    }
    return std::nullopt;
  }

  /// Whether a factor of a product that is no weight is copied in each run, so that sums can be computed side by side: many
  /// results share each of its elements.
  bool is_worth_a_copy(const LoweredOutput& nest, lowering::TermNumber read) const {
    constexpr std::int64_t least_results = 4, least_lanes = 8, least_step = 5;
    const lowering::Term& term = nest.graph.term(read);
    const LoopVariable lane = nest.axes.back();
    if (by_ != ReadBy::vectors || (term.type != DataType::f32 && term.type != DataType::f64) ||
        nest.graph.extent(lane) < least_lanes || results_of_element(nest, term) < least_results ||
        nest.graph.address(term).coefficient(lane) < least_step)
      return false;
    for (lowering::TermNumber id = read + 1; id < nest.graph.size(); ++id) {
      const auto product = lowering::summed_product(nest.graph, nest.graph.term(id));
      if (!product) continue;
      for (const std::size_t side : {0U, 1U}) {
        const lowering::Term& other = nest.graph.term((*product)[1 - side]);
        if ((*product)[side] == read && other.kind == Kind::read &&
            (other.depends & lowering::set_of(lane)) == 0)
          return true;
      }
    }
    return false;
  }

  /// The axis of weights along which they are read side by side.
  struct Neighbours {
    std::size_t axis = 0;
    bool are_terms = false;  // of a result, else of neighbouring results
    bool has_groups = false;
    friend bool operator==(const Neighbours&, const Neighbours&) = default;
  };

  std::optional<Neighbours> neighbours_of(const LoweredOutput& nest,
                                          lowering::TermNumber read) const {
    const lowering::Term& term = nest.graph.term(read);
    // What is added to sums, such as a mask, and lies as its results do.
    if (by_ == ReadBy::lanes && is_of_result(nest, term) &&
        nest.graph.address(term).coefficient(nest.axes.back()) == 1)
      return std::nullopt;
    if (by_ == ReadBy::lanes && results_of_element(nest, term) < least_lines)
      for (lowering::TermNumber id = read + 1; id < nest.graph.size(); ++id) {
        const lowering::Term& reduction = nest.graph.term(id);
        if (!is_long_reduction(nest, reduction)) continue;
        if (const auto axis = axis_of(term, reduction.bound.back())) return Neighbours{*axis, true};
      }
    const auto axis = axis_of(term, nest.axes.back());
    return axis ? std::optional<Neighbours>({*axis, false}) : std::nullopt;
  }

  static bool is_of_result(const LoweredOutput& nest, const lowering::Term& read) {
    lowering::VariableSet axes = 0;
    for (const LoopVariable axis : nest.axes) axes |= lowering::set_of(axis);
    return (read.depends & ~axes) == 0;
  }

  /// The number of results for which an element of the weights is read.
  static std::int64_t results_of_element(const LoweredOutput& nest, const lowering::Term& read) {
    std::int64_t results = 1;
    for (const LoopVariable axis : nest.axes)
      if ((read.depends & lowering::set_of(axis)) == 0) results *= nest.graph.extent(axis);
    return results;
  }

  /// 0 if the elements are side by side then, or their number is no multiple of one.
  static std::int64_t panel_of(const LoweredOutput& nest, const lowering::Sizes& sizes,
                               std::size_t axis, bool has_groups,
                               std::optional<std::int64_t> wanted) {
    std::int64_t results = 1, others = 1;
    for (const LoopVariable v : nest.axes) results *= nest.graph.extent(v);
    for (std::size_t i = 0; i + (has_groups ? 1 : 0) < sizes.size(); ++i)
      if (i != axis) others *= sizes[i];
    const bool is_row = results == sizes[axis];
    const std::vector<std::int64_t> parts = lowering::find_parts(nest);
    if (others == 1 || nest.graph.extent(nest.axes.back()) != sizes[axis]) return 0;
    if (wanted) {
      const bool fits = sizes[axis] > *wanted && sizes[axis] % *wanted == 0 &&
                        (parts.empty() || parts.back() == *wanted);
      return fits ? *wanted : 0;
    }
    if (!is_row && sizes[axis] == block_panels.front()) return 0;
    for (const std::int64_t panel : is_row ? row_panels : block_panels)
      if (sizes[axis] > panel && sizes[axis] % panel == 0 &&
          (parts.empty() || parts.back() == panel))
        return panel;
    return 0;
  }

  static bool is_followed(const lowering::Sizes& sizes, std::size_t axis, bool has_groups) {
    return std::any_of(sizes.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                       sizes.end() - (has_groups ? 1 : 0),
                       [](std::int64_t size) { return size != 1; });
  }

  /// Weights that are read in several ways stay as they are, and so does the rest of the computation.
  static std::optional<Turned> of_channels(const LoweredOutput& nest, const ChannelLanes& lanes) {
    std::optional<std::size_t> axis;
    bool has_groups = false;
    for (lowering::TermNumber id = 0; id < nest.graph.size(); ++id) {
      const lowering::Term& term = nest.graph.term(id);
      if (term.kind != Kind::read || term.input != lanes.weights) continue;
      const auto term_axis = axis_of(term, lanes.channel);
      if (!term_axis || (axis && axis != term_axis)) return std::nullopt;
      axis = term_axis;
      has_groups = is_read_in_pairs(nest, id);
    }
    const bool is_one_panel = nest.graph.extent(lanes.channel) == lanes.panel;
    return Turned{lanes.weights, *axis, is_one_panel ? 0 : lanes.panel, has_groups};
  }

  /// Nothing if the variable does not go with a single axis, or no other axis goes with a loop.
  static std::optional<std::size_t> axis_of(const lowering::Term& read, LoopVariable variable) {
    std::optional<std::size_t> axis;
    bool has_others = false;
    for (std::size_t i = 0; i < read.indices.size(); ++i) {
      const bool uses = read.indices[i].coefficient(variable) != 0;
      if (uses && (axis || !(read.indices[i] == lowering::Linear::atom(variable))))
        return std::nullopt;
      if (uses)
        axis = i;
      else if (!read.indices[i].is_constant())
        has_others = true;
    }
    return has_others ? axis : std::nullopt;
  }

  void turn(Computation& computation, const Turned& turned) {
    lowering::InputView& view = computation.views[turned.input];
    computation.operands[turned.input] =
        turned_buffer(computation.operands[turned.input], view.sizes, turned);
    view.sizes = graph_.buffers[computation.operands[turned.input]].sizes;
    const Definition before = computation.definition;
    computation.definition =
        copied_output(before, computation.output, [&](DefinitionBuilder& builder) -> Replace {
          return [&](ExpressionId id,
                     const std::vector<Expression>& operands) -> std::optional<Expression> {
            const ExpressionNode& node = before.node(id);
            if (node.kind != Kind::read || node.input != turned.input) return std::nullopt;
            std::vector<Expression> indices = operands;
            const std::size_t moving = indices.size() - (turned.has_groups ? 1 : 0);
            rotate_axis(indices, turned.axis, moving);
            if (turned.panel != 0) {
              const Expression index = indices[moving - 1];
              indices[moving - 1] = builder.floor_mod(index, turned.panel);
              indices.insert(indices.begin(), builder.floor_div(index, turned.panel));
            }
            return builder.read(node.input, node.type, std::move(indices));
          };
        });
    computation.output = 0;
  }

  BufferNumber turned_buffer(BufferNumber from, const lowering::Sizes& sizes,
                             const Turned& turned) {
    const std::string key =
        fmt::format("{} {} {} {}", from, fmt::join(sizes, ","), turned.axis, turned.panel);
    if (const auto entry = turned_.find(key); entry != turned_.end()) return entry->second;
    if (!graph_.buffers[from].contents) return copied_buffer(from, key, sizes, turned);
    Buffer buffer = graph_.buffers[from];
    buffer.contents = with_axis_last(*buffer.contents, sizes, turned);
    if (turned.panel != 0) buffer.contents = in_panels(*buffer.contents, turned);
    buffer.sizes.clear();
    for (const Dimension& size : *buffer.contents->type().shape)
      buffer.sizes.push_back(size.offset());
    buffer.name += " turned";
    graph_.buffers.push_back(std::move(buffer));
    const auto number = static_cast<BufferNumber>(graph_.buffers.size() - 1);
    turned_.emplace(key, number);
    return number;
  }

  /// A copy that is made in each run.
  BufferNumber copied_buffer(BufferNumber from, const std::string& key,
                             const lowering::Sizes& sizes, const Turned& turned) {
    Buffer buffer;
    buffer.name = graph_.buffers[from].name + " turned";
    buffer.type = graph_.buffers[from].type;
    buffer.elements = graph_.buffers[from].elements;
    buffer.sizes = sizes;
    std::rotate(buffer.sizes.begin() + static_cast<std::ptrdiff_t>(turned.axis),
                buffer.sizes.begin() + static_cast<std::ptrdiff_t>(turned.axis) + 1,
                buffer.sizes.end());
    if (turned.panel != 0) {
      buffer.sizes.insert(buffer.sizes.begin(), buffer.sizes.back() / turned.panel);
      buffer.sizes.back() = turned.panel;
    }
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    for (const std::int64_t size : buffer.sizes) axes.push_back(builder.variable(size));
    std::vector<Expression> indices = axes;
    if (turned.panel != 0) {
      indices.back() = axes.front() * Dimension(turned.panel) + axes.back();
      indices.erase(indices.begin());
    }
    std::rotate(indices.begin() + static_cast<std::ptrdiff_t>(turned.axis), indices.end() - 1,
                indices.end());
    builder.output(axes, builder.read(0, buffer.type, indices));
    const auto number = static_cast<BufferNumber>(graph_.buffers.size());
    Computation copy{
        buffer.name, "turning", std::move(builder).finish(), 0, {{buffer.type, sizes, false}},
        {from},      number};
    copy.is_stored = true;
    graph_.computations.push_back(std::move(copy));
    graph_.buffers.push_back(std::move(buffer));
    turned_.emplace(key, number);
    return number;
  }

  ComputationGraph without_unread_weights() {
    std::vector<bool> is_kept;
    for (const Buffer& buffer : graph_.buffers) is_kept.push_back(buffer.memory != Memory::weights);
    for (const Computation& computation : graph_.computations)
      for (const BufferNumber operand : computation.operands)
        if (operand != no_buffer) is_kept[operand] = true;
    std::vector<BufferNumber> numbers(is_kept.size(), no_buffer);
    std::vector<Buffer> buffers;
    for (BufferNumber i = 0; i < is_kept.size(); ++i) {
      if (!is_kept[i]) continue;
      numbers[i] = static_cast<BufferNumber>(buffers.size());
      buffers.push_back(std::move(graph_.buffers[i]));
    }
    graph_.buffers = std::move(buffers);
    for (Computation& computation : graph_.computations) {
      for (BufferNumber& operand : computation.operands)
        if (operand != no_buffer) operand = numbers[operand];
      computation.result = numbers[computation.result];
    }
    for (auto* ends : {&graph_.inputs, &graph_.outputs})
      for (BufferNumber& buffer : *ends) buffer = numbers[buffer];
    return std::move(graph_);
  }

  ComputationGraph graph_;
  ReadBy by_;
  std::map<std::string, BufferNumber> turned_;
};

}  // namespace

ComputationGraph turn_weights(ComputationGraph graph, ReadBy by) {
  return TurnedWeights(std::move(graph), by).run();
}

}  // namespace lemma::backend
