#include "differentiate/solve.h"

#include <algorithm>
#include <map>
#include <set>

namespace lemma::differentiate {

namespace {

using Kind = ExpressionKind;

/// constant + sum of coefficient * variable + sum of coefficient * expression.
struct Affine {
  Dimension constant = 0;
  std::map<VariableId, Dimension> variables;
  std::vector<std::pair<Expression, Dimension>> others;
};

/// left == right; the right side is an expression of the result, in 0 ... size - 1.
struct Equation {
  Affine left;
  Expression whole;  // the left side as it stands
  Expression right;
  Dimension size;
};

/// floormod(floordiv(position, weight), size), or without the remainder.
struct Digit {
  Expression position;
  Dimension weight = 1;
  std::optional<Dimension> size;
  std::size_t equation = 0;
};

/// A variable as quotient * divisor + remainder.
struct Division {
  VariableId whole, quotient, remainder;
  Dimension divisor;
  bool is_known = false;
};

class Solver {
 public:
  Solver(Workplace& from, const ReadAdjoint& read, Workplace& to)
      : from_(from), read_(read), to_(to), copies_(from, to) {
    open_.insert(read.variables.begin(), read.variables.end());
    axes_.insert(read.variables.begin(), read.variables.begin() + static_cast<long>(read.axes));
  }

  Expression run(std::span<const Expression> at, const Shape& shape) {
    for (std::size_t i = 0; i < shape.size(); ++i)
      equations_.push_back({affine(read_.indices[i]), read_.indices[i], at[i], shape[i]});
    merge_digits();
    divide_variables();
    while (solve_single() || solve_positions() || solve_several()) {
    }
    while (!open_.empty()) leave(*open_.begin());
    for (const Equation& equation : equations_) require_equal(equation);
    Expression condition = d().integer(1, DataType::boolean);
    for (const Expression& guard : guards_) condition = condition && guard;
    const Expression zero = d().constant(0, read_.adjoint.type());
    return d().sum(left_, d().select(condition, copies_(read_.adjoint), zero));
  }

 private:
  DefinitionBuilder& d() { return to_.builder; }
  const ExpressionNode& node(Expression e) const { return from_.builder.node(e.id()); }
  const ExpressionNode& node(ExpressionId id) const { return from_.builder.node(id); }

  // ---- Affine forms ----------------------------------------------------------------------------

  static std::optional<Dimension> constant_of(const ExpressionNode& node) {
    if (node.kind == Kind::integer_constant) return Dimension(node.integer);
    if (node.kind == Kind::extent) return node.extent;
    return std::nullopt;
  }

  void add(Affine& sum, ExpressionId id, const Dimension& factor) {
    const ExpressionNode& term = node(id);
    if (const auto constant = constant_of(term)) {
      sum.constant = sum.constant + *constant * factor;
      return;
    }
    if (term.kind == Kind::index) {
      const auto [entry, is_new] = sum.variables.emplace(term.variable, factor);
      if (!is_new) entry->second = entry->second + factor;
      return;
    }
    if (term.kind == Kind::add || term.kind == Kind::subtract) {
      const ExpressionId left = term.operands[0], right = term.operands[1];
      const Dimension sign = term.kind == Kind::add ? 1 : -1;
      add(sum, left, factor);
      return add(sum, right, factor * sign);
    }
    if (term.kind == Kind::multiply)
      for (const std::size_t i : {std::size_t{0}, std::size_t{1}})
        if (const auto constant = constant_of(node(term.operands[i])))
          return add(sum, term.operands[1 - i], factor * *constant);
    sum.others.emplace_back(from_.builder.expression(id), factor);
  }

  Affine affine(Expression e) {
    Affine result;
    add(result, e.id(), 1);
    std::erase_if(result.variables, [](const auto& entry) { return entry.second.is(0); });
    return result;
  }

  // ---- Indices that are digits of one position -------------------------------------------------

  std::optional<Digit> digit(std::size_t i) const {
    const Affine& left = equations_[i].left;
    if (!left.variables.empty() || !left.constant.is(0) || left.others.size() != 1 ||
        !left.others[0].second.is(1))
      return std::nullopt;
    Digit result{left.others[0].first, 1, std::nullopt, i};
    for (const Kind kind : {Kind::floor_modulo, Kind::floor_divide}) {
      const ExpressionNode& step = node(result.position);
      if (step.kind != kind) continue;
      const auto number = constant_of(node(step.operands[1]));
      if (!number) return std::nullopt;
      if (kind == Kind::floor_modulo) result.size = *number;
      if (kind == Kind::floor_divide) result.weight = *number;
      result.position = from_.builder.expression(step.operands[0]);
    }
    return result;
  }

  /// Where indices are all digits of a position, position == the sum of index * weight takes their place.
  void merge_digits() {
    std::map<ExpressionId, std::vector<Digit>> digits;
    for (std::size_t i = 0; i < equations_.size(); ++i)
      if (const auto known = digit(i)) digits[known->position.id()].push_back(*known);
    std::set<std::size_t> merged;
    std::vector<Equation> rest;
    for (auto& [position, all] : digits)
      if (auto equation = merge(all)) {
        for (const Digit& part : all) merged.insert(part.equation);
        rest.push_back(std::move(*equation));
      }
    for (std::size_t i = 0; i < equations_.size(); ++i)
      if (!merged.contains(i)) rest.push_back(equations_[i]);
    equations_ = std::move(rest);
  }

  std::optional<Equation> merge(const std::vector<Digit>& all) {
    if (all.size() < 2) return std::nullopt;
    Dimension weight = 1;
    Expression sum = d().integer(0);
    std::vector<const Digit*> rest;
    for (const Digit& part : all) rest.push_back(&part);
    while (!rest.empty()) {
      // A digit of size 1 has the weight of the next one.
      const auto next = std::min_element(
          rest.begin(), rest.end(),
          [&](const Digit* a, const Digit* b) { return order(*a, weight) < order(*b, weight); });
      const Digit& part = **next;
      const Equation& equation = equations_[part.equation];
      if (part.weight != weight || (part.size ? *part.size != equation.size : rest.size() > 1) ||
          (rest.size() == 1 && part.size))
        return std::nullopt;
      sum = sum + equation.right * weight;
      weight = weight * equation.size;
      rest.erase(next);
    }
    return Equation{affine(all[0].position), all[0].position, sum, weight};
  }

  static int order(const Digit& digit, const Dimension& weight) {
    if (digit.weight != weight || !digit.size) return 2;
    return digit.size->is(1) ? 0 : 1;
  }

  // ---- Variables that are divided --------------------------------------------------------------

  /// v floordiv c and v floormod c, all with one divisor c of v's size, become variables of their own.
  void divide_variables() {
    std::map<VariableId, std::optional<Dimension>> divisors;
    for (const Equation& equation : equations_)
      for (const auto& [term, factor] : equation.left.others) note_divisor(term, divisors);
    for (const auto& [variable, divisor] : divisors) {
      const auto quotient = divisor ? exact_div(from_.extent(variable), *divisor) : std::nullopt;
      if (!quotient || !open_.contains(variable)) continue;
      const VariableId high = from_.id(from_.variable(*quotient)),
                       low = from_.id(from_.variable(*divisor));
      divisions_.push_back({variable, high, low, *divisor});
      open_.erase(variable);
      for (const VariableId part : {high, low}) {
        open_.insert(part);
        if (axes_.contains(variable)) axes_.insert(part);
      }
    }
    for (Equation& equation : equations_) divide(equation.left);
  }

  /// Nothing for a variable that has several divisors.
  void note_divisor(Expression term, std::map<VariableId, std::optional<Dimension>>& divisors) {
    const ExpressionNode& step = node(term);
    if (step.kind != Kind::floor_divide && step.kind != Kind::floor_modulo) return;
    const ExpressionNode& whole = node(step.operands[0]);
    const auto divisor = constant_of(node(step.operands[1]));
    if (whole.kind != Kind::index || !divisor) return;
    const auto [entry, is_new] = divisors.emplace(whole.variable, *divisor);
    if (!is_new && entry->second && *entry->second != *divisor) entry->second = std::nullopt;
  }

  void divide(Affine& sum) {
    for (const Division& division : divisions_) {
      auto whole = sum.variables.find(division.whole);
      if (whole != sum.variables.end()) {
        const Dimension factor = whole->second;
        sum.variables.erase(whole);
        sum.variables[division.quotient] = factor * division.divisor;
        sum.variables[division.remainder] = factor;
      }
      std::erase_if(sum.others, [&](const auto& entry) {
        const ExpressionNode& step = node(entry.first);
        if (step.kind != Kind::floor_divide && step.kind != Kind::floor_modulo) return false;
        const ExpressionNode& dividend = node(step.operands[0]);
        if (dividend.kind != Kind::index || dividend.variable != division.whole) return false;
        const VariableId part =
            step.kind == Kind::floor_divide ? division.quotient : division.remainder;
        const auto [term, is_new] = sum.variables.emplace(part, entry.second);
        if (!is_new) term->second = term->second + entry.second;
        return true;
      });
    }
  }

  // ---- Solving ---------------------------------------------------------------------------------

  bool has_open(Expression e) const {
    std::vector<ExpressionId> stack = {e.id()};
    while (!stack.empty()) {
      const ExpressionNode& part = node(stack.back());
      stack.pop_back();
      if (part.kind == Kind::index && is_open(part.variable)) return true;
      stack.insert(stack.end(), part.operands.begin(), part.operands.end());
    }
    return false;
  }
  /// Variables of the reductions inside have no value, but are not open.
  bool is_open(VariableId variable) const {
    if (open_.contains(variable)) return true;
    return std::any_of(divisions_.begin(), divisions_.end(), [&](const Division& division) {
      return division.whole == variable && !division.is_known;
    });
  }

  /// The open variables of an equation that can be solved for one.
  std::vector<VariableId> open_in(const Equation& equation) const {
    std::vector<VariableId> result;
    for (const auto& [term, factor] : equation.left.others)
      if (has_open(term)) return {};
    for (const auto& [variable, factor] : equation.left.variables)
      if (open_.contains(variable)) result.push_back(variable);
    return result;
  }

  /// The right side less all terms that are known.
  Expression remainder_of(const Equation& equation) {
    const Affine& left = equation.left;
    Expression result = equation.right;
    for (const auto& [variable, factor] : left.variables)
      if (!open_.contains(variable)) result = result - copies_(from_.of(variable)) * factor;
    for (const auto& [term, factor] : left.others) result = result - copies_(term) * factor;
    return result - left.constant;
  }

  static bool is_alone(const Equation& equation) {
    return equation.left.others.empty() && equation.left.constant.is(0) &&
           equation.left.variables.size() == 1;
  }

  void set(VariableId variable, Expression value) {
    open_.erase(variable);
    copies_.replace(variable, value);
    for (Division& division : divisions_) {
      if (division.is_known || open_.contains(division.quotient) ||
          open_.contains(division.remainder))
        continue;
      division.is_known = true;
      copies_.replace(division.whole, copies_(from_.of(division.quotient)) * division.divisor +
                                          copies_(from_.of(division.remainder)));
    }
  }

  void leave(VariableId variable) {
    auto known = to_.bound_around.find(variable);
    if (known == to_.bound_around.end())
      known = to_.bound_around.emplace(variable, to_.variable(from_.extent(variable))).first;
    left_.push_back(known->second);
    set(variable, left_.back());
  }

  void solve_for(VariableId variable, const Equation& equation) {
    Dimension factor = equation.left.variables.at(variable);
    Expression value = remainder_of(equation);
    if (factor.is_constant() && factor.offset() < 0) {
      factor = factor * -1;
      value = d().integer(0) - value;
    }
    if (!factor.is(1)) {
      guards_.push_back(d().floor_mod(value, factor) == d().integer(0));
      value = d().floor_div(value, factor);
    }
    const Dimension extent = from_.extent(variable);
    if (!(factor.is(1) && is_alone(equation) && equation.size == extent))
      guards_.push_back(d().in_range(value, extent));
    set(variable, value);
  }

  void take(std::size_t i) { equations_.erase(equations_.begin() + static_cast<long>(i)); }

  bool solve_single() {
    for (std::size_t i = 0; i < equations_.size(); ++i) {
      const std::vector<VariableId> open = open_in(equations_[i]);
      if (open.size() != 1) continue;
      solve_for(open[0], equations_[i]);
      take(i);
      return true;
    }
    return false;
  }

  /// Open variables in an order in which each coefficient is the product of the sizes of those before; empty: none.
  std::vector<VariableId> row_major(const Equation& equation, std::vector<VariableId> open) {
    std::vector<VariableId> result;
    Dimension weight = 1;
    while (!open.empty()) {
      // A variable of one value has the weight of the next one.
      auto next = std::find_if(open.begin(), open.end(), [&](VariableId variable) {
        return equation.left.variables.at(variable) == weight && from_.extent(variable).is(1);
      });
      if (next == open.end())
        next = std::find_if(open.begin(), open.end(), [&](VariableId variable) {
          return equation.left.variables.at(variable) == weight;
        });
      if (next == open.end()) return {};
      weight = weight * from_.extent(*next);
      result.push_back(*next);
      open.erase(next);
    }
    return result;
  }

  bool solve_positions() {
    for (std::size_t i = 0; i < equations_.size(); ++i) {
      const std::vector<VariableId> open = open_in(equations_[i]);
      if (open.size() < 2) continue;
      const std::vector<VariableId> order = row_major(equations_[i], open);
      if (order.empty()) continue;
      const Expression position = remainder_of(equations_[i]);
      Dimension total = 1;
      for (const VariableId variable : order) total = total * from_.extent(variable);
      const bool is_whole =
          equations_[i].left.others.empty() && equations_[i].left.constant.is(0) &&
          equations_[i].left.variables.size() == order.size() && equations_[i].size == total;
      if (!is_whole) guards_.push_back(d().in_range(position, total));
      Dimension weight = 1;
      for (const VariableId variable : order) {
        const Dimension extent = from_.extent(variable);
        const Expression quotient = d().floor_div(position, weight);
        // The outermost quotient is below its size as it is.
        set(variable, variable == order.back() ? quotient : d().floor_mod(quotient, extent));
        weight = weight * extent;
      }
      take(i);
      return true;
    }
    return false;
  }

  /// Best first: axes of the output, then variables with the coefficient 1.
  int preference(VariableId variable, const Equation& equation) const {
    const Dimension& factor = equation.left.variables.at(variable);
    const bool is_unit = factor.is(1) || factor.is(-1);
    return (axes_.contains(variable) ? 0 : 2) + (is_unit ? 0 : 1);
  }

  bool solve_several() {
    for (std::size_t i = 0; i < equations_.size(); ++i) {
      const Equation equation = equations_[i];
      const std::vector<VariableId> open = open_in(equation);
      if (open.empty()) continue;
      const VariableId best =
          *std::min_element(open.begin(), open.end(), [&](VariableId a, VariableId b) {
            return preference(a, equation) < preference(b, equation);
          });
      for (const VariableId variable : open)
        if (variable != best) leave(variable);
      solve_for(best, equation);
      take(i);
      return true;
    }
    return false;
  }

  void require_equal(const Equation& equation) {
    const Affine& left = equation.left;
    const bool is_first = left.variables.empty() && left.others.empty() && left.constant.is(0);
    if (is_first && equation.size.is(1)) return;
    guards_.push_back(copies_(equation.whole) == equation.right);
  }

  Workplace& from_;
  const ReadAdjoint& read_;
  Workplace& to_;
  Copies copies_;
  std::vector<Equation> equations_;
  std::vector<Division> divisions_;
  std::set<VariableId> open_;  // without a value so far
  std::set<VariableId> axes_;
  std::vector<Expression> left_;    // variables of the sum
  std::vector<Expression> guards_;  // in the order in which they are to be looked at
};

}  // namespace

Expression sum_at(Workplace& from, const ReadAdjoint& read, Workplace& to,
                  std::span<const Expression> at, const Shape& shape) {
  return Solver(from, read, to).run(at, shape);
}

}  // namespace lemma::differentiate
