#include "verifier/exchange/taso_export.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "ir/operator.h"
#include "rule_language/rule_cases.h"
#include "rule_language/substitution_analysis.h"
#include "verifier/conditions/side_shapes.h"
#include "verifier/exchange/taso_import.h"
#include "verifier/exchange/taso_instances.h"

namespace lemma::exchange {
namespace {

using verifier::attribute_of;

std::optional<TasoType> simple_type(std::string_view name) {
  static const std::map<std::string_view, TasoType> types = {
      {"Relu", TasoType::relu},           {"Sigmoid", TasoType::sigmoid},
      {"Tanh", TasoType::tanh},           {"Add", TasoType::add},
      {"Mul", TasoType::multiply},        {"MatMul", TasoType::matmul},
      {"Concat", TasoType::concat},       {"Split", TasoType::split},
      {"Transpose", TasoType::transpose}, {"Conv", TasoType::conv2d},
      {"MaxPool", TasoType::max_pool},    {"AveragePool", TasoType::average_pool}};
  const auto entry = types.find(name);
  return entry == types.end() ? std::nullopt : std::optional(entry->second);
}

class RuleExporter {
 public:
  RuleExporter(const Substitution& rule, const TasoInstance& instance)
      : rule_(rule), instance_(instance) {}

  Result<TasoRule> run() {
    for (const RuleParameter& parameter : rule_.parameters) {
      const auto value = instance_.parameters.find(parameter.name);
      if (value != instance_.parameters.end())
        bindings_.parameters[parameter.name] = value->second;
      else if (parameter.range == RuleParameter::Range::dimension)
        bindings_.parameters[parameter.name] = Dimension::symbol(parameter.name);
      else
        return unsupported("parameters");
    }
    bind();
    number_inputs();
    TasoRule result;
    std::vector<TasoTensor> left, right;
    LEMMA_RETURN_IF_ERROR(add_side(rule_.left, result.source, left));
    LEMMA_RETURN_IF_ERROR(add_side(rule_.right, result.target, right));
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i].op < 0 || right[i].op < 0) return unsupported("an output that is an input");
      result.outputs.push_back({left[i], right[i]});
    }
    return result;
  }

 private:
  void bind() {
    for (const RuleGroup& group : rule_.groups) {
      Shape& shape = bindings_.groups[group.name];
      for (std::size_t i = 0; i < instance_.lengths.at(group.name); ++i)
        shape.push_back(Dimension::symbol(fmt::format("{}.{}", group.name, i)));
    }
    for (const std::string& name : dimension_variables(rule_))
      bindings_.dimensions[name] = Dimension::symbol(name);
  }

  /// "x7" is TASO's input -7; other names get the next free number.
  void number_inputs() {
    std::set<std::int64_t> used;
    std::vector<std::int64_t> numbers(rule_.inputs.size(), 0);
    for (std::size_t i = 0; i < rule_.inputs.size(); ++i) {
      const std::string& name = rule_.inputs[i].name;
      std::int64_t number = 0;
      const char *begin = name.data() + 1, *end = name.data() + name.size();
      if (name[0] != 'x' || std::from_chars(begin, end, number).ptr != end || number < 1) continue;
      if (used.insert(number).second) numbers[i] = number;
    }
    for (std::int64_t& number : numbers)
      for (std::int64_t next = 1; number == 0; ++next)
        if (used.insert(next).second) number = next;
    for (const std::int64_t number : numbers) inputs_.push_back(-number);
  }

  Result<void> add_side(const std::vector<TermId>& roots, std::vector<TasoOperator>& ops,
                        std::vector<TasoTensor>& outputs) {
    LEMMA_ASSIGN_OR_RETURN(const verifier::SideShapes shapes,
                           verifier::shapes_of(rule_, roots, bindings_));
    std::map<std::uint32_t, TasoTensor> made;
    for (const TermId id : detail::reachable_terms(rule_, roots)) {
      const RuleTerm& term = rule_.terms[id.v];
      if (term.is_input) {
        made[id.v] = {inputs_[term.input], 0};
        continue;
      }
      TasoOperator op;
      for (const TermId operand : term.operands) {
        if (operand.is_none()) return unsupported("an absent operand");
        op.inputs.push_back(made.at(operand.v));
      }
      LEMMA_RETURN_IF_ERROR(describe(term, shapes, op));
      const auto same = std::find(ops.begin(), ops.end(), op);
      made[id.v] = {same - ops.begin(), term.output};
      if (same == ops.end()) ops.push_back(std::move(op));
    }
    for (const TermId root : roots) outputs.push_back(made.at(root.v));
    return {};
  }

  static void set(TasoOperator& op, TasoKey key, std::int64_t value) {
    op.parameters.push_back({static_cast<std::int64_t>(key), value});
  }

  Result<void> describe(const RuleTerm& term, const verifier::SideShapes& shapes,
                        TasoOperator& op) {
    const std::string_view name = record(term.op).name;
    const auto type = simple_type(name);
    if (!type) return unsupported(fmt::format("the operator {}", name));
    op.type = static_cast<std::int64_t>(*type);
    const auto shape = [&](std::size_t i) -> const Shape& {
      return *shapes.of_terms[term.operands[i].v];
    };
    if (*type == TasoType::conv2d) return convolution(term, shape(0), shape(1), op);
    if (*type == TasoType::max_pool || *type == TasoType::average_pool)
      return pool(term, shape(0), op);
    if (*type == TasoType::multiply && shape(1).empty() && !shape(0).empty())
      op.type = static_cast<std::int64_t>(TasoType::scale);
    if (*type == TasoType::matmul) set(op, TasoKey::activation, 0);
    if (*type == TasoType::concat || *type == TasoType::split) {
      std::int64_t axis =
          attribute_of<std::int64_t>(term, "axis", AttributeKind::integer, bindings_).value_or(0);
      if (axis < 0) axis += static_cast<std::int64_t>(shape(0).size());
      if (*type == TasoType::concat) {
        set(op, TasoKey::input_count, static_cast<std::int64_t>(term.operands.size()));
        set(op, TasoKey::axis, axis);
        set(op, TasoKey::rank, static_cast<std::int64_t>(shape(0).size()));
      } else {
        set(op, TasoKey::output_count, term.output_count);
        set(op, TasoKey::axis, axis);
      }
    }
    return *type == TasoType::transpose ? transpose(term, op) : Result<void>();
  }

  Result<void> transpose(const RuleTerm& term, TasoOperator& op) {
    const auto order = attribute_of<Integers>(term, "perm", AttributeKind::integers, bindings_);
    if (!order) return unsupported("a Transpose by a variable");
    const auto rank = static_cast<std::int64_t>(order->size());
    std::int64_t digits = 0;
    for (const std::int64_t axis : *order) digits = digits * rank + axis;
    set(op, TasoKey::rank, rank);
    set(op, TasoKey::permutation, digits);
    set(op, TasoKey::shuffle, 1);
    return {};
  }

  /// The groups are TASO's to infer: reading the rule again shows whether they are the same.
  Result<void> convolution(const RuleTerm& term, const Shape& data, const Shape& weight,
                           TasoOperator& op) {
    if (data.size() != 4 || term.operands.size() != 2)
      return unsupported("a convolution with a bias, or other than of images");
    return window(term, {weight[2], weight[3]}, op);
  }

  /// Whether averages count the padding is TASO's to say, too.
  Result<void> pool(const RuleTerm& term, const Shape& data, TasoOperator& op) {
    const auto kernel =
        attribute_of<Shape>(term, "kernel_shape", AttributeKind::dimensions, bindings_);
    if (data.size() != 4 || !kernel || kernel->size() != 2)
      return unsupported("a pool other than of images");
    if (!(*kernel)[0].is_constant() || !(*kernel)[1].is_constant())
      return unsupported("a pool whose window is a variable");
    return window(term, *kernel, op);
  }

  Result<void> window(const RuleTerm& term, const Shape& kernel, TasoOperator& op) {
    const auto list = [&](std::string_view name, std::int64_t otherwise, std::size_t count) {
      return attribute_of<Shape>(term, name, AttributeKind::dimensions, bindings_)
          .value_or(Shape(count, Dimension(otherwise)));
    };
    const Shape strides = list("strides", 1, 2), pads = list("pads", 0, 4);
    if (list("dilations", 1, 2) != Shape(2, Dimension(1))) return unsupported("dilations");
    if (strides.size() != 2 || pads.size() != 4)
      return unsupported("a window of other than images");
    bool same = true;
    const bool valid = pads == Shape(4, Dimension(0));
    for (std::size_t i = 0; i < 2; ++i) {
      if (!strides[i].is_constant()) return unsupported("a stride that is a variable");
      same = same && strides[i].is(1) && pads[i] == pads[i + 2] &&
             kernel[i] == pads[i] + pads[i] + Dimension(1);
    }
    if (!same && !valid) return unsupported("padding that is neither SAME nor VALID");
    const TasoKey keys[] = {TasoKey::kernel_height, TasoKey::kernel_width};
    for (std::size_t i = 0; i < 2; ++i)
      if (kernel[i].is_constant()) set(op, keys[i], kernel[i].offset());
    set(op, TasoKey::stride_height, strides[0].offset());
    set(op, TasoKey::stride_width, strides[1].offset());
    set(op, TasoKey::padding, same ? 0 : 1);
    set(op, TasoKey::activation, 0);
    return {};
  }

  const Substitution& rule_;
  const TasoInstance& instance_;
  RuleBindings bindings_;
  std::vector<std::int64_t> inputs_;
};

void rename(RuleExpression& expression, std::map<std::string, std::string>& names) {
  using Kind = RuleExpression::Kind;
  if (expression.kind == Kind::variable || expression.kind == Kind::splice) {
    const auto [name, inserted] =
        names.try_emplace(expression.name, fmt::format("v{}", names.size()));
    expression.name = name->second;
  }
  for (RuleExpression& argument : expression.arguments) rename(argument, names);
}

Result<ExportedRule> export_instance(const Substitution& rule, const TasoInstance& instance,
                                     const std::string& name) {
  ExportedRule result;
  LEMMA_ASSIGN_OR_RETURN(result.rule, RuleExporter(rule, instance).run());
  auto again = import_rule(result.rule, name);
  if (!again) return with_context("TASO would not read it", std::move(again.error()));
  result.as_read = std::move(*again);
  result.of = rule.name;
  result.is_same = text_without_names(result.as_read) == text_without_names(rule);
  return result;
}

}  // namespace

Result<std::vector<ExportedRule>> export_rule(const Substitution& rule) {
  std::vector<ExportedRule> result;
  std::set<std::string> known;
  std::optional<Error> first;
  for (const TasoInstance& instance : taso_instances(rule)) {
    const std::string name =
        result.empty() ? rule.name : fmt::format("{}_instance_{}", rule.name, result.size() + 1);
    auto exported = export_instance(rule, instance, name);
    if (!exported) {
      if (!first) first = std::move(exported.error());
      continue;
    }
    // Instances that TASO reads as the same rule are one.
    if (known.insert(text_without_names(exported->as_read)).second)
      result.push_back(std::move(*exported));
    if (result.back().is_same) return std::vector{std::move(result.back())};
  }
  if (result.empty()) return tl::unexpected(std::move(*first));
  return result;
}

ExportedRules export_rules(const std::vector<Substitution>& rules) {
  ExportedRules result;
  for (const Substitution& rule : rules) {
    auto exported = export_rule(rule);
    if (exported)
      for (ExportedRule& one : *exported) result.rules.push_back(std::move(one));
    else
      result.left_out.push_back(fmt::format("{}: {}", rule.name, exported.error().message));
  }
  return result;
}

std::string text_without_names(const Substitution& rule) {
  Substitution plain = rule;
  plain.name = "rule";
  // Inputs in the order in which the terms first use them.
  std::vector<std::uint32_t> place(plain.inputs.size(), 0);
  std::vector<RuleInput> inputs;
  for (RuleTerm& term : plain.terms) {
    if (!term.is_input) continue;
    place[term.input] = static_cast<std::uint32_t>(inputs.size());
    inputs.push_back(plain.inputs[term.input]);
    inputs.back().name = fmt::format("i{}", inputs.size());
    term.input = place[term.input];
  }
  plain.inputs = std::move(inputs);
  std::map<std::string, std::string> names;
  for (RuleInput& input : plain.inputs)
    for (RuleExpression& item : input.shape) rename(item, names);
  for (RuleTerm& term : plain.terms)
    for (auto& [name, expression] : term.attributes) rename(expression, names);
  for (RuleCondition& condition : plain.conditions)
    for (RuleExpression& argument : condition.arguments) rename(argument, names);
  for (RuleParameter& parameter : plain.parameters)
    if (const auto name = names.find(parameter.name); name != names.end())
      parameter.name = name->second;
  std::sort(plain.parameters.begin(), plain.parameters.end(),
            [](const RuleParameter& a, const RuleParameter& b) { return a.name < b.name; });
  for (RuleGroup& group : plain.groups) {
    const auto name = names.find(group.name);
    if (name != names.end()) group.name = name->second;
  }
  std::sort(plain.groups.begin(), plain.groups.end(),
            [](const RuleGroup& a, const RuleGroup& b) { return a.name < b.name; });
  return text(plain);
}

}  // namespace lemma::exchange
