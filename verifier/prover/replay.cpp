#include "verifier/prover/replay.h"

#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <z3++.h>

namespace lemma::verifier {
namespace {

constexpr unsigned resource_limit = 20'000'000;  // Z3's own count: the same on every machine

struct Equation {
  ValueId left, right;
};

/// The equations that one step claims.
Result<std::vector<Equation>> instantiate_step(Graph& graph, const AxiomUse& step) {
  const Substitution& axiom = *step.axiom;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const TensorType& type = graph.type(step.inputs[i]);
    if (!type.is_known()) return internal_error("an input has an unknown type");
    const DataType wanted = axiom.inputs[i].data_type;
    if (wanted == DataType::undefined ? !is_real(type.data_type) : type.data_type != wanted)
      return internal_error("an input has another element type than the axiom says");
    shapes.push_back(*type.shape);
  }
  if (shapes.size() != axiom.inputs.size()) return internal_error("wrong number of inputs");
  if (!shapes_agree(axiom, shapes, step.bindings))
    return internal_error("the shapes are not those of the axiom");
  if (!conditions_hold(axiom, step.bindings))
    return internal_error("the conditions of the axiom do not hold");
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> left,
                         instantiate(axiom, axiom.left, step.inputs, step.bindings, graph));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> right,
                         instantiate(axiom, axiom.right, step.inputs, step.bindings, graph));
  std::vector<Equation> equations;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!(graph.type(left[i]) == graph.type(right[i])))
      return internal_error("the sides of the axiom have different types");
    equations.push_back({left[i], right[i]});
  }
  return equations;
}

/// Terms as ground expressions of one uninterpreted sort. Each operator with its attributes is one
/// function for each of its outputs; names are made up, so that none means anything to Z3.
class GroundTerms {
 public:
  GroundTerms(z3::context& context, const Graph& graph)
      : context_(context), graph_(graph), sort_(context.uninterpreted_sort("lemma_tensor")) {
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) translate(graph.node({i}), i);
  }

  z3::expr operator[](ValueId value) const { return terms_.at(value.v); }

 private:
  void translate(const Node& node, std::uint32_t id) {
    z3::expr_vector arguments(context_);
    for (const ValueId input : node.inputs)
      arguments.push_back(input.is_none() ? context_.constant("lemma_absent", sort_)
                                          : terms_.at(input.v));
    for (std::uint32_t output = 0; output < node.output_count; ++output) {
      const std::uint32_t value = node.output(output).v;
      if (node.kind == NodeKind::operation && !node.inputs.empty())
        terms_.emplace(value, function(node, output)(arguments));
      else if (node.kind == NodeKind::operation)
        terms_.emplace(value, context_.constant(symbol(node, output).c_str(), sort_));
      else
        terms_.emplace(value, context_.constant(fmt::format("lemma_value_{}", id).c_str(), sort_));
    }
  }

  std::string symbol(const Node& node, std::uint32_t output) {
    const std::string meaning =
        fmt::format("{} {} {} {}/{}", record(node.op).name, text(node.attributes),
                    node.inputs.size(), output, node.output_count);
    const auto [where, inserted] = numbers_.try_emplace(meaning, numbers_.size());
    return fmt::format("lemma_operator_{}", where->second);
  }

  z3::func_decl function(const Node& node, std::uint32_t output) {
    z3::sort_vector domain(context_);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) domain.push_back(sort_);
    return context_.function(context_.str_symbol(symbol(node, output).c_str()), domain, sort_);
  }

  z3::context& context_;
  const Graph& graph_;
  z3::sort sort_;
  std::map<std::string, std::size_t> numbers_;
  std::map<std::uint32_t, z3::expr> terms_;
};

/// What Z3 is told, up to names: cases of a rule that differ in sizes and numbers of axes tell it the
/// same.
std::string problem_text(const Graph& graph, const std::vector<Equation>& equations,
                         const std::vector<Goal>& goals) {
  std::string result;
  const auto put = [&result](std::uint32_t number) {
    result.append(reinterpret_cast<const char*>(&number), sizeof number);
  };
  std::map<std::string, std::uint32_t> operators;
  for (const Node& node : graph.nodes()) {
    const bool operation = node.kind == NodeKind::operation;
    const std::string meaning =
        operation ? fmt::format("{} {}", record(node.op).name, text(node.attributes)) : "";
    put(operation ? operators.try_emplace(meaning, operators.size() + 1).first->second : 0);
    put(node.output_count);
    put(static_cast<std::uint32_t>(node.inputs.size()));
    for (const ValueId input : node.inputs) put(input.v);
  }
  for (const Equation& equation : equations) put(equation.left.v), put(equation.right.v);
  put(static_cast<std::uint32_t>(goals.size()));
  for (const Goal& goal : goals) put(goal.left.v), put(goal.right.v);
  return result;
}

Result<void> refute_difference(const Graph& graph, const std::vector<Equation>& equations,
                               const std::vector<Goal>& goals) {
  // Most cases of a rule pose the problem that was refuted for the case before.
  constexpr std::size_t most_known = 2000;
  thread_local std::set<std::string> refuted;
  std::string problem = problem_text(graph, equations, goals);
  if (refuted.contains(problem)) return {};
  z3::context context;
  z3::solver solver(context, "QF_UF");
  z3::params parameters(context);
  parameters.set("rlimit", resource_limit);
  parameters.set("random_seed", 0U);
  solver.set(parameters);
  const GroundTerms terms(context, graph);
  for (const Equation& equation : equations)
    solver.add(terms[equation.left] == terms[equation.right]);
  z3::expr_vector differences(context);
  for (const Goal& goal : goals) differences.push_back(terms[goal.left] != terms[goal.right]);
  solver.add(z3::mk_or(differences));
  switch (solver.check()) {
    case z3::unsat:
      if (refuted.size() >= most_known) refuted.clear();
      refuted.insert(std::move(problem));
      return {};
    case z3::sat: return internal_error("Z3 finds that the goal does not follow from the steps");
    case z3::unknown: break;
  }
  return internal_error(fmt::format("Z3 gave up: {}", solver.reason_unknown()));
}

}  // namespace

Result<void> replay(Graph& graph, const std::vector<AxiomUse>& steps,
                    const std::vector<Goal>& goals) {
  std::vector<Equation> equations;
  for (const AxiomUse& step : steps) {
    auto claimed = instantiate_step(graph, step);
    if (!claimed) return with_context(step.axiom->name, std::move(claimed.error()));
    equations.insert(equations.end(), claimed->begin(), claimed->end());
  }
  try {
    return refute_difference(graph, equations, goals);
  } catch (const z3::exception& error) {
    return internal_error(fmt::format("Z3: {}", error.msg()));
  }
}

}  // namespace lemma::verifier
