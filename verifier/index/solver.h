#pragma once
// Queries to Z3. Every query is a text in SMT-LIB, asked in a context of its own under Z3's own
// resource count, so that its answer depends on nothing else; answers are kept by text.

#include <string>
#include <vector>

#include "verifier/index/formula.h"

namespace lemma::verifier::index {

/// The goal holds for all natural numbers for which the facts do. Asked first as linear arithmetic,
/// products of variables being variables with their order; then with products.
bool entails(const std::vector<Formula>& facts, const Formula& goal);
/// The formula holds nowhere where the facts do.
bool contradicts(const std::vector<Formula>& facts, const Formula& formula);

/// Z3 refutes the SMT-LIB text. Anything but `unsat` is false.
bool is_refuted(const std::string& smt);

}  // namespace lemma::verifier::index
