#include "verifier/checker/replay.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/quoted.h"
#include "base/sha256.h"

namespace lemma::checker {
namespace {

Result<void> check_witness(const Certificate& certificate) {
  const Substitution& rule = certificate.rule;
  const std::vector<std::string> names = variable_names(rule);
  const std::string_view written = certificate.witness;
  if (written.starts_with(" ") == names.empty()) return bad_input("a value is missing, or stray");
  LEMMA_ASSIGN_OR_RETURN(const auto values, named_values(written.substr(!names.empty()), names));
  RuleCase rule_case;
  for (std::size_t i = 0; i < names.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(const RuleExpression value, parse_rule_expression(values[i]));
    LEMMA_RETURN_IF_ERROR(bind_variable(rule, names[i], value, {}, rule_case.bindings));
  }
  for (const auto& [name, value] : rule_case.bindings.dimensions)
    if (!value.is_constant() || value.offset() < 0)
      return bad_input(fmt::format("'{}' is no size", name));
  if (!conditions_hold(rule, rule_case.bindings))
    return bad_input("it does not meet the conditions");
  LEMMA_ASSIGN_OR_RETURN(rule_case.inputs, input_types(rule, rule_case.bindings));
  for (const TensorType& type : rule_case.inputs)
    if (!constant_sizes(*type.shape)) return bad_input("a size is not a number");
  return Replay(rule, rule_case, DataType::f32).begin();
}

}  // namespace

std::string claim(const RuleCase& rule_case, const Graph& graph,
                  const std::vector<ValueId>& outputs) {
  std::string result =
      fmt::format("case{}{} ->", rule_case.text.empty() ? "" : " ", rule_case.text);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    result += (i == 0 ? " " : " & ") + text(*graph.type(outputs[i]).shape);
  return result;
}

Result<void> Replay::begin() {
  bind_real_type(rule_, real_, bindings_);
  for (std::size_t i = 0; i < case_.inputs.size(); ++i) {
    TensorType type = case_.inputs[i];
    if (rule_.inputs[i].data_type == DataType::undefined) type.data_type = real_;
    LEMMA_ASSIGN_OR_RETURN(const ValueId input, graph_.add_input(rule_.inputs[i].name, type));
    inputs_.push_back(input);
    if (rule_.inputs[i].defined) always_defined_.declare(input);
  }
  auto left = instantiate(rule_, rule_.left, inputs_, bindings_, graph_);
  if (!left) return with_context("the left side is not well typed", std::move(left.error()));
  sides_.left = state_ = std::move(*left);
  auto right = instantiate(rule_, rule_.right, inputs_, bindings_, graph_);
  if (!right) return with_context("the right side is not defined", std::move(right.error()));
  sides_.right = std::move(*right);
  node_count_of_sides_ = graph_.node_count();
  LEMMA_RETURN_IF_ERROR(check_same_types(graph_, sides_));
  accepted_ = conditions_below(graph_, sides_.left);
  const RunTimeConditions of_right = conditions_below(graph_, sides_.right);
  LEMMA_RETURN_IF_ERROR(check_follows(of_right, accepted_));
  if (real_parameters_ > 0) {
    LEMMA_RETURN_IF_ERROR(check_no_other_tokens(rule_, bindings_, real_parameters_));
    LEMMA_RETURN_IF_ERROR(check_terms(0));
  }
  accepted_divisors_ = divisors_of(rule_, rule_.left, bindings_);
  const std::vector<Dimension> shared = shared_divisors_of(rule_, bindings_);
  accepted_divisors_.insert(accepted_divisors_.end(), shared.begin(), shared.end());
  const std::vector<Dimension> right_divisors = divisors_of(rule_, rule_.right, bindings_);
  LEMMA_RETURN_IF_ERROR(check_divisors(right_divisors));
  if (!rule_.bidirectional) return {};
  for (const Dimension& divisor : divisors_of(rule_, rule_.left, bindings_))
    if (std::find(right_divisors.begin(), right_divisors.end(), divisor) == right_divisors.end() &&
        lower_bound(divisor).value_or(0) < 1)
      return bad_input(fmt::format("the left side divides by {}, which may be 0", divisor.text()));
  return check_follows(accepted_, of_right);
}

bool Replay::claims_right_side() {
  return rule_.bidirectional && inputs_.size() == case_.inputs.size() &&
         instantiate(rule_, rule_.right, inputs_, bindings_, graph_);
}

Result<void> Replay::check_divisors(const std::vector<Dimension>& divisors) const {
  for (const Dimension& divisor : divisors)
    if (lower_bound(divisor).value_or(0) < 1 &&
        std::find(accepted_divisors_.begin(), accepted_divisors_.end(), divisor) ==
            accepted_divisors_.end())
      return bad_input(fmt::format("an attribute divides by {}, which may be 0", divisor.text()));
  return {};
}

Result<SubstitutionUse> Replay::use_of(const Step& step, ValueId present) {
  SubstitutionUse result{step.axiom, {}, {}};
  for (const Reference& reference : step.inputs) {
    if (!reference.position.empty()) {
      LEMMA_ASSIGN_OR_RETURN(const ValueId value, value_at(graph_, state_, reference.position));
      result.inputs.push_back(value);
      continue;
    }
    const TermId roots[] = {reference.term};
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> values,
                           instantiate(rule_, roots, inputs_, bindings_, graph_));
    result.inputs.push_back(values[0]);
  }
  for (const auto& [name, value] : step.variables)
    LEMMA_RETURN_IF_ERROR(bind_variable(*step.axiom, name, value, bindings_, result.bindings));
  // The same chain proves the case for every real type.
  bind_real_type(*step.axiom, graph_.type(present).data_type, result.bindings);
  return result;
}

Result<bool> Replay::is_observed(const Position& position) const {
  for (std::size_t length = 1; length < position.size(); ++length) {
    const Position above(position.begin(), position.begin() + static_cast<std::ptrdiff_t>(length));
    LEMMA_ASSIGN_OR_RETURN(const ValueId user, value_at(graph_, state_, above));
    const Node& node = graph_.node(graph_.producer(user));
    const std::vector<TensorType> types = graph_.input_types(node);
    if (observes_undefined(graph_.op(node), {types, node.attributes, node.output_count}))
      return true;
  }
  return false;
}

Result<void> Replay::check_definedness(const Step& step, const SubstitutionUse& use,
                                       const Sides& sides) {
  for (std::size_t i = 0; i < use.inputs.size(); ++i)
    if (step.axiom->inputs[i].defined && !always_defined_.holds(use.inputs[i]))
      return bad_input(
          fmt::format("the axiom's input '{}' may be undefined here", step.axiom->inputs[i].name));
  if (step.axiom->bidirectional) return {};
  LEMMA_ASSIGN_OR_RETURN(const bool observed, is_observed(step.position));
  if (!rule_.bidirectional && !step.backward && !observed) return {};
  for (const ValueId output : sides.left)
    if (!always_defined_.holds(output))
      return bad_input(
          fmt::format("the axiom is a refinement, used {}, and its left side may be "
                      "undefined here",
                      step.backward ? "backward"
                      : observed    ? "below an operator that observes NaN"
                                    : "for an equation"));
  return {};
}

/// A number stands for the parameters of its order only as long as nothing computes with it.
Result<void> Replay::check_numbers(const SubstitutionUse& use) const {
  const Substitution& axiom = *use.substitution;
  LEMMA_RETURN_IF_ERROR(check_reals_are_compared(axiom, real_parameters_));
  LEMMA_RETURN_IF_ERROR(check_no_other_tokens(axiom, use.bindings, real_parameters_));
  if (!compares_reals(axiom)) return {};
  bool has_token = false, has_other = false;
  for (const RuleParameter& parameter : axiom.parameters) {
    if (parameter.range != RuleParameter::Range::real) continue;
    const AttributeValue& value = use.bindings.parameters.at(parameter.name);
    const auto* number = std::get_if<double>(&value);
    const bool is_symbol = std::holds_alternative<RealSymbol>(value);
    if (number == nullptr && !is_symbol)
      return bad_input(fmt::format("'{}' is no real number", parameter.name));
    has_token = has_token || is_symbol;
    has_other = has_other || (!is_symbol && *number != 0);
  }
  if (!has_token || !has_other) return {};
  return bad_input("the axiom compares a real parameter with a number");
}

Result<void> Replay::check_terms(std::size_t first_node) const {
  for (std::size_t i = first_node; i < graph_.node_count(); ++i) {
    const Node& node = graph_.nodes()[i];
    LEMMA_RETURN_IF_ERROR(check_follows(run_time_conditions(graph_, node), accepted_));
    if (real_parameters_ == 0 || node.kind != NodeKind::operation) continue;
    if (!graph_.op(node).has(sized_by_reals)) continue;
    for (const auto& [name, value] : node.attributes)
      if (has_real_token(value, real_parameters_))
        return bad_input(fmt::format("a shape depends on a real parameter, by attribute {}", name));
  }
  return {};
}

Result<void> Replay::apply(const Step& step) {
  const std::size_t first_node = graph_.node_count();
  LEMMA_ASSIGN_OR_RETURN(const ValueId present, value_at(graph_, state_, step.position));
  LEMMA_ASSIGN_OR_RETURN(SubstitutionUse use, use_of(step, present));
  LEMMA_ASSIGN_OR_RETURN(const Sides sides, sides_of(graph_, use));
  for (const auto* side : {&step.axiom->left, &step.axiom->right})
    LEMMA_RETURN_IF_ERROR(check_divisors(divisors_of(*step.axiom, *side, use.bindings)));
  LEMMA_RETURN_IF_ERROR(check_divisors(shared_divisors_of(*step.axiom, use.bindings)));
  if (real_parameters_ > 0) LEMMA_RETURN_IF_ERROR(check_numbers(use));
  LEMMA_RETURN_IF_ERROR(check_definedness(step, use, sides));
  const ValueId from = (step.backward ? sides.right : sides.left).at(step.output);
  const ValueId to = (step.backward ? sides.left : sides.right).at(step.output);
  if (present != from)
    return bad_input("what stands at the position is not that side of the axiom");
  if (from == to) return bad_input("the step changes nothing");
  LEMMA_ASSIGN_OR_RETURN(state_[step.position[0]], replaced_at(graph_, state_, step.position, to));
  LEMMA_RETURN_IF_ERROR(check_terms(first_node));
  uses_.push_back(std::move(use));
  return {};
}

Result<void> Replay::run(const Chain& chain) {
  LEMMA_RETURN_IF_ERROR(begin());
  for (std::size_t i = 0; i < chain.size(); ++i)
    if (auto applied = apply(chain[i]); !applied)
      return with_context(fmt::format("step {} ({})", i + 1, chain[i].axiom->name),
                          std::move(applied.error()));
  if (state_ != sides_.right) return bad_input("the last step does not arrive at the right side");
  return {};
}

Result<void> Replay::check_observers() {
  const auto observed = observed_operand(graph_, always_defined_, node_count_of_sides_);
  if (observed) return bad_input(objection_to(graph_, *observed));
  return {};
}

Result<std::string> replay_case(const Substitution& rule, const RuleCase& rule_case,
                                const Chain& chain, bool all_types, bool keeps_bits) {
  Replay replay(rule, rule_case, DataType::f32);
  LEMMA_RETURN_IF_ERROR(replay.run(chain));
  if (!keeps_bits) LEMMA_RETURN_IF_ERROR(replay.check_observers());
  if (!all_types) return claim(rule_case, replay.graph(), replay.sides().left);
  for (const DataType real : {DataType::f64, DataType::f16, DataType::bf16}) {
    Replay other(rule, rule_case, real);
    auto done = other.run(chain);
    if (!done && (!other.sides().left.empty() || other.claims_right_side()))
      return with_context(name(real), std::move(done.error()));
  }
  return claim(rule_case, replay.graph(), replay.sides().left);
}

Result<std::vector<std::string>> check(const Certificate& certificate) {
  if (auto witness = check_witness(certificate); !witness)
    return with_context("witness", std::move(witness.error()));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RuleCase> cases, required_cases(certificate.rule));
  if (cases.size() != certificate.case_count)
    return bad_input(fmt::format("the cases are not those that the rule demands: {} instead of {}",
                                 certificate.case_count, cases.size()));
  const bool keeps_bits = certificate.rounding == name(RoundingClass::bitwise);
  std::set<std::size_t> replayed;  // chains, which for all types are replayed once
  std::vector<std::string> lines;
  std::string all;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::size_t chain = certificate.chain_of(i);
    auto claim = replay_case(certificate.terms, cases[i], certificate.chains[chain],
                             replayed.insert(chain).second, keeps_bits);
    if (!claim)
      return with_context(fmt::format("case {} ({}), chain {}", i + 1, cases[i].text, chain + 1),
                          std::move(claim.error()));
    lines.push_back(fmt::format("{} by {}", *claim, chain + 1));
    all += lines.back() + "\n";
  }
  if (sha256(all) == certificate.cases_digest) return lines;
  return bad_input("the cases are not those of the digest, or their shapes, or their chains");
}

}  // namespace lemma::checker
