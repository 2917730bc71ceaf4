#include "egraph/exact_extraction.h"

#include <limits>
#include <random>

#include "egraph/to_graph.h"
#include "tests/egraph/helpers.h"

namespace lemma {
namespace {

using testing::rules_of;
using testing::sum_of;
using testing::sum_rules;
using testing::unlimited;

/// Any cost from 0.01 to 1 for each node, the same for each seed; inputs are free.
NodeCost random_cost(unsigned seed) {
  return [seed](const EGraph& egraph, ENodeId id) {
    if (egraph.node(id).kind != ENodeKind::operation) return 0.0;
    std::mt19937 random(id.v * 1000 + seed);
    return static_cast<double>(1 + random() % 100) / 100;
  };
}

TEST(ExactExtraction, NeverCostsMoreThanLocalSearch) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    EGraph egraph;
    egraph.add_graph(sum_of(5));
    saturate(egraph, rules_of(sum_rules), unlimited());
    const auto roots = output_classes(egraph);
    const NodeCost cost = random_cost(seed);
    const Selection initial = original_selection(egraph, roots, cost);
    const auto found = extract(egraph, roots, cost, initial);
    ASSERT_TRUE(found) << found.error().message;
    const auto exact = extract_exactly(egraph, roots, cost, initial);
    ASSERT_TRUE(exact) << exact.error().message;
    EXPECT_TRUE(exact->optimal);
    EXPECT_EQ(exact->lower_bound, exact->selection.cost);
    EXPECT_LE(exact->selection.cost, found->cost + 1e-9);
    EXPECT_TRUE(validate(egraph, roots, cost, exact->selection));
    EXPECT_TRUE(to_graph(egraph, exact->selection));
  }
}

TEST(ExactExtraction, WithoutTimeTheBestSoFarAndABound) {
  EGraph egraph;
  egraph.add_graph(sum_of(6));
  saturate(egraph, rules_of(sum_rules), unlimited());
  const auto roots = output_classes(egraph);
  const NodeCost cost = random_cost(1);
  const Selection initial = original_selection(egraph, roots, cost);
  ExactExtractionOptions options;
  options.time_limit_seconds = 0;
  const auto hasty = extract_exactly(egraph, roots, cost, initial, options);
  ASSERT_TRUE(hasty) << hasty.error().message;
  const auto patient = extract_exactly(egraph, roots, cost, initial);
  ASSERT_TRUE(patient) << patient.error().message;
  EXPECT_TRUE(patient->optimal);
  EXPECT_LE(hasty->lower_bound, patient->selection.cost + 1e-9);
  EXPECT_LE(patient->selection.cost, hasty->selection.cost + 1e-9);
  EXPECT_LE(hasty->selection.cost, initial.cost + 1e-9);
}

TEST(ExactExtraction, NodesOfInfiniteCostAreNotChosen) {
  EGraph egraph;
  egraph.add_graph(sum_of(3));
  saturate(egraph, rules_of(sum_rules), unlimited());
  const auto roots = output_classes(egraph);
  const NodeCost finite = random_cost(2);
  const Selection initial = original_selection(egraph, roots, finite);
  const NodeCost cost = [&](const EGraph& graph, ENodeId id) {
    return id.v < egraph.original_id_limit() ? finite(graph, id)
                                             : std::numeric_limits<double>::infinity();
  };
  const auto exact = extract_exactly(egraph, roots, cost, initial);
  ASSERT_TRUE(exact) << exact.error().message;
  EXPECT_EQ(exact->selection.cost, initial.cost);
}

}  // namespace
}  // namespace lemma
