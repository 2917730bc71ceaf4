#include "database/generalise.h"

namespace lemma::database {

Generalised generalise(const Substitution& candidate, const verifier::AxiomSet& axioms) {
  return {candidate, verifier::prove(candidate, axioms), {}};
}

}  // namespace lemma::database
