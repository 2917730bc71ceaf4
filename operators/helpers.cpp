#include "operators/helpers.h"

#include <fmt/format.h>

namespace lemma::operators {

namespace {

Result<Dimension> common_size(const Dimension& x, const Dimension& y, const Shape& a,
                              const Shape& b) {
  if (x == y || y.is(1)) return x;
  if (x.is(1)) return y;
  // A symbolic size beside a fixed one other than 1: equal at run time, or the model is wrong.
  // The fixed size would be right for 1 as well, so it is the type of the result either way.
  if (x.is_constant() != y.is_constant()) return x.is_constant() ? x : y;
  if (x.is_constant())
    return bad_input(fmt::format("shapes {} and {} cannot be broadcast", text(a), text(b)));
  return unsupported(
      fmt::format("whether {} and {} can be broadcast is not known", text(a), text(b)));
}

}  // namespace

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  const Attributes none;
  return broadcast(Instance{{}, none}, a, b);
}

Result<Shape> broadcast(const Instance& instance, const Shape& a, const Shape& b) {
  const bool is_assumed = instance.constraints != nullptr && instance.constraints->assumes();
  if (is_assumed && a.size() != b.size() && !a.empty() && !b.empty())
    return unsupported("operands of unequal rank");
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    const Dimension &x = longer[offset + i], &y = shorter[i];
    if (x == y) continue;
    const bool meets_one = x.is(1) || y.is(1);
    if ((is_assumed || !meets_one) && instance.assumes(ConstraintKind::broadcasts, x, y)) {
      if (x.is(1)) result[offset + i] = y;
      continue;
    }
    if (y.is(1)) continue;
    LEMMA_ASSIGN_OR_RETURN(result[offset + i], common_size(x, y, a, b));
  }
  return result;
}

Result<bool> broadcasts_to(const Instance& instance, const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  const std::size_t offset = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Dimension &x = from[i], &y = to[offset + i];
    if (x == y || x.is(1) || instance.assumes(ConstraintKind::expands, x, y)) continue;
    LEMMA_ASSIGN_OR_RETURN(const Dimension size, common_size(y, x, to, from));
    if (!(size == y)) return false;
  }
  return true;
}

Result<Shape> broadcast_inputs(const Instance& instance) {
  Shape result;
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    if (!instance.has(i)) continue;
    LEMMA_ASSIGN_OR_RETURN(result, broadcast(instance, result, instance.shape(i)));
  }
  return result;
}

namespace {

bool belongs(DataType type, TypeSet set) {
  switch (set) {
    case TypeSet::any: return is_computable(type);
    case TypeSet::wide: return is_computable(type) && !is_narrow(type);
    case TypeSet::numeric: return is_real(type) || is_integer(type);
    case TypeSet::real: return is_real(type);
    case TypeSet::integer: return is_integer(type);
    case TypeSet::boolean: return type == DataType::boolean;
  }
  return false;
}

std::string_view describe(TypeSet set) {
  switch (set) {
    case TypeSet::any: return "a computable type";
    case TypeSet::wide: return "a type to compute with";
    case TypeSet::numeric: return "a numeric type";
    case TypeSet::real: return "a real type";
    case TypeSet::integer: return "an integer type";
    case TypeSet::boolean: return "bool";
  }
  return "";
}

}  // namespace

Result<void> require_type(const Instance& instance, std::size_t input, TypeSet set) {
  if (belongs(instance.type(input), set)) return {};
  return bad_input(
      fmt::format("input {} is {}, not {}", input, name(instance.type(input)), describe(set)));
}

Result<void> require_types(const Instance& instance, TypeSet set) {
  for (std::size_t i = 0; i < instance.inputs.size(); ++i) {
    if (!instance.has(i)) continue;
    LEMMA_RETURN_IF_ERROR(require_type(instance, i, set));
    if (instance.type(i) != instance.type(0))
      return bad_input(fmt::format("input {} is {}, but input 0 is {}", i, name(instance.type(i)),
                                   name(instance.type(0))));
  }
  return {};
}

Result<void> require_rank(const Instance& instance, std::size_t input, std::size_t minimum,
                          std::size_t maximum) {
  const std::size_t rank = instance.rank(input);
  if (rank >= minimum && rank <= maximum) return {};
  return bad_input(fmt::format(
      "input {} has the shape {}, but needs {} axes", input, text(instance.shape(input)),
      rank < minimum ? fmt::format("at least {}", minimum) : fmt::format("at most {}", maximum)));
}

Result<void> require_same_size(const Instance& instance, const Dimension& a, const Dimension& b,
                               std::string_view what) {
  if (a == b || instance.assumes(ConstraintKind::equal, a, b)) return {};
  if ((a - b).is_constant())
    return bad_input(fmt::format("{} are {} and {}", what, a.text(), b.text()));
  return unsupported(fmt::format("whether {} are {} or {} is not known", what, a.text(), b.text()));
}

Result<void> require_positive(const Instance& instance, std::string_view attribute) {
  const Shape& sizes = instance.attributes.dimensions(attribute);
  for (const Dimension& size : sizes)
    if (!instance.is_at_most(1, size))
      return bad_input(fmt::format("{} {} are not positive", attribute, text(sizes)));
  return {};
}

std::vector<Expression> broadcast_indices(DefinitionBuilder& builder, const Shape& shape,
                                          const std::vector<Expression>& axes) {
  std::vector<Expression> indices;
  const std::size_t offset = axes.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i)
    indices.push_back(shape[i].is(1) ? builder.integer(0) : axes[offset + i]);
  return indices;
}

Expression read_broadcast(DefinitionBuilder& builder, const Instance& instance, std::uint32_t input,
                          const std::vector<Expression>& axes) {
  return builder.read(input, instance.type(input),
                      broadcast_indices(builder, instance.shape(input), axes));
}

Definition define_elementwise(const Instance& instance, ElementBody body) {
  DefinitionBuilder builder;
  const std::vector<Expression> axes = builder.variables(*broadcast_inputs(instance));
  std::vector<Expression> operands;
  for (std::uint32_t i = 0; i < instance.inputs.size(); ++i)
    if (instance.has(i)) operands.push_back(read_broadcast(builder, instance, i, axes));
  builder.output(axes, body(builder, instance, std::move(operands)));
  return std::move(builder).finish();
}

Result<std::vector<TensorType>> infer_elementwise(const Instance& instance, TypeSet set) {
  LEMMA_RETURN_IF_ERROR(require_types(instance, set));
  LEMMA_ASSIGN_OR_RETURN(Shape shape, broadcast_inputs(instance));
  return std::vector<TensorType>{{instance.type(0), std::move(shape)}};
}

Result<std::vector<TensorType>> infer_same(const Instance& instance) {
  return std::vector<TensorType>{instance.inputs[0]};
}

Shape output_shape(const Instance& instance, InferFunction infer) {
  return *infer(instance)->front().shape;
}

}  // namespace lemma::operators
