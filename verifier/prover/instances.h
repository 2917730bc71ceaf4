#pragma once
// The cases of a rule, under the names that the prover uses.

#include "rule_language/rule_cases.h"

namespace lemma::verifier {

using Case = RuleCase;
using lemma::CaseLimits;
using lemma::cases_of;
using lemma::cases_with_ranks;
using lemma::for_each_rank;
using lemma::GivenParameters;

}  // namespace lemma::verifier
