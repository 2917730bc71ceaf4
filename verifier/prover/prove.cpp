#include "verifier/prover/prove.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "verifier/prover/instances.h"
#include "verifier/prover/replay.h"
#include "verifier/prover/sampling.h"
#include "verifier/prover/saturate.h"

namespace lemma::verifier {

struct Theory {
  std::vector<Substitution> axioms;
  std::vector<DirectedAxiom> directed;
};

AxiomSet::AxiomSet(std::vector<Substitution> axioms) : theory_(std::make_unique<Theory>()) {
  for (Substitution& axiom : axioms) {
    const Sampling sampling = sample(axiom);
    std::string reason;
    if (sampling.counterexample)
      reason = text(*sampling.counterexample);
    else if (sampling.evaluated == 0)
      reason = "no instance could be evaluated" +
               (sampling.failure.empty() ? "" : ": " + sampling.failure);
    if (reason.empty())
      theory_->axioms.push_back(std::move(axiom));
    else
      refused_.emplace_back(axiom.name, std::move(reason));
  }
  theory_->directed = directed(theory_->axioms);
}

AxiomSet::~AxiomSet() = default;
AxiomSet::AxiomSet(AxiomSet&&) noexcept = default;
AxiomSet& AxiomSet::operator=(AxiomSet&&) noexcept = default;

const std::vector<Substitution>& AxiomSet::axioms() const { return theory_->axioms; }

namespace {

/// Whether `excess` is 0 or a sum of at most two of the others, with signs.
bool follows(const Dimension& excess, std::vector<Dimension> others) {
  if (excess.is(0)) return true;
  for (std::size_t i = others.size(); i-- > 0;) others.push_back(Dimension(0) - others[i]);
  others.emplace_back(0);
  for (const Dimension& a : others)
    for (const Dimension& b : others)
      if (excess == a + b) return true;
  return false;
}

/// Reshape accepts sizes that it cannot compare, and trusts that they fit at run time. On the left
/// that is part of the claim's condition; the right side must not ask for more.
std::optional<std::string> extra_condition(const Graph& graph, std::size_t left_nodes) {
  std::vector<Dimension> accepted;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const Node& node = graph.node({i});
    if (node.kind != NodeKind::operation || graph.op(node).name != "Reshape") continue;
    const Dimension excess = element_count(*graph.type(node.output()).shape) -
                             element_count(*graph.type(node.inputs[0]).shape);
    if (i < left_nodes) {
      accepted.push_back(excess);
      continue;
    }
    const bool implied = follows(excess, accepted);
    if (!implied) return fmt::format("the right side is defined only where {} = 0", excess.text());
  }
  return std::nullopt;
}

class CaseProof {
 public:
  CaseProof(const Substitution& rule, const Case& one, const Theory& theory)
      : rule_(rule), case_(one), theory_(theory) {}

  /// Nothing if the case is proved; otherwise why not.
  std::optional<std::string> run() {
    Graph& graph = terms_.graph();
    std::vector<ValueId> inputs;
    for (std::size_t i = 0; i < case_.inputs.size(); ++i)
      inputs.push_back(*graph.add_input(rule_.inputs[i].name, case_.inputs[i]));
    const auto left = instantiate(rule_, rule_.left, inputs, case_.bindings, graph);
    if (!left) return "the left side is not well typed: " + left.error().message;
    const std::size_t left_nodes = graph.node_count();
    const auto right = instantiate(rule_, rule_.right, inputs, case_.bindings, graph);
    if (!right) return "the right side is not well typed for all sizes: " + right.error().message;
    if (auto condition = extra_condition(graph, left_nodes)) return condition;
    std::vector<Goal> goals;
    for (std::size_t i = 0; i < left->size(); ++i) {
      const TensorType &l = graph.type((*left)[i]), &r = graph.type((*right)[i]);
      if (!(l == r)) return fmt::format("output {} has the types {} and {}", i, text(l), text(r));
      goals.push_back({(*left)[i], (*right)[i]});
    }
    const Saturation saturation = saturate(terms_, goals, theory_.directed, {});
    if (!saturation.reached) return fmt::format("the sides did not meet: {}", saturation.stopped);
    if (auto checked = replay(graph, saturation.steps, goals); !checked)
      return "the proof found was not confirmed: " + checked.error().message;
    for (const Step& step : saturation.steps) axioms_.insert(step.axiom->name);
    steps_ = saturation.steps.size();
    return std::nullopt;
  }

  const std::set<std::string>& axioms() const { return axioms_; }
  std::size_t steps() const { return steps_; }

 private:
  const Substitution& rule_;
  const Case& case_;
  const Theory& theory_;
  Closure terms_;
  std::set<std::string> axioms_;
  std::size_t steps_ = 0;
};

Verdict prove_direction(const Substitution& rule, const AxiomSet& axioms) {
  const Sampling sampling = sample(rule);
  if (sampling.counterexample) return *sampling.counterexample;
  if (sampling.evaluated == 0)
    return Unknown{"no instance could be evaluated" +
                   (sampling.failure.empty() ? "" : ": " + sampling.failure)};
  return prove_from_axioms(rule, axioms);
}

}  // namespace

Verdict prove_from_axioms(const Substitution& rule, const AxiomSet& axioms) {
  const auto cases = cases_of(rule);
  if (!cases) return Unknown{cases.error().message};
  std::set<std::string> used;
  Proved proved;
  for (const Case& one : *cases) {
    CaseProof proof(rule, one, axioms.theory());
    if (auto reason = proof.run())
      return Unknown{one.text.empty() ? *reason : fmt::format("{}: {}", one.text, *reason)};
    used.insert(proof.axioms().begin(), proof.axioms().end());
    proved.steps += proof.steps();
  }
  proved.instances = cases->size();
  proved.axioms.assign(used.begin(), used.end());
  return proved;
}

Verdict prove(const Substitution& rule, const AxiomSet& axioms) {
  Verdict forward = prove_direction(rule, axioms);
  if (!rule.bidirectional || !is_proved(forward)) return forward;
  // The equation is shown; what remains is that each side is defined wherever the other is.
  Verdict backward = prove_direction(reversed(rule), axioms);
  if (!is_proved(backward)) return backward;
  Proved both = std::get<Proved>(forward);
  const Proved& other = std::get<Proved>(backward);
  std::set<std::string> used(both.axioms.begin(), both.axioms.end());
  used.insert(other.axioms.begin(), other.axioms.end());
  both.axioms.assign(used.begin(), used.end());
  both.instances += other.instances;
  both.steps += other.steps;
  return both;
}

}  // namespace lemma::verifier
