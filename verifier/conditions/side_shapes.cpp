#include "verifier/conditions/side_shapes.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/operator.h"
#include "rule_language/rule_cases.h"

namespace lemma::verifier {
namespace {

class SideTyping {
 public:
  SideTyping(const Substitution& rule, const RuleBindings& bindings)
      : rule_(rule), bindings_(bindings) {}

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
      LEMMA_ASSIGN_OR_RETURN(result_.of_terms[i], shape(rule_.terms[i]));
    }
    return std::move(result_);
  }

 private:
  Result<Shape> shape(const RuleTerm& term) {
    if (term.is_input) return *inputs_[term.input].shape;
    std::vector<Shape> operands;
    for (const TermId operand : term.operands) {
      if (operand.is_none()) return unsupported("an absent operand");
      operands.push_back(*result_.of_terms[operand.v]);
    }
    const OperatorRecord& op = record(term.op);
    if (op.name == "Conv" && operands.size() == 2) return convolution(term, operands);
    if (op.name == "MatMul") return matmul_shape(operands[0], operands[1], result_.zeros);
    if (op.name == "Concat") return concat(term, operands);
    if (op.name == "Split") return split(term, operands);
    if (op.name == "Transpose") return transpose(term, operands);
    if (op.has(lemma::elementwise)) return same_shapes(std::move(operands));
    return unsupported(fmt::format("conditions of {} are not known", op.name));
  }

  std::int64_t axis(const RuleTerm& term) const {
    return attribute_of<std::int64_t>(term, "axis", AttributeKind::integer, bindings_).value_or(0);
  }

  Shape dimensions(const RuleTerm& term, std::string_view name, const Shape& otherwise) const {
    return attribute_of<Shape>(term, name, AttributeKind::dimensions, bindings_)
        .value_or(otherwise);
  }

  /// Numbers may be combined with any tensor.
  Result<Shape> same_shapes(std::vector<Shape> operands) {
    const auto tensors = std::stable_partition(operands.begin(), operands.end(),
                                               [](const Shape& one) { return !one.empty(); });
    if (tensors != operands.begin()) operands.erase(tensors, operands.end());
    return elementwise_shape(operands, result_.zeros);
  }

  Result<Shape> concat(const RuleTerm& term, const std::vector<Shape>& operands) {
    return concat_shape(operands, axis(term), result_.zeros);
  }

  Result<Shape> split(const RuleTerm& term, const std::vector<Shape>& operands) {
    const Shape parts = dimensions(term, "split", {});
    if (term.output >= parts.size()) return unsupported("a Split without sizes");
    Zeros zeros;
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Shape> shapes,
                           split_shapes(operands[0], axis(term), parts, zeros));
    result_.zeros.insert(result_.zeros.end(), zeros.begin(), zeros.end());
    return shapes[term.output];
  }

  Result<Shape> transpose(const RuleTerm& term, const std::vector<Shape>& operands) {
    const auto order = attribute_of<Integers>(term, "perm", AttributeKind::integers, bindings_);
    if (!order || order->size() != operands[0].size()) return unsupported("a Transpose");
    Shape shape;
    for (const std::int64_t from : *order)
      shape.push_back(operands[0].at(static_cast<std::size_t>(from)));
    return shape;
  }

  Result<Shape> convolution(const RuleTerm& term, const std::vector<Shape>& operands) {
    if (operands[0].size() < 3) return bad_input("a convolution of a tensor of another rank");
    const std::size_t axes = operands[0].size() - 2;
    ConvolutionSizes sizes;
    sizes.strides = dimensions(term, "strides", Shape(axes, Dimension(1)));
    sizes.pads = dimensions(term, "pads", Shape(2 * axes, Dimension(0)));
    sizes.dilations = dimensions(term, "dilations", Shape(axes, Dimension(1)));
    sizes.group = attribute_of<Dimension>(term, "group", AttributeKind::dimension, bindings_);
    return convolution_shape(operands[0], operands[1], sizes, result_.zeros);
  }

  const Substitution& rule_;
  const RuleBindings& bindings_;
  std::vector<TensorType> inputs_;
  SideShapes result_;
};

}  // namespace

Result<SideShapes> shapes_of(const Substitution& rule, const std::vector<TermId>& roots,
                             const RuleBindings& bindings) {
  return SideTyping(rule, bindings).run(roots);
}

}  // namespace lemma::verifier
