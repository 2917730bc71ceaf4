// Finding the values of a rule's variables from types and attributes.

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "ir/attribute_conversion.h"
#include "rule_language/substitution.h"
#include "rule_language/substitution_analysis.h"

namespace lemma {
namespace {

/// `open`: cannot be decided before other variables are known.
enum class Outcome { same, different, open };

/// Makes expressions equal to given values by binding variables.
class Solver {
 public:
  enum class Target { dimensions, parameters };  // where a new variable is entered
  Solver(RuleBindings& bindings, Target target) : bindings_(bindings), target_(target) {}

  Outcome solve(const RuleExpression& e, const AttributeValue& value) {
    using Kind = RuleExpression::Kind;
    if (e.kind == Kind::list) {
      if (const auto list = to_dimensions(value)) return solve_list(e.arguments, *list);
    } else if (const auto known = evaluate_any(e)) {
      return same_value(*known, value) ? Outcome::same : Outcome::different;
    }
    switch (e.kind) {
      case Kind::variable: enter(e.name, value); return Outcome::same;
      case Kind::list: return solve_reals(e.arguments, value);
      case Kind::call: return solve_call(e, value);
      case Kind::add:
      case Kind::subtract:
      case Kind::multiply:
        if (const auto dimension = to_dimension(value)) return solve_arithmetic(e, *dimension);
        return Outcome::open;
      case Kind::literal:
      case Kind::splice: return Outcome::different;
    }
    return Outcome::open;
  }

  Outcome solve_list(const std::vector<RuleExpression>& elements, const Shape& values) {
    const auto open_length = split_point(elements, values.size());
    if (!open_length) return Outcome::different;
    if (*open_length == too_open) return Outcome::open;
    Outcome outcome = Outcome::same;
    auto next = values.begin();
    for (const RuleExpression& element : elements) {
      Outcome element_outcome = Outcome::same;
      if (element.kind == RuleExpression::Kind::splice) {
        const auto length = group_length(element.name).value_or(*open_length);
        const auto end = next + static_cast<std::ptrdiff_t>(length);
        element_outcome = solve_group(element.name, Shape(next, end));
        next = end;
      } else {
        element_outcome = solve(element, AttributeValue(*next++));
      }
      if (element_outcome == Outcome::different) return element_outcome;
      if (element_outcome == Outcome::open) outcome = element_outcome;
    }
    return outcome;
  }

 private:
  static constexpr std::size_t too_open = static_cast<std::size_t>(-1);

  std::optional<AttributeValue> evaluate_any(const RuleExpression& e) const {
    const std::optional<AttributeValue> value = detail::value_of(e, bindings_);
    if (!value) return std::nullopt;
    for (const AttributeKind kind :
         {AttributeKind::dimension, AttributeKind::real, AttributeKind::dimensions,
          AttributeKind::reals, AttributeKind::string, AttributeKind::data_type}) {
      if (kind_of(*value) == kind && kind != AttributeKind::dimension) return value;
      if (auto converted = to_kind(*value, kind)) return converted;
    }
    return std::nullopt;
  }

  std::optional<std::size_t> group_length(const std::string& name) const {
    if (auto group = bindings_.groups.find(name); group != bindings_.groups.end())
      return group->second.size();
    if (auto entry = bindings_.group_lengths.find(name); entry != bindings_.group_lengths.end())
      return entry->second;
    return std::nullopt;
  }

  /// The length of the one group whose length is unknown (0 if there is none); too_open if there
  /// are several; nothing if `size` elements cannot be.
  std::optional<std::size_t> split_point(const std::vector<RuleExpression>& elements,
                                         std::size_t size) const {
    std::size_t fixed = 0;
    std::vector<std::string_view> unknown;
    for (const RuleExpression& element : elements) {
      if (element.kind != RuleExpression::Kind::splice)
        ++fixed;
      else if (const auto length = group_length(element.name))
        fixed += *length;
      else
        unknown.push_back(element.name);
    }
    if (fixed > size || (unknown.empty() && fixed != size)) return std::nullopt;
    if (unknown.size() > 1) return too_open;
    return size - fixed;
  }

  Outcome solve_group(const std::string& name, Shape value) {
    const auto [where, inserted] = bindings_.groups.try_emplace(name, value);
    return inserted || where->second == value ? Outcome::same : Outcome::different;
  }

  Outcome solve_reals(const std::vector<RuleExpression>& elements, const AttributeValue& value) {
    const auto reals = to_reals(value);
    if (!reals || reals->size() != elements.size()) return Outcome::different;
    Outcome outcome = Outcome::same;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const Outcome element_outcome = solve(elements[i], (*reals)[i]);
      if (element_outcome == Outcome::different) return element_outcome;
      if (element_outcome == Outcome::open) outcome = element_outcome;
    }
    return outcome;
  }

  Outcome solve_call(const RuleExpression& e, const AttributeValue& value) {
    if (e.name == "len" && e.arguments[0].kind == RuleExpression::Kind::variable) {
      const auto length = to_integer(value);
      if (!length || *length < 0) return Outcome::different;
      bindings_.group_lengths.emplace(e.arguments[0].name, static_cast<std::size_t>(*length));
      return Outcome::same;
    }
    if (e.name == "inverse") {
      const auto inverted = find_attribute_function("inverse")->apply({&value, 1});
      return inverted ? solve(e.arguments[0], *inverted) : Outcome::different;
    }
    return Outcome::open;
  }

  /// One operand is known: the other follows.
  Outcome solve_arithmetic(const RuleExpression& e, const Dimension& value) {
    using Kind = RuleExpression::Kind;
    const auto left = evaluate_dimension(e.arguments[0], bindings_);
    const auto right = evaluate_dimension(e.arguments[1], bindings_);
    if (!left && !right) return Outcome::open;
    const RuleExpression& unknown = left ? e.arguments[1] : e.arguments[0];
    const Dimension& known = left ? *left : *right;
    std::optional<Dimension> rest;
    if (e.kind == Kind::add) rest = value - known;
    if (e.kind == Kind::subtract) rest = left ? known - value : value + known;
    if (e.kind == Kind::multiply) rest = exact_div(value, known);
    if (!rest || !rest->is_valid()) return Outcome::different;
    if (const auto constant = rest->constant()) return solve(unknown, *constant);
    return solve(unknown, *rest);
  }

  void enter(const std::string& name, const AttributeValue& value) {
    const auto dimension = to_dimension(value);
    if (target_ == Target::dimensions && dimension)
      bindings_.dimensions.emplace(name, *dimension);
    else
      bindings_.parameters.emplace(name, value);
  }

  RuleBindings& bindings_;
  Target target_;
};

using Defaults = std::vector<std::optional<AttributeValue>>;

Defaults parsed_defaults(const OperatorRecord& operator_record) {
  Defaults defaults;
  for (const AttributeSpecification& s : operator_record.attributes) {
    const auto value = parse_attribute_value(s.kind, s.default_text);
    const bool is_default = s.default_text != "required" && s.default_text != "optional";
    defaults.push_back(is_default && value ? std::optional(*value) : std::nullopt);
  }
  return defaults;
}

/// Defaults of every attribute, by operator and position; nothing where there is none.
const Defaults& defaults_of(OperatorId op) {
  static const auto table = [] {
    std::vector<Defaults> result;
    for (const OperatorRecord& operator_record : all_operators())
      result.push_back(parsed_defaults(operator_record));
    return result;
  }();
  if (op.v < table.size()) return table[op.v];
  static std::mutex mutex;
  static std::map<OperatorId, Defaults> made;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = made.try_emplace(op);
  if (is_new) entry->second = parsed_defaults(record(op));
  return entry->second;
}

bool has_variables(const RuleExpression& expression) {
  bool result = false;
  detail::for_each_expression(expression, [&result](const RuleExpression& e) {
    result = result || e.kind == RuleExpression::Kind::variable ||
             e.kind == RuleExpression::Kind::splice;
  });
  return result;
}

bool has_negative_literal(const RuleExpression& expression) {
  bool result = false;
  detail::for_each_expression(expression, [&result](const RuleExpression& e) {
    const auto* integer = std::get_if<std::int64_t>(&e.literal);
    result = result || (e.kind == RuleExpression::Kind::literal && integer && *integer < 0);
  });
  return result;
}

/// Axes are normalized in real nodes and perhaps not in the rule: comparing those that need no
/// binding is left to attributes_agree.
bool is_left_for_later(const OperatorRecord& operator_record,
                       const AttributeSpecification& specification,
                       const RuleExpression& expression) {
  const bool may_change = names_axes(specification.role) || operator_record.normalize != nullptr;
  return may_change && (!has_variables(expression) || has_negative_literal(expression));
}

}  // namespace

bool match_shape(const Substitution& rule, std::uint32_t input, const Shape& shape,
                 RuleBindings& bindings) {
  const std::vector<RuleExpression>& declared = rule.inputs[input].shape;
  Solver solver(bindings, Solver::Target::dimensions);
  if (solver.solve_list(declared, shape) == Outcome::different) return false;
  return std::all_of(rule.groups.begin(), rule.groups.end(), [&bindings](const RuleGroup& group) {
    const auto entry = bindings.groups.find(group.name);
    return entry == bindings.groups.end() ||
           (entry->second.size() >= group.minimum && entry->second.size() <= group.maximum);
  });
}

bool match_attributes(const RuleTerm& term, const Attributes& attributes, RuleBindings& bindings) {
  const OperatorRecord& operator_record = record(term.op);
  Solver solver(bindings, Solver::Target::parameters);
  std::size_t written = 0;
  for (std::size_t i = 0; i < operator_record.attributes.size(); ++i) {
    const AttributeSpecification& specification = operator_record.attributes[i];
    const AttributeValue* value = attributes.find(specification.name);
    const auto where =
        std::find_if(term.attributes.begin(), term.attributes.end(),
                     [&](const auto& attribute) { return attribute.first == specification.name; });
    if (where == term.attributes.end()) {
      const bool plain = !names_axes(specification.role) && !operator_record.normalize;
      const auto& fallback = defaults_of(term.op)[i];
      if (plain && (value != nullptr) != fallback.has_value()) return false;
      if (plain && value != nullptr && *value != *fallback) return false;
      continue;
    }
    ++written;
    if (value == nullptr) return false;
    if (is_left_for_later(operator_record, specification, where->second)) continue;
    if (solver.solve(where->second, *value) == Outcome::different &&
        !names_axes(specification.role) && operator_record.normalize == nullptr)
      return false;
  }
  return written == term.attributes.size();
}

void bind_real_type(const Substitution& rule, DataType shared, RuleBindings& bindings) {
  if (shared == DataType::undefined) return;
  for (const RuleParameter& parameter : rule.parameters)
    if (parameter.range == RuleParameter::Range::type) bindings.parameters[parameter.name] = shared;
}

bool shapes_agree(const Substitution& rule, std::span<const Shape> input_shapes,
                  const RuleBindings& bindings) {
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    RuleExpression declared;
    declared.kind = RuleExpression::Kind::list;
    declared.arguments = rule.inputs[i].shape;
    const auto value = evaluate_attribute(declared, AttributeKind::dimensions, bindings);
    if (!value || std::get<Shape>(*value) != input_shapes[i]) return false;
  }
  return true;
}

bool attributes_agree(const RuleTerm& term, const Attributes& attributes,
                      std::span<const TensorType> input_types, const RuleBindings& bindings) {
  const OperatorRecord& operator_record = record(term.op);
  if (operator_record.attributes.empty()) return attributes.empty();
  auto written = evaluate_attributes(term, bindings);
  if (!written) return false;
  const auto complete =
      complete_attributes(operator_record, input_types, std::move(*written), term.output_count);
  return complete && *complete == attributes;
}

namespace {

/// Inputs without a written type share one real type, which is the value of `type` parameters.
bool data_types_agree(const Substitution& rule, std::span<const TensorType* const> types,
                      RuleBindings& bindings) {
  DataType shared = DataType::undefined;
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    if (types[i] == nullptr) continue;
    const DataType type = types[i]->data_type;
    if (rule.inputs[i].data_type != DataType::undefined) {
      if (type != rule.inputs[i].data_type) return false;
      continue;
    }
    if (shared == DataType::undefined) shared = type;
    if (!is_real(type) || type != shared) return false;
  }
  bind_real_type(rule, shared, bindings);
  return true;
}

/// Attributes may have bound variables that are not parameters.
void settle(const Substitution& rule, RuleBindings& bindings) {
  for (auto i = bindings.parameters.begin(); i != bindings.parameters.end();) {
    const bool declared =
        std::any_of(rule.parameters.begin(), rule.parameters.end(),
                    [&](const RuleParameter& parameter) { return parameter.name == i->first; });
    const auto dimension = to_dimension(i->second);
    const auto list = to_dimensions(i->second);
    if (declared || (!dimension && !list)) {
      ++i;
      continue;
    }
    if (dimension)
      bindings.dimensions.emplace(i->first, *dimension);
    else
      bindings.groups.emplace(i->first, *list);
    i = bindings.parameters.erase(i);
  }
  bindings.group_lengths.clear();
}

/// `len(D) == len(C)` gives the one length where the other is known.
void bind_lengths(const Substitution& rule, RuleBindings& bindings) {
  for (const RuleCondition& condition : rule.conditions) {
    if (condition.kind != RuleCondition::Kind::equal) continue;
    for (const std::size_t i : {0U, 1U}) {
      if (!detail::is_length_of_variable(condition.arguments[i])) continue;
      const auto length = evaluate_dimension(condition.arguments[1 - i], bindings);
      if (!length || !length->constant() || *length->constant() < 0) continue;
      bindings.group_lengths.try_emplace(condition.arguments[i].arguments[0].name,
                                         static_cast<std::size_t>(*length->constant()));
    }
  }
}

/// A dimension that was solved for (n in `n + 1`) might be negative; a size cannot.
bool dimensions_are_sizes(const Substitution& rule, const RuleBindings& bindings) {
  for (const auto& [name, value] : bindings.dimensions) {
    const auto low = lower_bound(value);
    if (low && *low >= 0) continue;
    const bool is_size =
        std::any_of(rule.inputs.begin(), rule.inputs.end(), [&name = name](const RuleInput& input) {
          return std::any_of(input.shape.begin(), input.shape.end(), [&](const RuleExpression& e) {
            return e.kind == RuleExpression::Kind::variable && e.name == name;
          });
        });
    if (!is_size) return false;
  }
  return true;
}

}  // namespace

namespace detail {

std::optional<std::vector<Shape>> shapes_of_inputs(const Substitution& rule,
                                                   std::span<const TensorType* const> input_types,
                                                   RuleBindings& bindings) {
  std::vector<Shape> shapes;
  for (const TensorType* type : input_types) {
    if (type == nullptr || !type->is_known()) return std::nullopt;
    shapes.push_back(*type->shape);
  }
  if (!data_types_agree(rule, input_types, bindings)) return std::nullopt;
  return shapes;
}

bool bind_what_follows(const Substitution& rule, std::span<const Shape> shapes,
                       std::span<const MatchedNode> nodes, RuleBindings& bindings) {
  for (RuleBindings before; true;) {
    before = bindings;
    bind_lengths(rule, bindings);
    for (std::uint32_t i = 0; i < shapes.size(); ++i)
      if (!match_shape(rule, i, shapes[i], bindings)) return false;
    for (const MatchedNode& node : nodes)
      if (!match_attributes(rule.terms[node.term.v], *node.attributes, bindings)) return false;
    if (bindings == before) return true;
  }
}

bool solve_for(const RuleExpression& expression, std::int64_t value, RuleBindings& bindings) {
  return Solver(bindings, Solver::Target::parameters).solve(expression, value) == Outcome::same;
}

bool bindings_fit(const Substitution& rule, std::span<const Shape> shapes,
                  std::span<const MatchedNode> nodes, RuleBindings& bindings) {
  settle(rule, bindings);
  if (!dimensions_are_sizes(rule, bindings) || !shapes_agree(rule, shapes, bindings)) return false;
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](const MatchedNode& node) {
                       return attributes_agree(rule.terms[node.term.v], *node.attributes,
                                               node.input_types, bindings);
                     }) &&
         conditions_hold(rule, bindings);
}

}  // namespace detail

bool bind_variables(const Substitution& rule, std::span<const TensorType* const> input_types,
                    std::span<const MatchedNode> nodes, RuleBindings& bindings) {
  const auto shapes = detail::shapes_of_inputs(rule, input_types, bindings);
  return shapes && detail::bind_what_follows(rule, *shapes, nodes, bindings) &&
         detail::bindings_fit(rule, *shapes, nodes, bindings);
}

}  // namespace lemma
