#include "verifier/index/composition.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "ir/constant_expression.h"
#include "verifier/index/elimination.h"
#include "verifier/index/greatest.h"
#include "verifier/index/ranges.h"
#include "verifier/index/reindexing.h"
#include "verifier/index/solver.h"

namespace lemma::verifier::index {
namespace {

using Kind = ExpressionKind;

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

bool mentions(const Formula& formula, const std::set<std::string>& names) {
  if (!formula->parts.empty())
    return std::any_of(formula->parts.begin(), formula->parts.end(),
                       [&names](const Formula& part) { return mentions(part, names); });
  std::map<std::string, int> symbols;
  collect_symbols(formula->value, symbols);
  return std::any_of(names.begin(), names.end(),
                     [&symbols](const std::string& name) { return symbols.contains(name); });
}

/// The conjuncts with and without the names.
struct SplitGuard {
  Formula outer, inner;
};
SplitGuard split_guard(const Formula& guard, const std::set<std::string>& names) {
  std::vector<Formula> outer, inner;
  const bool many = guard->kind == FormulaNode::Kind::conjunction;
  for (const Formula& part : many ? guard->parts : std::vector<Formula>{guard})
    (mentions(part, names) ? inner : outer).push_back(part);
  return {conjunction(std::move(outer)), conjunction(std::move(inner))};
}

// Axioms and definitions are a few operators deep: recursion is safe here.
class Composer {
 public:
  Composer(const Graph& graph, const std::vector<Formula>& facts, const IndexSplits& splits)
      : graph_(graph), facts_(facts), splits_(splits) {
    definitions_.resize(graph.node_count());
  }

  std::vector<ComposedOutput> run() {
    std::vector<ComposedOutput> outputs;
    for (const GraphOutput& output : graph_.outputs()) {
      result_ = {};
      std::vector<Dimension> indices;
      const Shape& shape = *graph_.type(output.value).shape;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::string name = fmt::format("_i{}", axis);
        const Dimension index = output_index(name, shape[axis]);
        indices.push_back(shape[axis].is(1) ? Dimension(0) : index);
      }
      result_.range = ranges(result_.axes);
      result_.value = element(output.value, indices, always());
      for (ReadElement& one : result_.reads) one = in_normal_variables(std::move(one));
      outputs.push_back(std::move(result_));
    }
    return outputs;
  }

 private:
  struct Scope {
    const Definition& definition;
    const Node& node;
    std::vector<Dimension> variables;  // by VariableId
  };

  /// The index, below its extent, or what it is split into.
  Dimension output_index(const std::string& name, const Dimension& extent) {
    const auto split = splits_.find(name);
    const auto count = split == splits_.end() ? std::nullopt : exact_div(extent, split->second);
    if (!count) {
      result_.axes.push_back({name, extent});
      return Dimension::symbol(name);
    }
    const Dimension high = output_index(name + "h", *count);
    return high * split->second + output_index(name + "l", split->second);
  }

  /// What is known of the variables where the path is taken.
  Ranges ranges_of(const Formula& path) const { return Ranges({path, result_.range}); }

  ReadElement in_normal_variables(ReadElement read) const {
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

  const Definition& definition_of(NodeId id) {
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

  Pieces element(ValueId value, const std::vector<Dimension>& indices, const Formula& path) {
    std::vector<Formula> sizes;
    for (const Dimension& size : *graph_.type(value).shape) sizes.push_back(less(0, size));
    const Formula inhabited = conjunction(std::move(sizes));
    if (!is_always(inhabited))
      result_.nonempty.push_back(is_always(path) ? inhabited
                                                 : disjunction({negation(path), inhabited}));
    const NodeId producer = graph_.producer(value);
    const Node& node = graph_.node(producer);
    if (node.kind == NodeKind::input) {
      result_.reads.push_back({path, node.payload, indices, bound_});
      return {{always(), read(node.payload, indices)}};
    }
    if (node.kind == NodeKind::constant) return constant(node, path);
    if (node.kind != NodeKind::operation) throw Unsupported("an opaque operator");
    const Definition& definition = definition_of(producer);
    const DefinedOutput& output = definition.outputs()[graph_.output_index(value)];
    Scope scope{definition, node, std::vector<Dimension>(definition.variable_extents().size())};
    for (std::size_t i = 0; i < output.axes.size(); ++i)
      scope.variables[output.axes[i].v] = indices[i];
    return result_of(scope, output.value, path);
  }

  /// The value of an output. A minimum or maximum of nothing is not defined as such a value; inside of
  /// a definition it is the neutral element.
  Pieces result_of(const Scope& scope, ExpressionId id, const Formula& path) {
    const ExpressionNode& node = scope.definition.node(id);
    if (node.kind == Kind::select) return selected(scope, node, path, true);
    if (node.kind == Kind::cast) {
      check_cast(scope, node);
      return result_of(scope, node.operands[0], path);
    }
    if (node.kind == Kind::maximum_over) return greatest(scope, node, path, 1, true);
    if (node.kind == Kind::minimum_over)
      return map(greatest(scope, node, path, -1, true),
                 [](const Polynomial& a) { return scale(a, -1); });
    return real(scope, id, path);
  }

  /// The number that a definition means, not the one that an element type has of it.
  Pieces constant(const Node& node, const Formula& path) {
    const Constant& constant = graph_.constant(node);
    if (const Definition* exact = constant.exact())
      return real(Scope{*exact, node, {}}, exact->outputs()[0].value, path);
    if (constant.element_count() != 1) throw Unsupported("a constant of several elements");
    if (!is_real(constant.type().data_type)) throw Unsupported("a constant of integers");
    return {{always(), number(constant.reals().front())}};
  }

  static Polynomial parameter(const ExpressionNode& node) {
    if (!is_real(node.type)) throw Unsupported("a real parameter as an integer");
    Factor factor;
    factor.kind = Factor::Kind::parameter;
    factor.number = static_cast<double>(node.integer);
    return of_factor(std::move(factor));
  }

  /// Whether it reads nothing and is a number: then each function in it is applied within its domain.
  static bool is_number(const Definition& definition, ExpressionId id) {
    const auto value = constant_value(definition, id);
    return value && std::isfinite(*value);
  }

  // ---- Index arithmetic ------------------------------------------------------------------------

  Dimension position(const Scope& scope, ExpressionId id, const Formula& path) {
    const ExpressionNode& node = scope.definition.node(id);
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

  static Dimension valid(Dimension value) {
    if (!value.is_valid()) throw Unsupported("index arithmetic overflows");
    return value;
  }

  Dimension floor_of(const Dimension& a, const Dimension& b, const Formula& path) {
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

  Formula condition(const Scope& scope, ExpressionId id, const Formula& path) {
    const ExpressionNode& node = scope.definition.node(id);
    const auto index = [&](std::size_t i) {
      if (scope.definition.node(node.operands[i]).type != DataType::i64 ||
          scope.definition.node(node.operands[i]).kind == Kind::read)
        throw Unsupported("a comparison of elements");
      return position(scope, node.operands[i], path);
    };
    const auto part = [&](std::size_t i) { return condition(scope, node.operands[i], path); };
    switch (node.kind) {
      case Kind::integer_constant: return node.integer != 0 ? always() : never();
      case Kind::less: return less(index(0), index(1));
      case Kind::less_equal: return less_equal(index(0), index(1));
      case Kind::equal: return equal(index(0), index(1));
      case Kind::logical_and: return both(part(0), part(1));
      case Kind::logical_or: return disjunction({part(0), part(1)});
      case Kind::logical_not: return negation(part(0));
      default: throw Unsupported(fmt::format("'{}' in a condition", name(node.kind)));
    }
  }

  // ---- Elements ----------------------------------------------------------------------------------

  template <typename F>
  static Pieces combine(const Pieces& a, const Pieces& b, F f) {
    Pieces result;
    for (const Piece& x : a)
      for (const Piece& y : b) {
        const Formula guard = both(x.guard, y.guard);
        if (!is_never(guard)) result.push_back({guard, f(x.value, y.value)});
      }
    constexpr std::size_t limit = 64;
    if (result.size() > limit) throw Unsupported("too many cases of conditions");
    return result;
  }

  template <typename F>
  static Pieces map(Pieces a, F f) {
    for (Piece& piece : a) piece.value = f(piece.value);
    return a;
  }

  Pieces real(const Scope& scope, ExpressionId id, const Formula& path) {
    const ExpressionNode& node = scope.definition.node(id);
    const auto operand = [&](std::size_t i) { return real(scope, node.operands[i], path); };
    refuse_integers(scope.definition, node);
    switch (node.kind) {
      case Kind::integer_constant: return {{always(), whole(node.integer)}};
      case Kind::real_constant: return {{always(), number(node.real)}};
      case Kind::real_parameter: return {{always(), parameter(node)}};
      case Kind::extent: return {{always(), size(node.extent)}};
      case Kind::index: return {{always(), size(scope.variables[node.variable.v])}};
      case Kind::read: {
        std::vector<Dimension> indices;
        for (const ExpressionId index : node.operands)
          indices.push_back(position(scope, index, path));
        return element(scope.node.inputs[node.input], indices, path);
      }
      case Kind::add: return combine(operand(0), operand(1), add);
      case Kind::subtract:
        return combine(operand(0), operand(1), [](const Polynomial& a, const Polynomial& b) {
          return add(a, scale(b, -1));
        });
      case Kind::multiply: return combine(operand(0), operand(1), multiply);
      case Kind::divide: return divided(scope, node, operand(0), operand(1), path);
      case Kind::minimum:
        return combine(operand(0), operand(1), [](const Polynomial& a, const Polynomial& b) {
          return scale(greater(scale(a, -1), scale(b, -1)), -1);
        });
      case Kind::maximum: return combine(operand(0), operand(1), greater);
      case Kind::power: return powers(operand(0), operand(1), path);
      case Kind::select: return selected(scope, node, path, false);
      case Kind::cast: return converted(scope, node, path);
      case Kind::function:
        if (is_number(scope.definition, id) && node.function != ScalarFunction::round)
          return map(operand(0), [&](const Polynomial& a) { return apply(node.function, a); });
        return applied(node, operand(0), path);
      case Kind::sum: return sum(scope, node, path);
      case Kind::maximum_over: return greatest(scope, node, path, 1, false);
      case Kind::minimum_over:
        return map(greatest(scope, node, path, -1, false),
                   [](const Polynomial& a) { return scale(a, -1); });
      default: throw Unsupported(fmt::format("'{}' of elements", name(node.kind)));
    }
  }

  /// Integers that are elements wrap around: they are copied, and nothing else. Sizes and indices
  /// are i64 and read no element; they are counted with.
  static void refuse_integers(const Definition& definition, const ExpressionNode& node) {
    const bool copies = node.kind == Kind::read || node.kind == Kind::select ||
                        node.kind == Kind::cast || node.kind == Kind::integer_constant ||
                        node.kind == Kind::index || node.kind == Kind::extent;
    if (is_real(node.type) || copies) return;
    const bool counts = node.type == DataType::i64 &&
                        std::none_of(node.operands.begin(), node.operands.end(),
                                     [&](ExpressionId id) { return reads(definition, id); });
    if (!counts) throw Unsupported("arithmetic with elements that are integers");
  }

  static bool reads(const Definition& definition, ExpressionId id) {
    const ExpressionNode& node = definition.node(id);
    return node.kind == Kind::read ||
           std::any_of(node.operands.begin(), node.operands.end(),
                       [&](ExpressionId operand) { return reads(definition, operand); });
  }

  void note_partial(const Pieces& argument, std::string_view function, const Formula& path) {
    for (const Piece& piece : argument)
      result_.partial.push_back(
          {both(path, piece.guard), std::string(function), piece.value, bound_});
  }

  Pieces divided(const Scope& scope, const ExpressionNode& node, const Pieces& a, const Pieces& b,
                 const Formula& path) {
    if (!is_real(node.type)) throw Unsupported("division of integers");
    const auto divisor = constant_value(scope.definition, node.operands[1]);
    if (!divisor || *divisor == 0 || !std::isfinite(*divisor)) note_partial(b, "inverse", path);
    return combine(a, map(b, inverse), multiply);
  }

  /// 1 to 4, if the exponent is one of these.
  static std::optional<std::int64_t> natural_exponent(const Pieces& b) {
    if (b.size() != 1 || b[0].value.terms.size() != 1) return std::nullopt;
    const Term& term = b[0].value.terms[0];
    const bool is_number = term.is_plain() && term.factors.empty();
    if (!is_number || term.coefficient < 1 || term.coefficient > 4) return std::nullopt;
    return term.coefficient;
  }

  Pieces powers(const Pieces& a, const Pieces& b, const Formula& path) {
    if (const auto exponent = natural_exponent(b)) {
      Pieces result = a;
      for (std::int64_t i = 1; i < *exponent; ++i) result = combine(result, a, multiply);
      return result;
    }
    const Pieces result = combine(a, b, power);
    note_partial(result, "power", path);
    return result;
  }

  Pieces applied(const ExpressionNode& node, Pieces argument, const Formula& path) {
    using enum ScalarFunction;
    if (!is_real(node.type)) throw Unsupported("a function of other than reals");
    switch (node.function) {
      case negate:
      case absolute:
      case exp:
      case sin:
      case cos:
      case atan:
      case sinh:
      case cosh:
      case tanh:
      case asinh:
      case erf:
      case sign:
      case floor:
      case ceil:
      case round: break;
      case reciprocal: note_partial(argument, "inverse", path); break;
      default: note_partial(argument, name(node.function), path);
    }
    return map(std::move(argument), [&](const Polynomial& a) { return apply(node.function, a); });
  }

  Pieces selected(const Scope& scope, const ExpressionNode& node, const Formula& path,
                  bool is_result) {
    const Formula chosen = condition(scope, node.operands[0], path);
    Pieces result;
    for (const auto& [guard, operand] :
         {std::pair(chosen, node.operands[1]), std::pair(negation(chosen), node.operands[2])}) {
      const Formula inside = both(path, guard);
      if (is_never(inside)) continue;
      for (Piece& piece :
           is_result ? result_of(scope, operand, inside) : real(scope, operand, inside)) {
        const Formula whole = both(guard, piece.guard);
        if (!is_never(whole)) result.push_back({whole, std::move(piece.value)});
      }
    }
    return result;
  }

  static void check_cast(const Scope& scope, const ExpressionNode& node) {
    const DataType from = scope.definition.node(node.operands[0]).type;
    const bool widens = is_real(node.type) && (is_real(from) || is_integer(from));
    if (!widens && node.type != from)
      throw Unsupported(fmt::format("a cast of {} to {}", name(from), name(node.type)));
  }

  Pieces converted(const Scope& scope, const ExpressionNode& node, const Formula& path) {
    check_cast(scope, node);
    return real(scope, node.operands[0], path);
  }

  static Polynomial greater(const Polynomial& a, const Polynomial& b) { return maximum(a, b); }

  // ---- Reductions --------------------------------------------------------------------------------

  struct Body {
    std::vector<Bound> bound;
    std::set<std::string> names;
    Pieces pieces;
    Formula path;
  };

  Body body_of(Scope scope, const ExpressionNode& node, const Formula& path) {
    Body body;
    for (const VariableId variable : node.bound) {
      const Dimension& extent = scope.definition.extent(variable);
      if (extent.is(1)) {
        scope.variables[variable.v] = 0;
        continue;
      }
      body.bound.push_back({names_.fresh(), extent});
      body.names.insert(body.bound.back().name);
      scope.variables[variable.v] = Dimension::symbol(body.bound.back().name);
    }
    body.path = both(path, ranges(body.bound));
    const std::size_t outer = bound_.size();
    bound_.insert(bound_.end(), body.bound.begin(), body.bound.end());
    body.pieces = real(scope, node.operands[0], body.path);
    bound_.resize(outer);
    return body;
  }

  Pieces sum(const Scope& scope, const ExpressionNode& node, const Formula& path) {
    const Body body = body_of(scope, node, path);
    std::vector<Formula> known = facts_;
    known.push_back(path);
    known.push_back(result_.range);
    const IsPositive is_positive = [this](const Dimension& value) {
      return entails(facts_, less(0, value));
    };
    Polynomial result = number(0);
    for (const Piece& piece : body.pieces)
      for (const Term& term : piece.value.terms) {
        if (is_infinite(piece.value)) throw Unsupported("a sum of infinities");
        Term whole = term;
        whole.bound.insert(whole.bound.begin(), body.bound.begin(), body.bound.end());
        whole.domain = both(term.domain, piece.guard);
        whole = without_single_values(std::move(whole), is_positive);
        whole = with_normal_variables(whole, ranges_of(path));
        result = add(result, without_idle_variables(std::move(whole), known));
      }
    return {{always(), std::move(result)}};
  }

  /// The maximum of sign * body. Pieces that are the neutral element are left out of the domain.
  Pieces greatest(const Scope& scope, const ExpressionNode& node, const Formula& path, int sign,
                  bool is_result) {
    const Body body = body_of(scope, node, path);
    if (is_result) note_inhabited(body, path);
    std::map<std::string, std::pair<Formula, std::vector<Piece>>> by_outer;
    for (const Piece& piece : body.pieces) {
      if (is_infinite(piece.value)) {
        if (piece.value.text != number(-sign * HUGE_VAL).text)
          throw Unsupported("an infinity that is not the neutral element");
        continue;
      }
      const SplitGuard guard = split_guard(piece.guard, body.names);
      auto& group = by_outer[guard.outer->text];
      group.first = guard.outer;
      group.second.push_back({guard.inner, piece.value});
    }
    Pieces result;
    Formula rest = always();
    for (const auto& [text, group] : by_outer) {
      for (const Piece& other : result)
        if (!is_never(both(other.guard, group.first)))
          throw Unsupported("a maximum over conditions that do not exclude each other");
      Polynomial value = greatest_of(body, group.second[0], group.first, path, sign);
      for (std::size_t i = 1; i < group.second.size(); ++i)
        value = greater(value, greatest_of(body, group.second[i], group.first, path, sign));
      result.push_back({group.first, std::move(value)});
      rest = both(rest, negation(group.first));
    }
    if (!is_never(rest)) result.push_back({rest, number(-HUGE_VAL)});
    return result;
  }

  void note_inhabited(const Body& body, const Formula& path) {
    std::vector<Formula> domains;
    for (const Piece& piece : body.pieces)
      if (!is_infinite(piece.value)) domains.push_back(piece.guard);
    const Formula domain = disjunction(std::move(domains));
    if (body.bound.empty() && is_always(domain)) return;
    result_.inhabited.push_back({path, body.bound, domain, bound_});
  }

  Polynomial greatest_of(const Body& body, const Piece& piece, const Formula& outer,
                         const Formula& path, int sign) {
    const Polynomial value = scale(piece.value, sign);
    if (body.bound.empty() && is_always(piece.guard)) return value;
    // Not under body.path, which says that the ranges are not empty.
    std::vector<Formula> known = facts_;
    known.push_back(both(path, outer));
    known.push_back(result_.range);
    return greatest_over(body.bound, piece.guard, value, known);
  }

  const Graph& graph_;
  const std::vector<Formula>& facts_;
  const IndexSplits& splits_;
  std::vector<std::unique_ptr<Definition>> definitions_;
  Names names_;
  std::vector<Bound> bound_;  // of the reductions around
  ComposedOutput result_;
};

}  // namespace

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
  return Composer(graph, facts, splits).run();
}

}  // namespace lemma::verifier::index
