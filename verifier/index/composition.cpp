#include "verifier/index/composition.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/constant_expression.h"
#include "verifier/index/composer.h"
#include "verifier/index/reindexing.h"
#include "verifier/index/solver.h"

namespace lemma::verifier::index {
namespace {

std::size_t term_count(const Dimension& value) {
  return value.terms().size() + (value.offset() == 0 ? 0 : 1);
}

/// The monomial by the first term of a divisor that has several.
std::optional<Dimension> leading_quotient(const Dimension& monomial, const Dimension& divisor) {
  if (term_count(divisor) < 2) return std::nullopt;
  const Dimension::Term& first = divisor.terms()[0];
  Dimension leading(first.coefficient);
  for (const Dimension::AtomPointer& atom : first.atoms) leading = leading * of_atom(*atom);
  return exact_div(monomial, leading);
}

/// floor(a / b) with multiples of b taken out and floors of floors merged. That is right for
/// positive divisors: `divisors` collects those that must be.
Dimension quotient(const Dimension& a, const Dimension& b, std::vector<Dimension>& divisors) {
  divisors.push_back(b);
  Dimension whole, rest(a.offset());
  if (b.is_constant()) return floor_div(a, b);
  for (const Dimension::Term& term : a.terms()) {
    Dimension monomial(term.coefficient);
    for (const Dimension::AtomPointer& atom : term.atoms) monomial = monomial * of_atom(*atom);
    if (const auto exact = exact_div(monomial, b))
      whole = whole + *exact;
    else
      rest = rest + monomial;
  }
  // A multiple of a divisor of several terms: what is left has fewer.
  for (const Dimension::Term& term : rest.terms()) {
    Dimension monomial(term.coefficient);
    for (const Dimension::AtomPointer& atom : term.atoms) monomial = monomial * of_atom(*atom);
    const auto multiple = leading_quotient(monomial, b);
    const Dimension less = multiple ? rest - *multiple * b : rest;
    if (!multiple || term_count(less) + 1 >= term_count(rest)) continue;
    divisors.push_back(b);
    return whole + *multiple + quotient(less, b, divisors);
  }
  if (rest.is(0)) return whole;
  const bool is_atom = rest.offset() == 0 && rest.terms().size() == 1 &&
                       rest.terms()[0].coefficient == 1 && rest.terms()[0].atoms.size() == 1;
  if (is_atom && rest.terms()[0].atoms[0]->kind == AtomKind::floor_div) {
    const Dimension::Atom& inner = *rest.terms()[0].atoms[0];
    divisors.push_back(inner.right);
    return whole + quotient(inner.left, inner.right * b, divisors);
  }
  return whole + floor_div(rest, b);
}

}  // namespace

std::vector<ComposedOutput> Composer::run(std::span<const ValueId> values) {
  std::vector<ComposedOutput> outputs;
  for (const ValueId value : values) {
    result_ = {};
    std::vector<Dimension> indices;
    const Shape& shape = *graph_.type(value).shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      const std::string name = fmt::format("_i{}", axis);
      const Dimension index = output_index(name, shape[axis]);
      indices.push_back(shape[axis].is(1) ? Dimension(0) : index);
    }
    result_.range = ranges(result_.axes);
    result_.value = element(value, indices, always());
    for (ReadElement& read : result_.reads) read = in_normal_variables(std::move(read));
    outputs.push_back(std::move(result_));
  }
  return outputs;
}

Dimension Composer::output_index(const std::string& name, const Dimension& extent) {
  const auto split = splits_.find(name);
  const auto count = split == splits_.end() ? std::nullopt : exact_div(extent, split->second);
  if (!count) {
    result_.axes.push_back({name, extent});
    return Dimension::symbol(name);
  }
  const Dimension high = output_index(name + "h", *count);
  return high * split->second + output_index(name + "l", split->second);
}

Ranges Composer::ranges_of(const Formula& path) const { return Ranges({path, result_.range}); }

ReadElement Composer::in_normal_variables(ReadElement read) const {
  if (read.bound.empty()) return read;
  std::set<std::string> own;
  for (const Bound& variable : read.bound) own.insert(ranges({variable})->text);
  std::vector<Formula> guards;
  const bool many = read.guard->kind == FormulaNode::Kind::conjunction;
  for (const Formula& part : many ? read.guard->parts : std::vector<Formula>{read.guard})
    if (!own.contains(part->text)) guards.push_back(part);
  Reduction reduction{read.bound, conjunction(std::move(guards)), {}, read.indices};
  reduction = with_normal_variables(std::move(reduction), ranges_of(always()));
  read.bound = std::move(reduction.bound);
  read.guard = both(ranges(read.bound), reduction.domain);
  read.indices = std::move(reduction.indices);
  return read;
}

const Definition& Composer::definition_of(NodeId id) {
  auto& slot = definitions_[id.v];
  if (!slot) {
    const Node& node = graph_.node(id);
    const OperatorRecord& op = graph_.op(node);
    if (op.define == nullptr) throw Unsupported(fmt::format("{} has no definition", op.name));
    const std::vector<TensorType> types = graph_.input_types(node);
    slot = std::make_unique<Definition>(op.define({types, node.attributes, node.output_count}));
  }
  return *slot;
}

Pieces Composer::element(ValueId value, const std::vector<Dimension>& indices, const Formula& path,
                         int width) {
  const TensorType& type = graph_.type(value);
  std::vector<Formula> sizes;
  for (const Dimension& size : *type.shape) sizes.push_back(less(0, size));
  const Formula inhabited = conjunction(std::move(sizes));
  if (!is_always(inhabited))
    result_.nonempty.push_back(is_always(path) ? inhabited
                                               : disjunction({negation(path), inhabited}));
  const NodeId producer = graph_.producer(value);
  const Node& node = graph_.node(producer);
  if (node.kind == NodeKind::input) {
    result_.reads.push_back({path, node.payload, indices, bound_});
    Polynomial result = read(node.payload, indices);
    if (type.data_type != DataType::boolean) return {{always(), std::move(result)}};
    return truth(is_positive(result));
  }
  if (node.kind == NodeKind::constant) return constant(node, path);
  if (node.kind != NodeKind::operation) throw Unsupported("an opaque operator");
  if (kernels_ != nullptr)
    if (auto computed = element_of_kernel(value, indices, path)) return std::move(*computed);
  const Definition& definition = definition_of(producer);
  const DefinedOutput& output = definition.outputs()[graph_.output_index(value)];
  Scope scope{definition, node, std::vector<Dimension>(definition.variable_extents().size())};
  for (std::size_t i = 0; i < output.axes.size(); ++i)
    scope.variables[output.axes[i].v] = indices[i];
  if (!is_integer(type.data_type)) return result_of(scope, output.value, path, 0);
  // A result wraps around when it is stored.
  Pieces result = result_of(scope, output.value, path, bits(type.data_type));
  if (width != 0 && width <= bits(type.data_type)) return result;
  return map(std::move(result),
             [&](const Polynomial& a) { return wrapped(a, type.data_type, input_types()); });
}

InputTypes Composer::input_types() const {
  return [this](std::uint32_t input) {
    return graph_.type(graph_.node(graph_.inputs()[input]).output()).data_type;
  };
}

void Composer::note_index(const Dimension& index, const Dimension& extent, const Formula& path) {
  result_.partial.push_back({path, "index", size(index), bound_, extent});
  result_.in_range.push_back(disjunction({negation(path), less(index, extent)}));
}

Pieces Composer::result_of(const Scope& scope, ExpressionId id, const Formula& path, int width) {
  const ExpressionNode& node = scope.definition.node(id);
  if (node.kind == Kind::select) return selected(scope, node, path, width, true);
  if (node.kind == Kind::cast && is_real(node.type) &&
      is_real(scope.definition.node(node.operands[0]).type))
    return result_of(scope, node.operands[0], path, 0);
  if (node.kind == Kind::maximum_over) return greatest(scope, node, path, 1, true);
  if (node.kind == Kind::minimum_over)
    return map(greatest(scope, node, path, -1, true),
               [](const Polynomial& a) { return scale(a, -1); });
  return real(scope, id, path, width);
}

Pieces Composer::constant(const Node& node, const Formula& path) {
  const Constant& constant = graph_.constant(node);
  if (kernels_ != nullptr && is_real(constant.type().data_type) && !constant.is_symbolic()) {
    if (constant.element_count() != 1) throw Unsupported("a constant of several elements");
    return {{always(), number_of_run(constant.reals().front())}};
  }
  if (const Definition* exact = constant.exact())
    return real(Scope{*exact, node, {}}, exact->outputs()[0].value, path);
  if (constant.element_count() != 1) throw Unsupported("a constant of several elements");
  if (!is_real(constant.type().data_type)) return {{always(), whole(constant.integers().front())}};
  return {{always(), number(constant.reals().front())}};
}

Polynomial Composer::parameter(const ExpressionNode& node) {
  if (!is_real(node.type)) throw Unsupported("a real parameter as an integer");
  Factor factor;
  factor.kind = Factor::Kind::parameter;
  factor.number = static_cast<double>(node.integer);
  return of_factor(std::move(factor));
}

bool Composer::is_number(const Definition& definition, ExpressionId id) {
  const auto value = constant_value(definition, id);
  return value && std::isfinite(*value);
}

// ---- Index arithmetic --------------------------------------------------------------------------

Dimension Composer::position(const Scope& scope, ExpressionId id, const Formula& path) {
  const ExpressionNode& node = scope.definition.node(id);
  // What depends on elements is one index as a whole: only of that it is known that it is inside
  // of a tensor.
  if (reads(scope.definition, id)) return as_index(real(scope, id, path));
  const auto operand = [&](std::size_t i) { return position(scope, node.operands[i], path); };
  switch (node.kind) {
    case Kind::integer_constant: return node.integer;
    case Kind::extent: return node.extent;
    case Kind::index: return scope.variables[node.variable.v];
    case Kind::add: return valid(operand(0) + operand(1));
    case Kind::subtract: return valid(operand(0) - operand(1));
    case Kind::multiply: return valid(operand(0) * operand(1));
    case Kind::minimum: return valid(minimum(operand(0), operand(1)));
    case Kind::maximum: return valid(maximum(operand(0), operand(1)));
    case Kind::floor_divide: return floor_of(operand(0), operand(1), path);
    case Kind::floor_modulo: {
      const Dimension dividend = operand(0), divisor = operand(1);
      return valid(dividend - divisor * floor_of(dividend, divisor, path));
    }
    default: throw Unsupported(fmt::format("'{}' in an index", name(node.kind)));
  }
}

Dimension Composer::valid(Dimension value) {
  if (!value.is_valid()) throw Unsupported("index arithmetic overflows");
  return value;
}

Dimension Composer::floor_of(const Dimension& a, const Dimension& b, const Formula& path) {
  std::vector<Dimension> divisors;
  const Ranges known = ranges_of(path);
  const Dimension merged = valid(quotient(known.simplified(a), b, divisors));
  Dimension result = valid(known.simplified(merged));
  for (const Dimension& divisor : divisors) {
    const Formula goal = less(0, divisor);
    if (!is_always(goal)) result_.obligations.push_back(disjunction({negation(path), goal}));
  }
  return result;
}

// ---- Conditions --------------------------------------------------------------------------------

Formula Composer::condition(const Scope& scope, ExpressionId id, const Formula& path) {
  const ExpressionNode& node = scope.definition.node(id);
  const auto index = [&](std::size_t i) { return position(scope, node.operands[i], path); };
  const auto part = [&](std::size_t i, const Formula& where) {
    return condition(scope, node.operands[i], where);
  };
  switch (node.kind) {
    case Kind::integer_constant: return node.integer != 0 ? always() : never();
    case Kind::less:
    case Kind::less_equal:
    case Kind::equal:
      if (!is_position(scope, node.operands[0]) || !is_position(scope, node.operands[1]))
        return comparison(scope, node, path);
      if (node.kind == Kind::equal) return equal(index(0), index(1));
      return node.kind == Kind::less ? less(index(0), index(1)) : less_equal(index(0), index(1));
    case Kind::logical_and: {
      const Formula first = part(0, path);
      return both(first, part(1, where_second_is_read(scope, node, first, path)));
    }
    case Kind::logical_or: return disjunction({part(0, path), part(1, path)});
    case Kind::logical_not: return negation(part(0, path));
    case Kind::read:
    case Kind::select: return holds(real(scope, id, path));
    case Kind::cast: {
      const DataType from = scope.definition.node(node.operands[0]).type;
      if (from == DataType::boolean) return part(0, path);
      return negation(any_piece(real(scope, node.operands[0], path), equals_zero));
    }
    case Kind::function:
      // No real number is one of these; whether one stands for it cannot be told.
      if (node.function == ScalarFunction::is_nan || node.function == ScalarFunction::is_infinite)
        return any_piece(real(scope, node.operands[0], path), [&node](const Polynomial& a) {
          return is_positive(opaque(std::string(name(node.function)), {a}, DataType::boolean));
        });
      throw Unsupported(fmt::format("'{}' in a condition", name(node.function)));
    default: throw Unsupported(fmt::format("'{}' in a condition", name(node.kind)));
  }
}

bool Composer::is_position(const Scope& scope, ExpressionId id) {
  return scope.definition.node(id).type == DataType::i64 && !reads(scope.definition, id);
}

Formula Composer::where_second_is_read(const Scope& scope, const ExpressionNode& node,
                                       const Formula& first, const Formula& path) {
  const bool guards = !reads(scope.definition, node.operands[0]) ||
                      has_index_of_elements(scope.definition, node.operands[1]);
  return guards ? both(path, first) : path;
}

bool Composer::has_index_of_elements(const Definition& definition, ExpressionId id) {
  const ExpressionNode& node = definition.node(id);
  return std::any_of(node.operands.begin(), node.operands.end(), [&](ExpressionId operand) {
    return (node.kind == Kind::read && reads(definition, operand)) ||
           has_index_of_elements(definition, operand);
  });
}

Formula Composer::holds(const Pieces& pieces) { return any_piece(pieces, is_positive); }

Pieces Composer::truth(const Formula& formula) {
  Pieces result;
  if (!is_never(formula)) result.push_back({formula, number(1)});
  if (!is_always(formula)) result.push_back({negation(formula), number(0)});
  return result;
}

Formula Composer::comparison(const Scope& scope, const ExpressionNode& node, const Formula& path) {
  if (scope.definition.node(node.operands[0]).type == DataType::boolean) {
    const Formula a = condition(scope, node.operands[0], path),
                  b = condition(scope, node.operands[1], path);
    if (node.kind != Kind::equal) throw Unsupported("an order of booleans");
    return disjunction({both(a, b), both(negation(a), negation(b))});
  }
  const Pieces a = real(scope, node.operands[0], path), b = real(scope, node.operands[1], path);
  if (kernels_ != nullptr && is_real(scope.definition.node(node.operands[0]).type)) {
    std::vector<Formula> ways;
    for (const Piece& x : a)
      for (const Piece& y : b)
        ways.push_back(
            both(both(x.guard, y.guard), rounded_comparison(node.kind, x.value, y.value)));
    return disjunction(std::move(ways));
  }
  const Pieces above =
      combine(b, a, [](const Polynomial& x, const Polynomial& y) { return add(x, scale(y, -1)); });
  if (node.kind == Kind::equal) return any_piece(above, equals_zero);
  if (node.kind == Kind::less) return any_piece(above, is_positive);
  return any_piece(above, [](const Polynomial& x) { return negation(is_positive(scale(x, -1))); });
}

Dimension with_merged_quotients(const Dimension& value, std::vector<Dimension>& divisors) {
  Dimension result(value.offset());
  for (const Dimension::Term& term : value.terms()) {
    Dimension monomial(term.coefficient);
    for (const Dimension::AtomPointer& atom : term.atoms)
      monomial = monomial *
                 (atom->kind == AtomKind::floor_div
                      ? quotient(with_merged_quotients(atom->left, divisors), atom->right, divisors)
                      : of_atom(*atom));
    result = result + monomial;
  }
  return result;
}

std::vector<ComposedOutput> compose(const Graph& graph, const std::vector<Formula>& facts,
                                    const IndexSplits& splits) {
  return Composer(graph, facts, splits).run(values_of(graph.outputs()));
}

std::vector<ComposedOutput> compose_run(const Graph& graph, std::span<const ValueId> values,
                                        const std::vector<Formula>& facts,
                                        const IndexSplits& splits, const Kernels& kernels) {
  return Composer(graph, facts, splits, &kernels).run(values);
}

std::vector<ValueId> values_of(std::span<const GraphOutput> outputs) {
  std::vector<ValueId> values;
  for (const GraphOutput& output : outputs) values.push_back(output.value);
  return values;
}

}  // namespace lemma::verifier::index
