#pragma once
// Rules of partial equivalence from an operator set: terms that equal a target on a region, each with its proof for
// all sizes and the rule that corrects it elsewhere.

#include <string>
#include <vector>

#include "base/result.h"
#include "generator/agreement.h"
#include "partial/correction.h"

namespace lemma::partial {

struct FoundRegion {
  std::string target;         // operator of the set
  double share = 0;           // of the elements that agree at the sizes of the set
  std::size_t operators = 0;  // of the other term
  Substitution claim;         // the other term in place of the target: true on the region only
  Correction correction;
  double seconds = 0;  // for sizes, region and proofs
};

/// A term that agrees in part, of which no rule came.
struct OpenRegion {
  std::string target, claim, reason;
};

struct FoundRegions {
  generator::TermStatistics statistics;
  std::size_t partial_terms = 0;
  std::vector<FoundRegion> found;
  std::vector<OpenRegion> open;
  double seconds = 0;
};

Result<FoundRegions> find_regions(const generator::OperatorSet& set,
                                  const generator::AgreementOptions& options);

}  // namespace lemma::partial
