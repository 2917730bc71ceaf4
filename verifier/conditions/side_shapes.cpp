#include "verifier/conditions/side_shapes.h"

#include <map>

#include "ir/operator.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_analysis.h"

namespace lemma::verifier {
namespace {

/// Stands for a dimension that has no value; not the name of any variable.
constexpr std::string_view without_value = "?";

bool is_without_value(const Dimension& dimension) {
  std::map<std::string, int> symbols;
  collect_symbols(dimension, symbols);
  return symbols.contains(without_value.data());
}

class SideTyping {
 public:
  SideTyping(const Substitution& rule, const RuleBindings& bindings)
      : rule_(rule), bindings_(bindings), types_(rule.terms.size()) {}

  Result<SideShapes> run(const std::vector<TermId>& roots) {
    LEMMA_ASSIGN_OR_RETURN(inputs_, input_types(rule_, bindings_));
    result_.of_terms.resize(rule_.terms.size());
    std::vector<char> needed(rule_.terms.size(), 0);
    for (const TermId root : roots) needed[root.v] = 1;
    for (std::size_t i = rule_.terms.size(); i-- > 0;)
      for (const TermId operand : rule_.terms[i].operands)
        if (needed[i] != 0 && !operand.is_none()) needed[operand.v] = 1;
    for (std::size_t i = 0; i < rule_.terms.size(); ++i) {
      if (needed[i] == 0) continue;
      LEMMA_ASSIGN_OR_RETURN(types_[i], type(rule_.terms[i]));
      result_.of_terms[i] = types_[i].shape;
    }
    return std::move(result_);
  }

 private:
  Result<TensorType> type(const RuleTerm& term) {
    if (term.is_input) return inputs_[term.input];
    std::vector<TensorType> operands;
    for (const TermId operand : term.operands) {
      if (operand.is_none()) return unsupported("an absent operand");
      operands.push_back(types_[operand.v]);
    }
    LEMMA_ASSIGN_OR_RETURN(const Attributes attributes, this->attributes(term));
    LEMMA_ASSIGN_OR_RETURN(
        ApplicationTypes types,
        types_of_application(record(term.op), operands, attributes, term.output_count));
    note(types);
    TensorType& chosen = types.outputs.at(term.output);
    for (const Dimension& size : *chosen.shape)
      if (is_without_value(size)) return unsupported("a size without a value");
    return std::move(chosen);
  }

  Result<Attributes> attributes(const RuleTerm& term) const {
    Attributes result;
    for (const auto& [name, expression] : term.attributes) {
      const AttributeKind kind = detail::find_attribute(record(term.op), name)->kind;
      auto value = evaluate_attribute(expression, kind, bindings_);
      if (!value && kind == AttributeKind::dimension)
        value = AttributeValue(Dimension::symbol(std::string(without_value)));
      if (!value) return tl::unexpected(std::move(value.error()));
      result.set(name, std::move(*value));
    }
    return result;
  }

  void note(const ApplicationTypes& types) {
    for (const Dimension& zero : types.zeros())
      if (!is_without_value(zero)) result_.zeros.push_back(zero);
    for (const Constraint& demand : types.demands)
      if (demand.kind == ConstraintKind::divides && !is_without_value(demand.a))
        result_.divisions.push_back(demand);
  }

  const Substitution& rule_;
  const RuleBindings& bindings_;
  std::vector<TensorType> inputs_, types_;
  SideShapes result_;
};

}  // namespace

Zeros ApplicationTypes::zeros() const {
  Zeros result;
  for (const auto& [kind, a, b] : demands) {
    const bool is_equality = kind == ConstraintKind::equal || kind == ConstraintKind::broadcasts ||
                             kind == ConstraintKind::expands;
    if (is_equality && !(a == b)) result.push_back(b - a);
  }
  return result;
}

Result<ApplicationTypes> types_of_application(const OperatorRecord& op,
                                              const std::vector<TensorType>& operands,
                                              const Attributes& attributes,
                                              std::size_t output_count) {
  LEMMA_ASSIGN_OR_RETURN(const Attributes complete,
                         complete_attributes(op, operands, attributes, output_count));
  Constraints constraints(Constraints::Mode::assumed);
  LEMMA_ASSIGN_OR_RETURN(std::vector<TensorType> outputs,
                         op.infer({operands, complete, output_count, &constraints}));
  return ApplicationTypes{std::move(outputs), constraints.stated()};
}

Result<SideShapes> shapes_of(const Substitution& rule, const std::vector<TermId>& roots,
                             const RuleBindings& bindings) {
  return SideTyping(rule, bindings).run(roots);
}

}  // namespace lemma::verifier
