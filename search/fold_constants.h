#pragma once
// Computing at build time what depends on constants alone.

#include <chrono>
#include <optional>

#include "ir/graph.h"

namespace lemma {

struct FoldOptions {
  /// A folded constant may have this many times the bytes of the constants it was computed from
  /// (so that a generated fill does not become a large file), or `free_bytes` if that is more.
  double growth = 2;
  std::size_t free_bytes = 4096;
  int threads = 0;
  /// An error once it has passed: a graph of which only a part is folded is not what was wanted.
  std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt;
};

/// Replaces every value that depends on constants alone and is used by something that does not by
/// its contents, where its size allows. What cannot be computed (a type the interpreter lacks) is
/// left as it is.
Result<Graph> fold_constants(const Graph& graph, const FoldOptions& options);

}  // namespace lemma
