#pragma once
// Elimination of variables one after the other (dynamic programming), and bounds where tables would get too large: then the
// tables of a variable are split into groups that are eliminated alone, which gives a bound (mini-buckets). Memory does not
// count here, except as seconds, where `prices` makes seconds of it.

#include <cstdint>
#include <vector>

#include "plans/choice/model.h"

namespace lemma::choice {

/// Seconds by the values of some variables, ascending; the last one changes first.
struct Table {
  std::vector<VariableNumber> scope;
  std::vector<std::size_t> strides;  // by place in the scope
  std::vector<double> seconds;

  /// The place in `seconds` for these values, without what `left_out` adds; and that is strides[...] for each of its values.
  std::size_t place(const Values& values) const;
  std::size_t stride_of(VariableNumber variable) const;
};

/// What elimination did. Variables are decided in the opposite order: the tables of a variable have no other variables than
/// itself and those that are decided before.
struct Elimination {
  std::vector<VariableNumber> order;
  std::vector<Table> tables;                 // pairs of the model first, then messages
  std::vector<std::vector<double>> seconds;  // by variable and value: of the model, with prices
  std::vector<std::vector<std::uint32_t>>
      inside;  // by variable: tables that are added when it is decided
  std::vector<std::vector<std::uint32_t>>
      outgoing;            // messages that it sent, which are then taken away
  double bound = 0;        // no choice takes less
  bool is_exact = true;    // no variable was split: the bound is reached
  std::uint64_t work = 0;  // entries of tables that were looked at
};

struct EliminationOptions {
  /// Entries of the tables that a variable is eliminated with; more are split.
  std::size_t most_entries = std::size_t{1} << 16U;
  /// After so many entries in all, only tables of `few_entries` are made.
  std::uint64_t most_work = 200'000'000;
  std::size_t few_entries = std::size_t{1} << 10U;
  /// In which variables are eliminated; empty: what needs the smallest tables is first.
  std::vector<VariableNumber> order = {};
};

/// `seconds` replaces those of the model for single variables.
Elimination eliminated(const Model& model, const std::vector<std::vector<double>>& seconds,
                       const EliminationOptions& options = {});

/// How the bound changes when a variable gets each of its values, where those that are decided before have theirs.
std::vector<double> increases(const Elimination& elimination, VariableNumber variable,
                              const Values& values);

/// Each variable gets the value that adds the least: an optimum where the elimination is exact.
Values decided(const Elimination& elimination);

}  // namespace lemma::choice
