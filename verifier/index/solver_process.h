#pragma once
// Queries on which Z3 may go on for ever, asked in processes of their own.
//
// Z3's newer procedure for products of integers has loops that count nothing against its limit, and some that do not
// even hear that they are interrupted. A process can be ended in any case. It ends itself when a query has taken so many
// seconds of its processor that no query that ends by Z3's own count comes near them; the answer is that nothing
// is known then. So answers are the same on every machine, but for what would never be answered.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace lemma::verifier::index {

/// Processor seconds of a query after which its process ends. By its own count Z3 ends within 3.
inline constexpr int most_processor_seconds = 20;

/// Whether Z3 refutes an SMT-LIB text.
using Refutes = std::function<bool(const std::string& smt)>;

/// The program, and its arguments, that calls answer_queries(). As long as none is set, queries are asked in this process.
void set_solver_program(std::vector<std::string> words);
/// Asks a process of that program, or `refutes` where there is none. False also for a query whose process was ended.
bool is_refuted_in_process(const std::string& smt, const Refutes& refutes);
/// The queries so far that had no answer because their processes were ended.
std::size_t count_of_stopped_queries();
/// What the program does: reads queries from standard input and writes an answer for each to standard output. One that takes so
/// many processor seconds ends it.
void answer_queries(const Refutes& refutes, int seconds);

}  // namespace lemma::verifier::index
