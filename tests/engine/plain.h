#pragma once
// What the tests of engine/ share.

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "engine/egraph.h"
#include "engine/saturation.h"

namespace lemma::engine::testing {

/// Words, of which nothing else is known.
struct Plain : Words, NoAnalysis {};
using PlainEGraph = EGraph<Plain>;

template <typename Graph>
ClassId term(Graph& egraph, std::string_view text) {
  const auto added = add_term(egraph, text);
  EXPECT_TRUE(added) << added.error().message;
  return added ? *added : ClassId::none();
}

template <typename Graph>
std::vector<Rule<Graph>> rules_of(Graph& egraph, std::string_view text) {
  auto compiled = compile_rules(egraph, text, "test.rules");
  EXPECT_TRUE(compiled) << compiled.error().message;
  return compiled ? std::move(*compiled) : std::vector<Rule<Graph>>{};
}

template <typename Graph>
void expect_sound(const Graph& egraph) {
  const auto checked = egraph.check_invariants();
  EXPECT_TRUE(checked) << checked.error().message;
}

}  // namespace lemma::engine::testing
