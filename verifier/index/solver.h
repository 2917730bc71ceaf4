#pragma once
// Questions to Z3. Every question is a text in SMT-LIB, asked in a context of its own under Z3's own
// resource count, so that its answer depends on nothing else; answers are kept by text.

#include <string>
#include <vector>

#include "verifier/index/formula.h"

namespace lemma::verifier::index {

/// No natural numbers satisfy all facts. First as linear arithmetic, products of variables being
/// variables with their order; then with products.
bool is_unsatisfiable(const std::vector<Formula>& facts);
/// The goal holds wherever the facts do.
bool entails(const std::vector<Formula>& facts, const Formula& goal);

/// Z3 refutes the SMT-LIB text. Anything but `unsat` is false.
bool is_refuted(const std::string& smt);

}  // namespace lemma::verifier::index
