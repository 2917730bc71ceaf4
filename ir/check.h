#pragma once
// Well-formedness of graphs, run between passes in debug builds and in every test.

#include "ir/graph.h"

namespace lemma {

enum class Stage {
  imported,   // as the front end makes it: opaque nodes and symbolic sizes are allowed
  optimized,  // as search returns it: what was said of `imported`, and no dead nodes
  concrete,   // ready to be computed: all sizes fixed, no opaque nodes
};

std::string_view name(Stage stage);

/// Every input precedes its user; types are those that the operator records give; attributes are
/// complete; names of inputs and outputs are unique. The error names the first offending node.
Result<void> check(const Graph& graph, Stage stage);

}  // namespace lemma
