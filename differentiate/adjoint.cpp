#include "differentiate/adjoint.h"

#include <map>

#include "differentiate/scalar_derivatives.h"

namespace lemma::differentiate {

namespace {

using Kind = ExpressionKind;

/// The nodes around which reductions are open, and what has come to each node of their bodies.
struct Scope {
  std::vector<VariableId> variables;
  std::map<std::uint32_t, Expression> adjoints;  // by node of the definition
};

class Adjoints {
 public:
  Adjoints(const Definition& definition, std::uint32_t operand, const Conventions& conventions,
           Workplace& place)
      : definition_(definition), operand_(operand), conventions_(conventions), place_(place) {
    for (const Dimension& extent : definition.variable_extents()) place_.variable(extent);
    for (const ExpressionNode& node : definition.nodes()) {
      values_.push_back(value_of(node));
      depends_.push_back(depends(node));
      reads_.push_back(reads(node));
    }
  }

  /// Goes from the value of an output, whose gradient is the operand `gradient`, to the reads.
  void go_from(const DefinedOutput& output, std::uint32_t gradient) {
    if (!depends_[output.value.v]) return;
    const DataType type = definition_.node(output.value).type;
    std::vector<Expression> axes;
    for (const VariableId axis : output.axes) axes.push_back(place_.of(axis));
    axes_ = axes.size();
    Scope scope{output.axes, {}};
    scope.adjoints.emplace(output.value.v, place_.builder.read(gradient, type, std::move(axes)));
    go(std::move(scope));
  }

  std::vector<ReadAdjoint> take() && { return std::move(result_); }

 private:
  Expression value_of(const ExpressionNode& node) {
    DefinitionBuilder& d = place_.builder;
    std::vector<Expression> operands;
    for (const ExpressionId operand : node.operands) operands.push_back(values_[operand.v]);
    if (node.kind == Kind::index) return place_.of(node.variable);
    if (node.kind == Kind::extent) return d.extent(node.extent);
    if (!is_reduction(node.kind)) return d.like(node, operands);
    std::vector<Expression> bound;
    for (const VariableId variable : node.bound) bound.push_back(place_.of(variable));
    return d.reduce(node.kind, bound, operands[0]);
  }

  /// Whether the value changes with elements of the operand, by way of real numbers.
  bool depends(const ExpressionNode& node) const {
    if (!is_real(node.type)) return false;
    if (node.kind == Kind::read) return node.input == operand_;
    for (const ExpressionId operand : node.operands)
      if (depends_[operand.v]) return true;
    return false;
  }
  /// The same with elements of any operand.
  bool reads(const ExpressionNode& node) const {
    if (node.kind == Kind::read) return is_real(node.type);
    for (const ExpressionId operand : node.operands)
      if (reads_[operand.v] && is_real(definition_.node(operand).type)) return true;
    return false;
  }

  void add(Scope& scope, ExpressionId node, Expression adjoint) {
    if (!depends_[node.v]) return;
    const auto [entry, is_new] = scope.adjoints.emplace(node.v, adjoint);
    if (!is_new) entry->second = sum_of_adjoints(place_.builder, entry->second, adjoint);
  }

  /// Users come after their operands, so that the adjoint of the greatest node is complete.
  void go(Scope scope) {
    while (!scope.adjoints.empty()) {
      const auto last = std::prev(scope.adjoints.end());
      const auto [node, adjoint] = *last;
      scope.adjoints.erase(last);
      go_through(scope, {node}, adjoint);
    }
  }

  void go_through(Scope& scope, ExpressionId id, Expression adjoint) {
    const ExpressionNode& node = definition_.node(id);
    if (node.kind == Kind::read) return add_result(scope, node, adjoint);
    if (is_reduction(node.kind)) {
      Scope inner{scope.variables, {}};
      inner.variables.insert(inner.variables.end(), node.bound.begin(), node.bound.end());
      const auto through = [&](Expression g) { return through_reduction(id, g); };
      inner.adjoints.emplace(node.operands[0].v,
                             under_conditions(place_.builder, adjoint, through));
      return go(std::move(inner));
    }
    std::vector<Expression> operands;
    std::vector<bool> varies;
    const bool extreme = node.kind == Kind::minimum || node.kind == Kind::maximum;
    for (const ExpressionId operand : node.operands) {
      operands.push_back(values_[operand.v]);
      varies.push_back(extreme ? reads_[operand.v] : depends_[operand.v]);
    }
    for (const StepAdjoint& part : step_adjoints(place_.builder, node, operands, values_[id.v],
                                                 adjoint, varies, conventions_))
      add(scope, node.operands[part.operand], part.adjoint);
  }

  void add_result(const Scope& scope, const ExpressionNode& read, Expression adjoint) {
    ReadAdjoint result{scope.variables, axes_, {}, adjoint};
    for (const ExpressionId index : read.operands) result.indices.push_back(values_[index.v]);
    result_.push_back(std::move(result));
  }

  // ---- Reductions ------------------------------------------------------------------------------

  /// The body at another point: at new variables, which it returns.
  struct Elsewhere {
    std::vector<Expression> variables;
    Expression body;
  };
  Elsewhere elsewhere(const ExpressionNode& node) {
    Copies copies(place_, place_);
    const std::size_t known = definition_.variable_extents().size();
    for (std::uint32_t v = 0; v < known; ++v) copies.replace({v}, place_.of({v}));
    Elsewhere result;
    for (const VariableId variable : node.bound) {
      const Dimension extent = place_.extent(variable);
      result.variables.push_back(place_.variable(extent));
      copies.replace(variable, result.variables.back());
    }
    result.body = copies(values_[node.operands[0].v]);
    return result;
  }

  Expression here(const ExpressionNode& node, const std::vector<Expression>& there) {
    Expression result = place_.builder.integer(1, DataType::boolean);
    for (std::size_t i = 0; i < there.size(); ++i)
      result = result && place_.of(node.bound[i]) == there[i];
    return result;
  }

  /// The place of a point in the order of the variables, the last one fastest.
  Expression rank(const ExpressionNode& node, const std::vector<Expression>& point) {
    Expression result = place_.builder.integer(0);
    for (std::size_t i = 0; i < point.size(); ++i)
      result = result * place_.extent(node.bound[i]) + point[i];
    return result;
  }

  /// The adjoint of the body at the bound variables.
  Expression through_reduction(ExpressionId id, Expression g) {
    const ExpressionNode& node = definition_.node(id);
    if (node.kind == Kind::sum) return g;
    DefinitionBuilder& d = place_.builder;
    const Elsewhere other = elsewhere(node);
    if (node.kind == Kind::product) {
      const Expression unit = d.real(1, g.type());
      const Expression others = d.select(here(node, other.variables), unit, other.body);
      return g * d.reduce(Kind::product, other.variables, others);
    }
    const Expression zero = d.real(0, g.type());
    const Expression hit = values_[node.operands[0].v] == values_[id.v];
    const Expression other_hit = other.body == values_[id.v];
    if (conventions_.ties == Conventions::Ties::shared) {
      const Expression count =
          d.sum(other.variables, d.select(other_hit, d.real(1, g.type()), zero));
      return d.select(hit, g / count, zero);
    }
    std::vector<Expression> bound;
    for (const VariableId variable : node.bound) bound.push_back(place_.of(variable));
    const Expression first =
        d.reduce(Kind::minimum_over, other.variables,
                 d.select(other_hit, rank(node, other.variables), d.highest(DataType::i64)));
    return d.select(rank(node, bound) == first, g, zero);
  }

  const Definition& definition_;
  std::uint32_t operand_;
  Conventions conventions_;
  Workplace& place_;
  std::vector<Expression> values_;  // by node of the definition
  std::vector<bool> depends_, reads_;
  std::size_t axes_ = 0;
  std::vector<ReadAdjoint> result_;
};

}  // namespace

std::vector<ReadAdjoint> read_adjoints(const Definition& definition, std::uint32_t operand,
                                       std::span<const std::optional<std::uint32_t>> gradients,
                                       const Conventions& conventions, Workplace& place) {
  Adjoints adjoints(definition, operand, conventions, place);
  for (std::size_t i = 0; i < definition.outputs().size(); ++i)
    if (i < gradients.size() && gradients[i])
      adjoints.go_from(definition.outputs()[i], *gradients[i]);
  return std::move(adjoints).take();
}

}  // namespace lemma::differentiate
