#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/layout/layout.h"
#include "backend/layout/short_rows.h"
#include "backend/lower/copy_definition.h"
#include "lowering/regions.h"

namespace lemma::backend {

namespace {

using lowering::Interval;
using lowering::Linear;
using lowering::TermNumber;
using Kind = ExpressionKind;

/// A read of one element behind a guard that holds exactly where the element is inside its tensor.
struct GuardedRead {
  ExpressionId select;
  std::optional<ExpressionId> read;    // nothing if the guard always holds
  double otherwise = 0;                // the element outside
  bool keeps_guard = false;            // what is done with the element outside must not be done
  std::vector<Interval> indices = {};  // by axis of the tensor
};

class GuardedReads {
 public:
  GuardedReads(const Computation& computation, const std::vector<Buffer>& buffers, ReadBy by)
      : computation_(computation),
        definition_(computation.definition),
        buffers_(buffers),
        by_(by),
        terms_(lowering::Domain::native, computation.views) {}

  /// The first one whose padding can be stored.
  std::optional<GuardedRead> find() {
    if (!add_variables()) return std::nullopt;
    const ExpressionId root = definition_.outputs()[computation_.output].value;
    const std::vector<bool> is_reached = reachable_expressions(definition_, root);
    for (std::uint32_t i = 0; i < is_reached.size(); ++i) {
      if (!is_reached[i] || definition_.nodes()[i].kind != Kind::select) continue;
      if (auto guarded = guarded_read({i})) return guarded;
    }
    return std::nullopt;
  }

 private:
  bool add_variables() {
    for (std::uint32_t v = 0; v < definition_.variable_extents().size(); ++v) {
      const auto extent = definition_.variable_extents()[v].constant();
      if (!extent) return false;
      Linear form = Linear::of(0);
      if (*extent != 1) {
        const auto variable = terms_.variable(*extent);
        if (!variable) return false;
        form = Linear::atom(*variable);
      }
      lowering::bind(environment_, v, terms_.linear(form));
    }
    return true;
  }

  std::optional<GuardedRead> guarded_read(ExpressionId select) {
    const ExpressionNode& node = definition_.node(select);
    std::vector<Linear> bounds;
    const auto guard = translated(node.operands[0]);
    if (!guard || !add_bounds(*guard, bounds)) return std::nullopt;
    if (bounds.empty()) return GuardedRead{.select = select, .read = std::nullopt};
    const ExpressionNode& otherwise = definition_.node(node.operands[2]);
    if (otherwise.kind != Kind::real_constant && otherwise.kind != Kind::integer_constant)
      return std::nullopt;
    const double value = otherwise.kind == Kind::real_constant
                             ? otherwise.real
                             : static_cast<double>(otherwise.integer);
    const ExpressionNode& then = definition_.node(node.operands[1]);
    if (then.kind == Kind::read) return checked(bounds, {select, node.operands[1], value});
    // 0 * w = 0 for every w that is finite.
    if (then.kind != Kind::multiply || value != 0) return std::nullopt;
    for (const std::size_t i : {0, 1})
      if (is_finite_weight(then.operands[1 - i]))
        if (auto guarded = checked(bounds, {.select = select, .read = then.operands[i]}))
          return guarded;
    // What is not added up needs no memory to be checked for it.
    for (const std::size_t i : {0, 1})
      if (by_ == ReadBy::vectors)
        if (auto guarded = checked(bounds, {select, then.operands[i], 0, true})) return guarded;
    return std::nullopt;
  }

  bool is_finite_weight(ExpressionId id) const {
    const ExpressionNode& node = definition_.node(id);
    if (node.kind != Kind::read || computation_.operands[node.input] == no_buffer) return false;
    const Buffer& buffer = buffers_[computation_.operands[node.input]];
    if (buffer.memory != Memory::weights || !buffer.contents) return false;
    const std::vector<double> elements = buffer.contents->reals();
    return std::all_of(elements.begin(), elements.end(), [](double x) { return std::isfinite(x); });
  }

  /// The read, if what is given says that the read is inside, and nothing else. Bounds are forms that are
  /// at most 0.
  std::optional<GuardedRead> checked(const std::vector<Linear>& given, GuardedRead result) {
    const ExpressionNode& node = definition_.node(*result.read);
    if (node.kind != Kind::read) return std::nullopt;
    std::vector<Linear> allowed, demanded;
    for (std::size_t axis = 0; axis < node.operands.size(); ++axis) {
      const auto index = translated(node.operands[axis]);
      if (!index) return std::nullopt;
      const Linear form = terms_.form(*index);
      const std::int64_t size = computation_.views[node.input].sizes[axis];
      const Interval range = terms_.range(form);
      if (!range.is_known()) return std::nullopt;
      const Linear below = lowering::scale(form, -1),
                   above = lowering::combine(form, Linear::of(size - 1), -1);
      allowed.insert(allowed.end(), {below, above});
      if (range.low < 0) demanded.push_back(below);
      if (range.high >= size) demanded.push_back(above);
      result.indices.push_back(range);
    }
    const auto is_in = [](const std::vector<Linear>& forms) {
      return [&forms](const Linear& condition_form) {
        return std::find(forms.begin(), forms.end(), condition_form) != forms.end();
      };
    };
    if (result.keeps_guard && demanded.empty()) return std::nullopt;
    if (!std::all_of(demanded.begin(), demanded.end(), is_in(given)) ||
        !std::all_of(given.begin(), given.end(), is_in(allowed)) || !is_affordable(result))
      return std::nullopt;
    return result;
  }

  /// Steps as large as the padding would store what nobody reads.
  bool is_affordable(const GuardedRead& guarded) const {
    constexpr double most_growth = 16, always = 65536;
    double elements = 1, source = 1;
    for (const Interval& range : guarded.indices)
      elements *= static_cast<double>(range.high) - static_cast<double>(range.low) + 1;
    for (const std::int64_t size : computation_.views[definition_.node(*guarded.read).input].sizes)
      source *= static_cast<double>(size);
    return elements <= std::max(always, most_growth * source);
  }

  std::optional<TermNumber> translated(ExpressionId id) {
    const auto term = lowering::translate(terms_, definition_, id, environment_);
    return term ? std::optional(*term) : std::nullopt;
  }

  /// The bounds that a condition is made of, but for those that always hold. False if there is anything else.
  bool add_bounds(TermNumber id, std::vector<Linear>& bounds) const {
    const lowering::Term& term = terms_.term(id);
    if (term.kind == Kind::logical_and)
      return add_bounds(term.operands[0], bounds) && add_bounds(term.operands[1], bounds);
    if (term.kind == Kind::integer_constant) return term.bits == 1;
    if (term.kind == Kind::equal || !lowering::compares_linear(terms_, term)) return false;
    Linear bound = lowering::difference(terms_, term);
    if (term.kind == Kind::less) bound.constant += 1;
    if (const Interval range = terms_.range(bound); !range.is_known() || range.high > 0)
      bounds.push_back(std::move(bound));
    return true;
  }

  const Computation& computation_;
  const Definition& definition_;
  const std::vector<Buffer>& buffers_;
  ReadBy by_;
  lowering::TermGraph terms_;
  lowering::Environment environment_;
};

class StoredPadding {
 public:
  StoredPadding(ComputationGraph graph, ReadBy by) : graph_(std::move(graph)), by_(by) {}

  ComputationGraph run() {
    for (Computation& computation : graph_.computations) {
      while (const auto guarded = GuardedReads(computation, graph_.buffers, by_).find())
        computation =
            guarded->read ? padded(computation, *guarded) : unguarded(computation, *guarded);
      result_.push_back(std::move(computation));
    }
    graph_.computations = std::move(result_);
    return std::move(graph_);
  }

 private:
  /// A buffer of the elements from the least index that is read to the greatest.
  BufferNumber stored(const Computation& reader, const GuardedRead& guarded) {
    const ExpressionNode& read = reader.definition.node(*guarded.read);
    const BufferNumber source = reader.operands[read.input];
    const lowering::InputView& view = reader.views[read.input];
    std::string key =
        fmt::format("{} {} {}", source, fmt::join(view.sizes, ","), guarded.otherwise);
    for (const Interval& range : guarded.indices)
      key += fmt::format(" {}..{}", range.low, range.high);
    if (const auto entry = stored_.find(key); entry != stored_.end()) return entry->second;

    Buffer buffer;
    buffer.name = graph_.buffers[source].name + " with padding";
    buffer.type = read.type;
    buffer.elements = 1;
    for (const Interval& range : guarded.indices) {
      buffer.sizes.push_back(range.high - range.low + 1);
      buffer.elements *= buffer.sizes.back();
    }
    const auto number = static_cast<BufferNumber>(graph_.buffers.size());
    result_.push_back({buffer.name,
                       "padding",
                       padding_of(buffer.sizes, view, guarded),
                       0,
                       {view},
                       {source},
                       number});
    graph_.buffers.push_back(std::move(buffer));
    stored_.emplace(std::move(key), number);
    return number;
  }

  static Definition padding_of(const std::vector<std::int64_t>& sizes,
                               const lowering::InputView& view, const GuardedRead& guarded) {
    DefinitionBuilder builder;
    std::vector<Expression> axes, indices;
    Expression is_inside = builder.integer(1, DataType::boolean);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      axes.push_back(builder.variable(sizes[axis]));
      indices.push_back(axes[axis] + builder.integer(guarded.indices[axis].low));
      if (guarded.indices[axis].low < 0)
        is_inside = is_inside && (builder.integer(0) <= indices[axis]);
      if (guarded.indices[axis].high >= view.sizes[axis])
        is_inside = is_inside && (indices[axis] < builder.integer(view.sizes[axis]));
    }
    builder.output(axes, builder.select(is_inside, builder.read(0, view.type, indices),
                                        builder.constant(guarded.otherwise, view.type)));
    return std::move(builder).finish();
  }

  /// The computation without the guard.
  static Computation unguarded(const Computation& reader, const GuardedRead& guarded) {
    Computation result = reader;
    result.output = 0;
    result.definition =
        copied_output(reader.definition, reader.output, [&](DefinitionBuilder&) -> Replace {
          return [&](ExpressionId id,
                     const std::vector<Expression>& operands) -> std::optional<Expression> {
            if (id == guarded.select) return operands[1];
            return std::nullopt;
          };
        });
    return result;
  }

  /// The computation with a read of the stored padding in the place of the guard.
  Computation padded(const Computation& reader, const GuardedRead& guarded) {
    const BufferNumber buffer = stored(reader, guarded);
    Computation result = reader;
    const auto input = static_cast<std::uint32_t>(result.operands.size());
    result.operands.push_back(buffer);
    result.views.push_back({graph_.buffers[buffer].type, graph_.buffers[buffer].sizes, false});
    result.output = 0;
    result.definition =
        copied_output(reader.definition, reader.output, [&](DefinitionBuilder& builder) -> Replace {
          return [&](ExpressionId id,
                     const std::vector<Expression>& operands) -> std::optional<Expression> {
            if (id == guarded.select && !guarded.keeps_guard) return operands[1];
            if (id != *guarded.read) return std::nullopt;
            std::vector<Expression> indices;
            for (std::size_t axis = 0; axis < operands.size(); ++axis)
              indices.push_back(operands[axis] - builder.integer(guarded.indices[axis].low));
            return builder.read(input, reader.definition.node(id).type, std::move(indices));
          };
        });
    forget_unread(result);
    return result;
  }

  ComputationGraph graph_;
  ReadBy by_;
  std::vector<Computation> result_;
  std::map<std::string, BufferNumber> stored_;
};

}  // namespace

ComputationGraph store_padding(ComputationGraph graph, ReadBy by) {
  return StoredPadding(std::move(graph), by).run();
}

}  // namespace lemma::backend
