#pragma once
// Terms that equal another one on a part of their elements: the target-driven mode of the generator.
//
// A target is one operator of the set, applied to inputs. It is compared with each term of its type over the
// same inputs, element by element and for all choices of their contents; the answer is a mask. Contents are exact
// dyadic numbers and this is a filter, as fingerprints are: nothing is claimed before a proof.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "generator/candidate.h"
#include "generator/generate.h"
#include "rule_language/substitution.h"

namespace lemma::generator {

struct AgreementOptions {
  /// Names of operators; empty: those with an operand that is a weight and one that is not.
  std::vector<std::string> targets;
  double least_share = 0.4;  // of the elements that have to agree
  std::size_t most_operators = 0;
  int threads = 1;
  std::uint64_t seed = 1;
};

/// The target on the left, and a term that equals it in some elements, but not in all.
struct PartialCandidate {
  Candidate candidate;
  std::string target;  // name of the operator
  std::vector<std::int64_t> sizes;
  std::vector<char> agrees;   // by element
  double share = 0;           // of those that agree
  std::size_t operators = 0;  // of the other term
};

struct PartialTerms {
  TermStatistics statistics;
  std::vector<PartialCandidate> candidates;  // of each target the largest share first
};

/// `use` is called with the table that the candidates refer to.
Result<void> find_partial_terms(
    const OperatorSet& set, const AgreementOptions& options,
    const std::function<void(const TermTable&, const PartialTerms&)>& use);

/// Both sides of a rule with one output, evaluated at one choice of sizes.
struct SizedMask {
  DimensionBindings sizes;  // of variables and parameters
  std::vector<std::int64_t> shape;
  std::vector<char> agrees;
};

/// Masks of a rule without groups at sizes chosen at random, for which the left side is well typed; fewer than
/// wanted if few are. Empty if the right side is not well typed at some of them, or has another type.
std::vector<SizedMask> masks_of(const Substitution& rule, std::size_t wanted, std::uint64_t seed);

}  // namespace lemma::generator
