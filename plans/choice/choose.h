#pragma once
// The best strategies that are found, and how far from the best of all they are at most.

#include <string_view>

#include "plans/choice/problem.h"

namespace lemma::choice {

/// How a choice was found.
enum class Method : std::uint8_t {
  elimination,       // dynamic programming
  fronts,            // the same, with memory
  layers,            // all choices of the first variables that are not useless
  branch_and_bound,  // all was looked at
  local_search,      // not all was
};
std::string_view name(Method method);

/// All limits are numbers of steps, so that the same problem has the same outcome, unless it is stopped.
struct ChooseOptions {
  /// Choices that are known, such as published ones: the outcome is no worse than any of them that is allowed.
  std::vector<Choice> seeds = {};
  Stop stop = {};
  std::size_t most_entries = std::size_t{1} << 16U;  // of tables
  std::uint64_t most_points = 3'000'000;             // of fronts
  std::uint64_t most_layer_states = 400'000;         // of layers
  std::uint64_t most_states = 200'000;               // of branch and bound
  int price_rounds = 40;
  int improve_rounds = 300;
};

struct Outcome {
  Choice choice;  // empty: none was found
  double seconds = 0;
  Bytes peak = 0;
  double bound = 0;  // no choice that is allowed takes less
  Method method = Method::local_search;
  bool is_impossible = false;  // no choice is allowed: proved
  bool was_stopped = false;    // before the search was over: what it had found by then
  std::uint64_t states = 0;    // that branch and bound tried

  bool is_found() const { return !choice.empty(); }
  bool is_optimal() const;
  /// By how much of the bound the choice may be above the best.
  double gap() const;
};

/// The problem has to have been checked, and has at least one node.
Outcome choose(const Problem& problem, const ChooseOptions& options = {});

}  // namespace lemma::choice
