#include "verifier/prover/prove.h"

#include "rule_language/operator_meaning.h"
#include "verifier/prover/certify.h"
#include "verifier/prover/sampling.h"
#include "verifier/prover/saturate.h"

namespace lemma::verifier {

struct Theory {
  std::vector<Substitution> axioms;
  std::vector<DirectedAxiom> directed;
  RoundingTable rounding;
};

std::string objection_to(const Substitution& axiom) {
  const Sampling sampling = sample(axiom);
  if (sampling.counterexample) return text(*sampling.counterexample);
  if (sampling.evaluated > 0) return "";
  return "no instance could be evaluated" +
         (sampling.failure.empty() ? "" : ": " + sampling.failure);
}

namespace {

std::vector<std::string> objections_to(const std::vector<Substitution>& axioms) {
  std::vector<std::string> objections;
  for (const Substitution& axiom : axioms) objections.push_back(objection_to(axiom));
  return objections;
}

}  // namespace

AxiomSet::AxiomSet(std::vector<Substitution> axioms, RoundingTable rounding)
    : AxiomSet(axioms, objections_to(axioms), std::move(rounding)) {}

AxiomSet::AxiomSet(std::vector<Substitution> axioms, const std::vector<std::string>& objections,
                   RoundingTable rounding)
    : theory_(std::make_unique<Theory>()) {
  theory_->rounding = std::move(rounding);
  for (std::size_t i = 0; i < axioms.size(); ++i) {
    if (objections[i].empty())
      theory_->axioms.push_back(std::move(axioms[i]));
    else
      refused_.emplace_back(axioms[i].name, objections[i]);
  }
  theory_->directed = directed(theory_->axioms);
}

AxiomSet::~AxiomSet() = default;
AxiomSet::AxiomSet(AxiomSet&&) noexcept = default;
AxiomSet& AxiomSet::operator=(AxiomSet&&) noexcept = default;

const std::vector<Substitution>& AxiomSet::axioms() const { return theory_->axioms; }

namespace {

/// An error is a verdict: a counterexample, or that no instance could be evaluated.
tl::expected<Sampling, Verdict> sample_for_proof(const Substitution& rule) {
  Sampling sampling = sample(rule);
  if (sampling.counterexample) return tl::unexpected<Verdict>(*sampling.counterexample);
  if (sampling.evaluated == 0)
    return tl::unexpected<Verdict>(
        Unknown{"no instance could be evaluated" +
                (sampling.failure.empty() ? "" : ": " + sampling.failure)});
  return sampling;
}

Verdict prove_with(const Substitution& rule, const AxiomSet& axioms, const std::string& witness) {
  if (auto uncovered = uncovered_meaning(rule)) return Unknown{*uncovered};
  const Theory& theory = axioms.theory();
  checker::AxiomTable table;
  for (const Substitution& axiom : theory.axioms) table[axiom.name] = &axiom;
  auto certified = certify(rule, theory.directed, table, witness, theory.rounding);
  if (!certified) return Unknown{certified.error().message};
  Proved proved;
  proved.axioms.assign(certified->axioms.begin(), certified->axioms.end());
  proved.instances = certified->cases;
  proved.steps = certified->steps;
  proved.witness = witness;
  proved.certificate = std::move(certified->certificate);
  return proved;
}

}  // namespace

Verdict prove_from_axioms(const Substitution& rule, const AxiomSet& axioms) {
  return prove_with(rule, axioms, "");
}

Verdict prove(const Substitution& rule, const AxiomSet& axioms) {
  const auto forward = sample_for_proof(rule);
  if (!forward) return forward.error();
  if (rule.bidirectional)
    if (const auto backward = sample_for_proof(reversed(rule)); !backward) return backward.error();
  return prove_with(rule, axioms, forward->witness);
}

}  // namespace lemma::verifier
