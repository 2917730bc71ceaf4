#include "lowering/algorithms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

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

/// Whether each term has a greater position than the terms before it.
bool ascends(const TermGraph& graph, TermNumber position, const std::vector<LoopVariable>& bound) {
  const Linear form = graph.form(position);
  std::int64_t reach = 0;  // from the first to the last position of the inner variables
  for (auto v = bound.rbegin(); v != bound.rend(); ++v) {
    const std::int64_t step = form.coefficient(*v);
    if (graph.extent(*v) > 1 && step <= reach) return false;
    reach += step * (graph.extent(*v) - 1);
  }
  return form.terms.size() <= bound.size() &&
         std::all_of(form.terms.begin(), form.terms.end(),
                     [&](const auto& term) { return contains(bound, term.first); });
}

/// Terms of which `from` is a part, with another term in its place.
class Substitution {
 public:
  Substitution(TermGraph& graph, TermNumber from, TermNumber to) : graph_(graph) {
    numbers_.emplace(from, to);
    first_ = from + 1;
  }

  TermNumber operator()(TermNumber root) {
    for (TermNumber id = first_; id <= root; ++id)
      if (is_changed(graph_.term(id))) numbers_.emplace(id, add(graph_.term(id)));
    return number_of(root);
  }

 private:
  TermNumber number_of(TermNumber id) const {
    const auto at = numbers_.find(id);
    return at == numbers_.end() ? id : at->second;
  }

  bool is_changed(const Linear& form) const {
    return std::any_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
      return term.first >= first_term_atom && numbers_.contains(term.first - first_term_atom);
    });
  }
  bool is_changed(const Term& term) const {
    return is_changed(term.linear) ||
           std::any_of(term.operands.begin(), term.operands.end(),
                       [&](TermNumber operand) { return numbers_.contains(operand); }) ||
           std::any_of(term.indices.begin(), term.indices.end(),
                       [&](const Linear& index) { return is_changed(index); });
  }

  Linear changed(const Linear& form) const {
    Linear result = Linear::of(form.constant);
    for (const auto& [atom, factor] : form.terms)
      result = combine(result,
                       atom < first_term_atom ? Linear::atom(atom)
                                              : graph_.form(number_of(atom - first_term_atom)),
                       factor);
    return result;
  }

  TermNumber add(Term term) {
    if (term.divisor != 0) return graph_.floor_divide(changed(term.linear), term.divisor);
    if (term.kind == Kind::index) return graph_.linear(changed(term.linear));
    for (TermNumber& operand : term.operands) operand = number_of(operand);
    for (Linear& index : term.indices) index = changed(index);
    return graph_.add(std::move(term));
  }

  TermGraph& graph_;
  TermNumber first_;
  std::map<TermNumber, TermNumber> numbers_;  // of what is changed
};

bool uses(const TermGraph& graph, TermNumber root, TermNumber used) {
  TermGraph copy = graph;
  const TermNumber other = copy.linear(Linear::of(-1));
  return Substitution(copy, used, other)(root) != root;
}

}  // namespace

std::optional<Replacement> find_replacement(const TermGraph& graph, TermNumber root,
                                            const std::vector<LoopVariable>& axes) {
  const Term& choice = graph.term(root);
  if (choice.kind != Kind::select) return std::nullopt;
  const Term& condition = graph.term(choice.operands[0]);
  if (condition.kind != Kind::less_equal || !is_integer(graph.term(condition.operands[0]), 0))
    return std::nullopt;
  Replacement replacement;
  replacement.last = condition.operands[1];
  replacement.value = choice.operands[1];
  replacement.otherwise = choice.operands[2];
  const Term& last = graph.term(replacement.last);
  if (last.kind != Kind::maximum_over) return std::nullopt;
  auto scatter = find_scatter(graph, last, axes);
  if (!scatter || !is_integer(graph.term(scatter->otherwise), -1) ||
      graph.term(scatter->element).range.low < 0 || !ascends(graph, scatter->element, last.bound) ||
      uses(graph, replacement.otherwise, replacement.last))
    return std::nullopt;
  replacement.scatter = std::move(*scatter);
  return replacement;
}

TermNumber add_value_at_term(TermGraph& graph, const Replacement& replacement) {
  return Substitution(graph, replacement.last, replacement.scatter.element)(replacement.value);
}

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
  if (const auto* transform = std::get_if<FourierTransform>(&algorithm))
    return set_of(transform->axis) | (transform->parts ? set_of(*transform->parts) : 0);
  const auto* replacement = std::get_if<Replacement>(&algorithm);
  VariableSet axes = 0;
  for (const Scatter::Target& target :
       (replacement != nullptr ? replacement->scatter : std::get<Scatter>(algorithm)).targets)
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

double operation_count(const TermGraph& graph, TermNumber root, const Algorithm& algorithm,
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
  if (const auto* transform = std::get_if<FourierTransform>(&algorithm)) {
    constexpr double operations_of_factor =
        10;  // for each element, and each factor of two of the length
    const auto length = static_cast<double>(transform->length);
    std::vector<TermNumber> roots = {transform->real};
    if (transform->imaginary) roots.push_back(*transform->imaginary);
    const VariableSet points = others | set_of(transform->position);
    return extent_of(graph, points) * operations_at_point(graph, roots, points) +
           extent_of(graph, others) * length * std::log2(length) * operations_of_factor;
  }
  const auto* replacement = std::get_if<Replacement>(&algorithm);
  const Scatter& scatter =
      replacement != nullptr ? replacement->scatter : std::get<Scatter>(algorithm);
  const TermNumber reduction = replacement != nullptr ? replacement->last : root;
  const VariableSet points = others | set_of_all(graph.term(reduction).bound);
  const VariableSet all = set_of_all(axes);
  std::vector<TermNumber> roots = scatter.conditions;
  for (const Scatter::Target& target : scatter.targets) roots.push_back(target.index);
  TermGraph terms = graph;
  double without_terms = 1;
  if (replacement != nullptr) {
    roots.push_back(add_value_at_term(terms, *replacement));
    without_terms = std::max(1.0, operations_at_point(graph, {replacement->otherwise}, all));
  } else {
    roots.push_back(scatter.element);
  }
  return extent_of(graph, all) * without_terms +
         extent_of(graph, points) *
             (operations_at_point(terms, roots, points) + operations_of_step);
}

}  // namespace lemma::lowering
