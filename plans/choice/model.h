#pragma once
// A problem as solvers have it: nodes that are alike are one variable, edges between the same nodes are one table, and moments
// at which no more is there than at another are left out. Memory is what a value has above the least of its variable.

#include <cstdint>
#include <vector>

#include "plans/choice/problem.h"

namespace lemma::choice {

using VariableNumber = std::uint32_t;
/// A value for each variable.
using Values = std::vector<StrategyNumber>;

/// Memory of a variable from moment `begin` until before `end`, by value.
struct Usage {
  std::uint32_t begin = 0, end = 0;
  std::vector<Bytes> bytes;
};

/// Of two variables, first < second: seconds[value of first * values of second + value of second].
struct Pair {
  VariableNumber first = 0, second = 0;
  std::vector<double> seconds;
};

struct Model {
  std::vector<std::vector<double>> seconds;  // by variable and value
  std::vector<Pair> pairs;
  std::vector<std::vector<Usage>> usages;  // by variable
  std::vector<Bytes> room;                 // at each moment, above what all variables have at least
  bool is_possible = true;                 // not: what all have at least is more than the limit

  std::size_t variables() const { return seconds.size(); }
  std::size_t values(VariableNumber variable) const { return seconds[variable].size(); }
};

struct Merged {
  Model model;
  std::vector<VariableNumber> variable_of;  // by node
  Choice choice_of(const Values& values) const;
};

Merged merged(const Problem& problem);

double seconds_of(const Model& model, const Values& values);
/// What is there at each moment above the least.
std::vector<Bytes> memory_of(const Model& model, const Values& values);
bool fits(const Model& model, const Values& values);

/// By variable, its pairs.
std::vector<std::vector<std::uint32_t>> pairs_of_variables(const Model& model);

}  // namespace lemma::choice
