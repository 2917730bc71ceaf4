#include "lowering/algorithms.h"

#include <algorithm>
#include <bit>

#include "lowering/lower.h"
#include "lowering/regions.h"
#include "lowering/sum_of_products.h"

namespace lemma::lowering {

using Kind = ExpressionKind;

namespace {

bool contains(const std::vector<LoopVariable>& variables, LoopVariable variable) {
  return std::find(variables.begin(), variables.end(), variable) != variables.end();
}

VariableSet set_of_all(const std::vector<LoopVariable>& variables) {
  VariableSet set = 0;
  for (const LoopVariable v : variables) set |= set_of(v);
  return set;
}

bool is_constant(const Term& term) {
  return term.kind == Kind::integer_constant || term.kind == Kind::real_constant;
}

bool is_neutral(const TermGraph& graph, const Term& reduction, const Term& value) {
  const auto neutral = neutral_element(reduction.kind, reduction.type, graph.domain());
  return is_constant(value) && neutral && value.bits == *neutral;
}

/// The loop variable that the term is, if it is one.
std::optional<LoopVariable> variable_of(const Term& term) {
  if (term.kind != Kind::index || term.linear.terms.size() != 1) return std::nullopt;
  const auto [atom, factor] = term.linear.terms.front();
  if (atom >= first_term_atom || !(term.linear == Linear::atom(atom))) return std::nullopt;
  return atom;
}

std::optional<Scan> find_scan(const TermGraph& graph, const Term& reduction,
                              const std::vector<LoopVariable>& axes) {
  const Term& body = graph.term(reduction.operands[0]);
  if (reduction.bound.size() != 1 || body.kind != Kind::select ||
      !is_neutral(graph, reduction, graph.term(body.operands[2])))
    return std::nullopt;
  const Term& condition = graph.term(body.operands[0]);
  if (condition.kind == Kind::equal || !compares_linear(graph, condition)) return std::nullopt;
  const Linear apart = difference(graph, condition);
  if (apart.constant != 0 || apart.terms.size() != 2) return std::nullopt;
  Scan scan;
  scan.position = reduction.bound.front();
  const std::int64_t sign = apart.coefficient(scan.position);
  scan.axis = apart.terms[apart.terms[0].first == scan.position ? 1 : 0].first;
  if ((sign != 1 && sign != -1) || apart.coefficient(scan.axis) != -sign ||
      !contains(axes, scan.axis) || graph.extent(scan.axis) != graph.extent(scan.position))
    return std::nullopt;
  scan.element = body.operands[1];
  if ((graph.term(scan.element).depends & set_of(scan.axis)) != 0) return std::nullopt;
  scan.is_reverse = sign < 0;
  scan.is_exclusive = condition.kind == Kind::less;
  return scan;
}

/// The comparison of an index, which is no loop variable itself, with an axis.
std::optional<Scatter::Target> target_of(const TermGraph& graph, const Term& condition,
                                         const std::vector<LoopVariable>& axes) {
  if (condition.kind != Kind::equal || compares_linear(graph, condition)) return std::nullopt;
  for (const std::size_t side : {0U, 1U}) {
    const auto axis = variable_of(graph.term(condition.operands[1 - side]));
    const TermNumber index = condition.operands[side];
    if (axis && contains(axes, *axis) && graph.term(index).type == DataType::i64 &&
        (graph.term(index).depends & set_of(*axis)) == 0)
      return Scatter::Target{*axis, index};
  }
  return std::nullopt;
}

/// Where the other value is a bound of all terms, it does not matter whether it is among those that are compared.
bool bounds_terms(const Term& reduction, const Term& element, const Term& otherwise) {
  if (otherwise.kind != Kind::integer_constant || element.type != DataType::i64) return false;
  const auto bound = static_cast<std::int64_t>(otherwise.bits);
  if (reduction.kind == Kind::maximum_over) return element.range.low >= bound;
  return reduction.kind == Kind::minimum_over && element.range.high <= bound;
}

std::optional<Scatter> find_scatter(const TermGraph& graph, const Term& reduction,
                                    const std::vector<LoopVariable>& axes) {
  const Term& body = graph.term(reduction.operands[0]);
  if (body.kind != Kind::select) return std::nullopt;
  Scatter scatter;
  scatter.element = body.operands[1];
  scatter.otherwise = body.operands[2];
  const Term &element = graph.term(scatter.element), &otherwise = graph.term(scatter.otherwise);
  if (!is_neutral(graph, reduction, otherwise) && !bounds_terms(reduction, element, otherwise))
    return std::nullopt;
  // With no terms at all, the value is the neutral element and not the other one.
  for (const LoopVariable v : reduction.bound)
    if (graph.extent(v) == 0) return std::nullopt;
  VariableSet joint = 0, used = element.depends;
  for (const TermNumber id : conditions_of(graph, body.operands[0])) {
    const auto target = target_of(graph, graph.term(id), axes);
    if (!target || (joint & set_of(target->axis)) != 0) {
      scatter.conditions.push_back(id);
      used |= graph.term(id).depends;
      continue;
    }
    joint |= set_of(target->axis);
    used |= graph.term(target->index).depends;
    scatter.targets.push_back(*target);
  }
  if (joint == 0 || (used & joint) != 0) return std::nullopt;
  return scatter;
}

/// Builds the terms of a selection in a graph, so that they are compared as a whole.
class SelectionTerms {
 public:
  explicit SelectionTerms(TermGraph& graph) : graph_(graph) {}

  /// Whether the element `x` comes before `y`, whose positions are the two variables.
  TermNumber comes_before(TermNumber y, LoopVariable other, TermNumber x, LoopVariable candidate,
                          bool takes_largest) {
    const TermNumber above = is_above(x, y), below = is_above(y, x);
    const TermNumber is_first = boolean(
        Kind::less, {graph_.linear(Linear::atom(other)), graph_.linear(Linear::atom(candidate))});
    const TermNumber is_tied = boolean(Kind::logical_and, {negated(above), negated(below)});
    return boolean(Kind::logical_or, {takes_largest ? below : above,
                                      boolean(Kind::logical_and, {is_tied, is_first})});
  }

 private:
  /// In the order in which NaN is above all numbers.
  TermNumber is_above(TermNumber a, TermNumber b) {
    const TermNumber is_greater = boolean(Kind::less, {b, a});
    if (!is_real(graph_.term(a).type)) return is_greater;
    return boolean(Kind::logical_or,
                   {is_greater, boolean(Kind::logical_and, {is_nan(a), negated(is_nan(b))})});
  }

  TermNumber boolean(Kind kind, std::vector<TermNumber> operands) {
    Term term;
    term.kind = kind;
    term.type = DataType::boolean;
    term.operands = std::move(operands);
    return graph_.add(std::move(term));
  }
  TermNumber negated(TermNumber id) { return boolean(Kind::logical_not, {id}); }
  TermNumber is_nan(TermNumber id) {
    Term term;
    term.kind = Kind::function;
    term.function = ScalarFunction::is_nan;
    term.type = DataType::boolean;
    term.operands = {id};
    return graph_.add(std::move(term));
  }

  TermGraph& graph_;
};

/// The terms `id` and what it is computed from, that compare an element with another one.
std::vector<TermNumber> comparisons_below(const TermGraph& graph, TermNumber id) {
  std::vector<bool> is_below(graph.size(), false);
  is_below[id] = true;
  std::vector<TermNumber> comparisons;
  for (TermNumber i = id + 1; i-- > 0;) {
    if (!is_below[i]) continue;
    const Term& term = graph.term(i);
    for (const TermNumber operand : term.operands) is_below[operand] = true;
    if (term.kind == Kind::less && !compares_linear(graph, term)) comparisons.push_back(i);
  }
  return comparisons;
}

/// Whether both are elements of one input, and the second is at `other` where the first is at `candidate`.
bool is_same_element(const TermGraph& graph, TermNumber x, LoopVariable candidate, TermNumber y,
                     LoopVariable other) {
  const Term &a = graph.term(x), &b = graph.term(y);
  if (a.kind != Kind::read || b.kind != Kind::read || a.input != b.input) return false;
  for (std::size_t axis = 0; axis < a.indices.size(); ++axis) {
    const std::int64_t step = a.indices[axis].coefficient(candidate);
    const Linear rest = combine(a.indices[axis], Linear::atom(candidate), -step);
    if (!(combine(rest, Linear::atom(other), step) == b.indices[axis])) return false;
  }
  return true;
}

bool is_integer(const Term& term, std::int64_t value) {
  return term.kind == Kind::integer_constant && static_cast<std::int64_t>(term.bits) == value;
}

/// What a selection is made of, before it is known how its elements are ordered.
struct RankTerms {
  LoopVariable axis = 0, candidate = 0, other = 0;
  TermNumber comes_before = 0;
};

/// minimum_over(candidate: select(rank == axis, candidate, last position)), where rank = sum(other: select(comes before, 1, 0)).
std::optional<RankTerms> find_rank(const TermGraph& graph, const Term& reduction,
                                   const std::vector<LoopVariable>& axes) {
  const Term& body = graph.term(reduction.operands[0]);
  if (reduction.kind != Kind::minimum_over || reduction.bound.size() != 1 ||
      body.kind != Kind::select)
    return std::nullopt;
  RankTerms terms;
  terms.candidate = reduction.bound.front();
  const std::int64_t extent = graph.extent(terms.candidate);
  const Term& condition = graph.term(body.operands[0]);
  if (condition.kind != Kind::equal ||
      variable_of(graph.term(body.operands[1])) != std::optional(terms.candidate) ||
      !is_integer(graph.term(body.operands[2]), extent - 1))
    return std::nullopt;
  const Term& rank = graph.term(condition.operands[0]);
  const auto axis = variable_of(graph.term(condition.operands[1]));
  if (!axis || !contains(axes, *axis) || graph.extent(*axis) > extent || rank.kind != Kind::sum ||
      rank.bound.size() != 1 || graph.extent(rank.bound.front()) != extent)
    return std::nullopt;
  terms.axis = *axis;
  terms.other = rank.bound.front();
  const Term& counted = graph.term(rank.operands[0]);
  if (counted.kind != Kind::select || !is_integer(graph.term(counted.operands[1]), 1) ||
      !is_integer(graph.term(counted.operands[2]), 0))
    return std::nullopt;
  terms.comes_before = counted.operands[0];
  return terms;
}

/// The order of the elements is compared as a whole with the one that is known.
std::optional<Selection> find_selection(const TermGraph& graph, const Term& reduction,
                                        const std::vector<LoopVariable>& axes) {
  const auto rank = find_rank(graph, reduction, axes);
  if (!rank) return std::nullopt;
  for (const TermNumber id : comparisons_below(graph, rank->comes_before))
    for (const std::size_t side : {0U, 1U}) {
      const TermNumber x = graph.term(id).operands[side], y = graph.term(id).operands[1 - side];
      const VariableSet others = set_of(rank->axis) | set_of(rank->other);
      if ((graph.term(x).depends & set_of(rank->candidate)) == 0 ||
          (graph.term(x).depends & others) != 0 ||
          !is_same_element(graph, x, rank->candidate, y, rank->other))
        continue;
      TermGraph known = graph;
      SelectionTerms terms(known);
      for (const bool takes_largest : {false, true})
        if (terms.comes_before(y, rank->other, x, rank->candidate, takes_largest) ==
            rank->comes_before)
          return Selection{rank->axis, rank->candidate, x, takes_largest};
    }
  return std::nullopt;
}

double extent_of(const TermGraph& graph, VariableSet variables) {
  double extent = 1;
  for (LoopVariable v = 0; v < graph.variable_count(); ++v)
    if ((variables & set_of(v)) != 0) extent *= static_cast<double>(graph.extent(v));
  return extent;
}

}  // namespace

std::optional<Algorithm> find_algorithm(const TermGraph& graph, TermNumber reduction,
                                        const std::vector<LoopVariable>& axes) {
  const Term& term = graph.term(reduction);
  if (!is_reduction(term.kind)) return std::nullopt;
  if (const auto scan = find_scan(graph, term, axes)) return *scan;
  if (const auto selection = find_selection(graph, term, axes)) return *selection;
  if (const auto scatter = find_scatter(graph, term, axes)) return *scatter;
  return std::nullopt;
}

VariableSet joint_axes(const Algorithm& algorithm) {
  if (const auto* scan = std::get_if<Scan>(&algorithm)) return set_of(scan->axis);
  if (const auto* selection = std::get_if<Selection>(&algorithm)) return set_of(selection->axis);
  VariableSet axes = 0;
  for (const Scatter::Target& target : std::get<Scatter>(algorithm).targets)
    axes |= set_of(target.axis);
  return axes;
}

double operations_at_point(const TermGraph& graph, const std::vector<TermNumber>& roots,
                           VariableSet outside) {
  std::vector<bool> is_used(graph.size(), false);
  for (const TermNumber root : roots) is_used[root] = true;
  double sum = 0;
  for (TermNumber id = static_cast<TermNumber>(graph.size()); id-- > 0;) {
    if (!is_used[id]) continue;
    const Term& term = graph.term(id);
    VariableSet variables = term.depends;
    for (const TermNumber operand : term.operands) is_used[operand] = true;
    if (is_reduction(term.kind)) variables |= graph.term(term.operands[0]).depends;
    sum += extent_of(graph, variables & ~outside) *
           (term.kind == Kind::function ? operations_of_function : 1);
  }
  return sum;
}

double operation_count(const TermGraph& graph, TermNumber reduction, const Algorithm& algorithm,
                       const std::vector<LoopVariable>& axes) {
  // Steps that go from one element to the next cannot be done side by side.
  constexpr double operations_of_step = 4, operations_of_rank = 16;
  const VariableSet others = set_of_all(axes) & ~joint_axes(algorithm);
  if (const auto* scan = std::get_if<Scan>(&algorithm)) {
    const VariableSet points = others | set_of(scan->position);
    return extent_of(graph, points) *
           (operations_at_point(graph, {scan->element}, points) + operations_of_step);
  }
  if (const auto* selection = std::get_if<Selection>(&algorithm)) {
    const VariableSet points = others | set_of(selection->candidate);
    return extent_of(graph, points) *
               (operations_at_point(graph, {selection->element}, points) + operations_of_step) +
           extent_of(graph, set_of_all(axes)) * operations_of_rank;
  }
  const auto& scatter = std::get<Scatter>(algorithm);
  const VariableSet points = others | set_of_all(graph.term(reduction).bound);
  std::vector<TermNumber> roots = scatter.conditions;
  roots.push_back(scatter.element);
  for (const Scatter::Target& target : scatter.targets) roots.push_back(target.index);
  return extent_of(graph, set_of_all(axes)) +
         extent_of(graph, points) *
             (operations_at_point(graph, roots, points) + operations_of_step);
}

}  // namespace lemma::lowering
