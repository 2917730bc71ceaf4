#pragma once
// Graphs of tests, written as text.

#include <string_view>

#include <gtest/gtest.h>

#include "ir/graph_text.h"

namespace lemma::testing {

/// A failure of the test if the text is no graph.
inline Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.has_value()) << graph.error().message;
  return graph ? std::move(*graph) : Graph();
}

}  // namespace lemma::testing
