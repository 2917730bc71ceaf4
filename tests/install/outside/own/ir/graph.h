#pragma once
// Another project's graph.

namespace outside {
struct Graph {
  int nodes = 3;
};
}  // namespace outside
