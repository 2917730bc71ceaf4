#pragma once
// Computing at build time what depends on constants alone.

#include <chrono>
#include <optional>
#include <set>
#include <string>

#include "ir/graph.h"

namespace lemma {

struct FoldOptions {
  /// A constant of at most this many times the bytes of the constants that it is computed from is folded.
  double growth = 2;
  /// The others are folded, small ones first, as long as they add at most this many bytes to a file, all of them
  /// together, so that generated fills do not become a large file.
  double free_bytes = 4096;
  /// The same as a part of the bytes of all constants; what is more counts.
  double free_share = 0.01;
  /// Also what says how weights are stored (weight_only.h).
  bool folds_stored_forms = false;
  /// Operators whose results stay computed, as folded_operator() names them (facts/weight_only.h): runtimes disagree on
  /// them.
  std::set<std::string> left_computed = {};
  int threads = 0;
  /// An error once it has passed: a graph of which only a part is folded is not what was wanted.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
};

/// Nothing is added to a file, but for so many bytes.
FoldOptions fold_without_growth(FoldOptions options, double bytes);

/// Replaces every value that depends on constants alone and is used by something that does not by
/// its contents, where its size allows. What cannot be computed (a type the interpreter lacks) is
/// left as it is.
Result<Graph> fold_constants(const Graph& graph, const FoldOptions& options);

}  // namespace lemma
