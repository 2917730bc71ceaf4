#include "verifier/checker/replay.h"

#include <fmt/format.h>

#include "ir/partial.h"
#include "ir/quoted.h"

namespace lemma::checker {
namespace {

Result<void> check_witness(const Certificate& certificate) {
  const Substitution& rule = certificate.rule;
  const std::vector<std::string> names = variable_names(rule);
  const std::string_view written = certificate.witness;
  if (written.starts_with(" ") == names.empty()) return bad_input("a value is missing, or stray");
  LEMMA_ASSIGN_OR_RETURN(const auto values, named_values(written.substr(!names.empty()), names));
  RuleCase one;
  for (std::size_t i = 0; i < names.size(); ++i) {
    LEMMA_ASSIGN_OR_RETURN(const RuleExpression value, parse_rule_expression(values[i]));
    LEMMA_RETURN_IF_ERROR(bind_variable(rule, names[i], value, {}, one.bindings));
  }
  for (const auto& [name, value] : one.bindings.dimensions)
    if (!value.is_constant() || value.offset() < 0)
      return bad_input(fmt::format("'{}' is no size", name));
  if (!conditions_hold(rule, one.bindings)) return bad_input("it does not meet the conditions");
  LEMMA_ASSIGN_OR_RETURN(one.inputs, input_types(rule, one.bindings));
  for (const TensorType& type : one.inputs)
    if (!constant_sizes(*type.shape)) return bad_input("a size is not a number");
  return Replay(rule, one, DataType::f32).begin();
}

}  // namespace

std::string claim(const RuleCase& one, const Graph& graph, const std::vector<ValueId>& outputs) {
  std::string result = fmt::format("case{}{} ->", one.text.empty() ? "" : " ", one.text);
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
  }
  auto left = instantiate(rule_, rule_.left, inputs_, bindings_, graph_);
  if (!left) return with_context("the left side is not well typed", std::move(left.error()));
  sides_.left = state_ = std::move(*left);
  auto right = instantiate(rule_, rule_.right, inputs_, bindings_, graph_);
  if (!right) return with_context("the right side is not defined", std::move(right.error()));
  sides_.right = std::move(*right);
  LEMMA_RETURN_IF_ERROR(check_same_types(graph_, sides_));
  accepted_ = conditions_below(graph_, sides_.left);
  const RunTimeConditions of_right = conditions_below(graph_, sides_.right);
  LEMMA_RETURN_IF_ERROR(check_follows(of_right, accepted_));
  return rule_.bidirectional ? check_follows(accepted_, of_right) : Result<void>();
}

Result<SubstitutionUse> Replay::use_of(const Step& step, ValueId found) {
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
  bind_real_type(*step.axiom, graph_.type(found).data_type, result.bindings);
  return result;
}

Result<void> Replay::apply(const Step& step) {
  // What `=>` says of partial operators, it says from left to right; `=` claims both directions.
  if ((rule_.bidirectional || step.backward) && holds_from_left_only(*step.axiom))
    return bad_input("the axiom's left side may be undefined where its right side is not");
  const std::size_t first_node = graph_.node_count();
  LEMMA_ASSIGN_OR_RETURN(const ValueId found, value_at(graph_, state_, step.position));
  LEMMA_ASSIGN_OR_RETURN(SubstitutionUse use, use_of(step, found));
  LEMMA_ASSIGN_OR_RETURN(const Sides sides, sides_of(graph_, use));
  const ValueId from = (step.backward ? sides.right : sides.left).at(step.output);
  const ValueId to = (step.backward ? sides.left : sides.right).at(step.output);
  if (found != from) return bad_input("what stands at the position is not that side of the axiom");
  if (from == to) return bad_input("the step changes nothing");
  LEMMA_ASSIGN_OR_RETURN(state_[step.position[0]], replaced_at(graph_, state_, step.position, to));
  for (std::size_t i = first_node; i < graph_.node_count(); ++i)
    LEMMA_RETURN_IF_ERROR(check_follows(run_time_conditions(graph_, graph_.nodes()[i]), accepted_));
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

Result<std::string> replay_case(const Substitution& rule, const RuleCase& one, const Chain& chain,
                                bool all_types) {
  Replay replay(rule, one, DataType::f32);
  LEMMA_RETURN_IF_ERROR(replay.run(chain));
  if (!all_types) return claim(one, replay.graph(), replay.sides().left);
  for (const DataType real : {DataType::f64, DataType::f16, DataType::bf16}) {
    Replay other(rule, one, real);
    auto done = other.run(chain);
    if (!done && !other.sides().left.empty())
      return with_context(name(real), std::move(done.error()));
  }
  return claim(one, replay.graph(), replay.sides().left);
}

Result<void> check(const Certificate& certificate) {
  if (auto witness = check_witness(certificate); !witness)
    return with_context("witness", std::move(witness.error()));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RuleCase> cases, required_cases(certificate.rule));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i >= certificate.cases.size())
      return bad_input(fmt::format("the case {} is missing", cases[i].text));
    const auto& [line, chain] = certificate.cases[i];
    auto claim = replay_case(certificate.terms, cases[i], certificate.chains[chain], i == 0);
    if (!claim)
      return with_context(fmt::format("{}, chain {}", line, chain + 1), std::move(claim.error()));
    if (*claim != line) return bad_input(fmt::format("'{}' should be '{}'", line, *claim));
  }
  if (certificate.cases.size() == cases.size()) return {};
  return bad_input(
      fmt::format("'{}' is no case of the rule", certificate.cases[cases.size()].first));
}

}  // namespace lemma::checker
