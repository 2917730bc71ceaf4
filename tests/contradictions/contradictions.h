#pragma once
// A search for contradictions among axioms or rules: an e-graph with the numerals 0, 1 and 2, terms
// that are undefined, variables that may be, and random terms over them is saturated. If two numerals
// end in one class, or one of them with what is undefined, the axioms contradict each other.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rule_language/substitution.h"

namespace lemma::contradictions {

struct Options {
  std::uint64_t seed = 1;
  std::size_t terms = 40;      // random ones
  std::size_t nodes = 20'000;  // where saturation ends
  double seconds = 60;         // or here
  /// Refinements are taken for equations, as if they could be read in both directions anywhere: what
  /// the search must find fault with.
  bool refinements_as_equations = false;
};

struct Findings {
  std::size_t nodes = 0, classes = 0, iterations = 0, rules = 0;
  std::string stopped;
  std::vector<std::string> contradictions;  // what met what
};

Findings search(std::span<const Substitution> axioms, const Options& options);

}  // namespace lemma::contradictions
