#pragma once
// How many graphs an enumeration of terms covers.

#include "generator/terms.h"

namespace lemma::generator {

/// Graphs of 1 to `most` operators of the set: sets of applications of operators, each of which takes
/// inputs of the set and outputs of others in it. Equal applications are one; the order of operands
/// of commutative operators and of the applications does not count; inputs have names. All outputs
/// of a graph that it does not use itself are its outputs.
///
/// A graph is equal to another one if and only if their outputs are equal one by one, so that the
/// terms evaluated decide all pairs of these graphs.
double count_graphs(const TermTable& table, std::size_t most);

}  // namespace lemma::generator
