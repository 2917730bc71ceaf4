#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "backend/layout/layout.h"
#include "backend/lower/copy_definition.h"
#include "lowering/regions.h"
#include "lowering/sum_of_products.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::Term;
using lowering::TermNumber;
using Kind = ExpressionKind;

/// Terms are there only where a form of an axis and a variable of the sum is a multiple of the stride.
struct Stride {
  std::size_t axis = 0;                   // position among those of the output
  std::optional<std::uint32_t> position;  // the variable of the sum, if it has more than one value
  std::int64_t stride = 1;
  std::int64_t constant = 0, of_axis = 1, of_position = 0;  // of the form

  bool divides(std::int64_t residue, std::int64_t first) const {
    return (constant + of_axis * residue + of_position * first) % stride == 0;
  }
};

/// Every `step`th value of a variable, from `first` on; none if there is no first.
struct Values {
  std::optional<std::int64_t> first;
  std::int64_t step = 1;
};

Values values_of(const Stride& stride, std::int64_t residue, std::int64_t extent) {
  Values values;
  values.step = stride.stride / std::gcd(stride.stride, stride.of_position);
  for (std::int64_t first = 0; first < std::min(values.step, extent) && !values.first; ++first)
    if (stride.divides(residue, first)) values.first = first;
  return values;
}

class StrideFinder {
 public:
  explicit StrideFinder(const Computation& computation)
      : definition_(computation.definition),
        output_(definition_.outputs()[computation.output]),
        terms_(lowering::Domain::native, computation.views) {}

  std::vector<Stride> find() {
    if (!add_variables()) return {};
    const std::vector<bool> is_reached = reachable_expressions(definition_, output_.value);
    std::vector<Stride> strides;
    std::size_t sums = 0;
    for (std::uint32_t i = 0; i < is_reached.size(); ++i) {
      const ExpressionNode& node = definition_.nodes()[i];
      if (!is_reached[i] || !is_reduction(node.kind)) continue;
      const ExpressionNode& body = definition_.node(node.operands[0]);
      if (++sums > 1 || node.kind != Kind::sum || body.kind != Kind::select) return {};
      const auto guard = lowering::translate(terms_, definition_, body.operands[0], environment_);
      if (!guard) return {};
      for (const TermNumber condition : lowering::conditions_of(terms_, *guard))
        if (const auto stride = stride_of(terms_.term(condition), node.bound))
          strides.push_back(*stride);
    }
    return strides;
  }

 private:
  bool add_variables() {
    for (std::uint32_t v = 0; v < definition_.variable_extents().size(); ++v) {
      const auto extent = definition_.variable_extents()[v].constant();
      if (!extent) return false;
      Linear form;
      if (*extent != 1) {
        const auto variable = terms_.variable(*extent);
        if (!variable) return false;
        form = Linear::atom(*variable);
        variables_[*variable] = v;
      }
      lowering::bind(environment_, v, terms_.linear(form));
    }
    return true;
  }

  /// Of a condition "form - stride * floor(form / stride) == 0".
  std::optional<Stride> stride_of(const Term& condition,
                                  const std::vector<VariableId>& bound) const {
    if (condition.kind != Kind::equal) return std::nullopt;
    const Linear rest = lowering::difference(terms_, condition);
    for (const auto& [atom, factor] : rest.terms) {
      if (atom < lowering::first_term_atom) continue;
      const Term& quotient = terms_.term(atom - lowering::first_term_atom);
      if (quotient.divisor < 2 || factor != -quotient.divisor ||
          !(lowering::combine(rest, Linear::atom(atom), quotient.divisor) == quotient.linear))
        return std::nullopt;
      return stride_of(quotient.linear, quotient.divisor, bound);
    }
    return std::nullopt;
  }

  std::optional<Stride> stride_of(const Linear& form, std::int64_t divisor,
                                  const std::vector<VariableId>& bound) const {
    Stride stride;
    stride.stride = divisor;
    stride.constant = form.constant;
    bool has_axis = false;
    for (const auto& [atom, factor] : form.terms) {
      if (atom >= lowering::first_term_atom) return std::nullopt;
      const VariableId variable{variables_.at(atom)};
      const auto axis = std::find(output_.axes.begin(), output_.axes.end(), variable);
      if (axis != output_.axes.end() && !has_axis) {
        has_axis = true;
        stride.axis = static_cast<std::size_t>(axis - output_.axes.begin());
        stride.of_axis = factor;
      } else if (std::find(bound.begin(), bound.end(), variable) != bound.end() &&
                 !stride.position) {
        stride.position = variable.v;
        stride.of_position = factor;
      } else {
        return std::nullopt;
      }
    }
    return has_axis ? std::optional(stride) : std::nullopt;
  }

  const Definition& definition_;
  const DefinedOutput& output_;
  lowering::TermGraph terms_;
  lowering::Environment environment_;
  std::map<std::uint32_t, std::uint32_t> variables_;  // of the definition, by loop variable
};

/// The definition for the elements whose indices along the axes of the strides have these residues. What index arithmetic
/// says of all of them is decided here.
class PartWriter {
 public:
  PartWriter(const Computation& whole, const std::vector<Stride>& strides,
             const std::vector<std::int64_t>& residues)
      : whole_(whole),
        before_(whole.definition),
        output_(before_.outputs()[whole.output]),
        strides_(strides),
        residues_(residues),
        terms_(lowering::Domain::native, whole.views) {}

  /// Nothing where a definition cannot be translated, or no term is left.
  std::optional<Definition> write() {
    if (!add_variables()) return std::nullopt;
    DefinitionCopier copier(builder_, before_, expressions_,
                            [this](ExpressionId id, const std::vector<Expression>& operands) {
                              return replacement(id, operands);
                            });
    const Expression value = copier.copy(output_.value);
    std::vector<Expression> axes;
    for (const VariableId axis : output_.axes) axes.push_back(new_variables_.at(axis.v));
    builder_.output(std::move(axes), value);
    // Once more, without what is left of conditions.
    return copied_output(std::move(builder_).finish(), 0, [](DefinitionBuilder&) -> Replace {
      return [](ExpressionId, const std::vector<Expression>&) { return std::nullopt; };
    });
  }

 private:
  bool add_variables() {
    for (std::uint32_t v = 0; v < before_.variable_extents().size(); ++v) {
      std::int64_t first = 0, step = 1;
      const std::int64_t extent = before_.variable_extents()[v].offset();
      for (std::size_t i = 0; i < strides_.size(); ++i) {
        const Stride& stride = strides_[i];
        if (output_.axes[stride.axis].v == v) {
          first = residues_[i];
          step = stride.stride;
        }
        if (stride.position != v) continue;
        const Values values = values_of(stride, residues_[i], extent);
        if (!values.first) return false;
        first = *values.first;
        step = values.step;
      }
      if (!add_variable(v, first, step, (extent - first + step - 1) / step)) return false;
    }
    return true;
  }

  bool add_variable(std::uint32_t v, std::int64_t first, std::int64_t step, std::int64_t extent) {
    const Expression variable = builder_.variable(extent);
    new_variables_.emplace(v, variable);
    expressions_.emplace(v, variable * Dimension(step) + Dimension(first));
    const auto loop = terms_.variable(extent);
    if (!loop) return false;
    by_loop_.emplace(*loop, variable);
    Linear form = extent == 1 ? Linear::of(0) : Linear::atom(*loop);
    form = lowering::scale(form, step);
    form.constant += first;
    lowering::bind(environment_, v, terms_.linear(form));
    return true;
  }

  std::optional<Expression> replacement(ExpressionId id, const std::vector<Expression>& operands) {
    const ExpressionNode& node = before_.node(id);
    if (is_reduction(node.kind)) {
      std::vector<Expression> bound;
      for (const VariableId v : node.bound) bound.push_back(new_variables_.at(v.v));
      return builder_.reduce(node.kind, std::move(bound), operands[0]);
    }
    if (node.kind == Kind::select)
      if (const auto decided = known_condition(operands[0])) return operands[*decided ? 1 : 2];
    if (node.kind == Kind::logical_and)
      for (const std::size_t i : {0, 1})
        if (const auto decided = known_condition(operands[i]))
          return *decided ? operands[1 - i] : operands[i];
    if (node.kind == Kind::equal || node.kind == Kind::less || node.kind == Kind::less_equal)
      return decided_comparison(id);
    return node.type == DataType::i64 && node.kind != Kind::read ? linear(id) : std::nullopt;
  }

  std::optional<bool> known_condition(Expression condition) const {
    const ExpressionNode& node = builder_.node(condition.id());
    if (node.kind != Kind::integer_constant) return std::nullopt;
    return node.integer != 0;
  }

  std::optional<Expression> decided_comparison(ExpressionId id) {
    const auto number = lowering::translate(terms_, before_, id, environment_);
    if (!number) return std::nullopt;
    const Term& term = terms_.term(*number);
    if (term.kind == Kind::integer_constant || !lowering::compares_linear(terms_, term))
      return std::nullopt;
    const lowering::Interval range = terms_.range(lowering::difference(terms_, term));
    const std::int64_t limit = term.kind == Kind::less ? -1 : 0;
    const bool always = range.high <= limit && (term.kind != Kind::equal || range.low >= limit);
    const bool never = range.low > limit || (term.kind == Kind::equal && range.high < limit);
    if (!always && !never) return std::nullopt;
    return builder_.integer(always ? 1 : 0, DataType::boolean);
  }

  /// Index arithmetic that is a linear form of the variables.
  std::optional<Expression> linear(ExpressionId id) {
    const auto number = lowering::translate(terms_, before_, id, environment_);
    if (!number) return std::nullopt;
    const Linear form = terms_.form(*number);
    Expression sum;
    bool is_empty = true;
    for (const auto& [atom, factor] : form.terms) {
      if (atom >= lowering::first_term_atom) return std::nullopt;
      const Expression term = by_loop_.at(atom) * Dimension(factor);
      sum = is_empty ? term : sum + term;
      is_empty = false;
    }
    if (is_empty) return builder_.integer(form.constant);
    return form.constant == 0 ? sum : sum + builder_.integer(form.constant);
  }

  const Computation& whole_;
  const Definition& before_;
  const DefinedOutput& output_;
  const std::vector<Stride>& strides_;
  const std::vector<std::int64_t>& residues_;
  DefinitionBuilder builder_;
  lowering::TermGraph terms_;
  lowering::Environment environment_;
  std::map<std::uint32_t, Expression> new_variables_,
      expressions_;  // by variable of the definition
  std::map<std::uint32_t, Expression> by_loop_;
};

class StrideSplit {
 public:
  explicit StrideSplit(ComputationGraph graph) : graph_(std::move(graph)) {}

  ComputationGraph run() {
    std::vector<Computation> before = std::exchange(graph_.computations, {});
    for (Computation& computation : before)
      if (!split(computation)) graph_.computations.push_back(std::move(computation));
    return std::move(graph_);
  }

 private:
  bool split(const Computation& whole) {
    constexpr std::int64_t most_parts = 16;
    const std::vector<Stride> strides = StrideFinder(whole).find();
    std::int64_t count = 1;
    for (const Stride& stride : strides) {
      count *= stride.stride;
      if (stride.stride > size_of(whole, stride) || count > most_parts) return false;
    }
    if (strides.empty()) return false;
    std::vector<Computation> parts;
    std::vector<Buffer> buffers;
    for (std::int64_t number = 0; number < count; ++number) {
      Computation part = whole;
      const auto definition = PartWriter(whole, strides, residues_of(strides, number)).write();
      if (!definition) return false;
      part.definition = *definition;
      part.output = 0;
      part.name = fmt::format("{} (part {})", whole.name, number);
      part.result = static_cast<BufferNumber>(graph_.buffers.size() + buffers.size());
      buffers.push_back(buffer_of(part, graph_.buffers[whole.result].type));
      parts.push_back(std::move(part));
    }
    graph_.buffers.insert(graph_.buffers.end(), buffers.begin(), buffers.end());
    Computation together = assembled(whole, strides, parts);
    std::move(parts.begin(), parts.end(), std::back_inserter(graph_.computations));
    graph_.computations.push_back(std::move(together));
    return true;
  }

  static std::int64_t size_of(const Computation& whole, const Stride& stride) {
    const DefinedOutput& output = whole.definition.outputs()[whole.output];
    return whole.definition.extent(output.axes[stride.axis]).offset();
  }

  /// The residue of the last stride changes fastest.
  static std::vector<std::int64_t> residues_of(const std::vector<Stride>& strides,
                                               std::int64_t number) {
    std::vector<std::int64_t> residues(strides.size());
    for (std::size_t i = strides.size(); i-- > 0;) {
      residues[i] = number % strides[i].stride;
      number /= strides[i].stride;
    }
    return residues;
  }

  static Buffer buffer_of(const Computation& part, DataType type) {
    Buffer buffer;
    buffer.name = part.name;
    buffer.type = type;
    buffer.elements = 1;
    for (const VariableId axis : part.definition.outputs()[0].axes) {
      buffer.sizes.push_back(part.definition.extent(axis).offset());
      buffer.elements *= buffer.sizes.back();
    }
    return buffer;
  }

  /// The elements of all parts in their places.
  Computation assembled(const Computation& whole, const std::vector<Stride>& strides,
                        const std::vector<Computation>& parts) const {
    const DefinedOutput& output = whole.definition.outputs()[whole.output];
    Computation result;
    result.name = whole.name;
    result.description = "parts of " + whole.description;
    result.result = whole.result;
    result.is_stored = true;
    DefinitionBuilder builder;
    std::vector<Expression> axes;
    for (const VariableId axis : output.axes)
      axes.push_back(builder.variable(whole.definition.extent(axis)));
    std::vector<Expression> indices = axes;
    for (const Stride& stride : strides)
      indices[stride.axis] = builder.floor_div(axes[stride.axis], stride.stride);
    std::vector<Expression> values;
    for (const Computation& part : parts) {
      const Buffer& buffer = graph_.buffers[part.result];
      values.push_back(
          builder.read(static_cast<std::uint32_t>(result.operands.size()), buffer.type, indices));
      result.operands.push_back(part.result);
      result.views.push_back({buffer.type, buffer.sizes, false});
    }
    for (std::size_t i = strides.size(); i-- > 0;)
      values = chosen(builder, axes[strides[i].axis], strides[i].stride, values);
    builder.output(axes, values.front());
    result.definition = std::move(builder).finish();
    return result;
  }

  /// Of each so many values in a row, the one whose number is the residue of the index.
  static std::vector<Expression> chosen(DefinitionBuilder& builder, Expression axis,
                                        std::int64_t stride,
                                        const std::vector<Expression>& values) {
    const Expression residue = builder.floor_mod(axis, stride);
    std::vector<Expression> result;
    const auto count = static_cast<std::size_t>(stride);
    for (std::size_t first = 0; first < values.size(); first += count) {
      Expression value = values[first + count - 1];
      for (std::size_t i = count - 1; i-- > 0;)
        value = builder.select(residue == builder.integer(static_cast<std::int64_t>(i)),
                               values[first + i], value);
      result.push_back(value);
    }
    return result;
  }

  ComputationGraph graph_;
};

}  // namespace

ComputationGraph split_by_stride(ComputationGraph graph) {
  return StrideSplit(std::move(graph)).run();
}

}  // namespace lemma::backend
