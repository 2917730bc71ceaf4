#pragma once
// Queries to Z3. Every query is an SMT-LIB text, solved in its own context under Z3's own resource
// count, so that its answer depends only on the text. Answers are cached by text (answer_cache.h). Those that may not be counted are asked in
// processes of their own (solver_process.h).

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

/// What a program for set_solver_program() does: answers queries from standard input until there are no more, or until
/// one has taken so many processor seconds.
void answer_solver_queries(int seconds);

}  // namespace lemma::verifier::index
