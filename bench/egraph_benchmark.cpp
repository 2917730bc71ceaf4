// Saturation of a sum under associativity and commutativity: every division of every set of its
// terms is a node, 3^n - 2^(n+1) + 1 + n of them.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "egraph/saturation.h"
#include "egraph/to_graph.h"

namespace lemma {
namespace {

constexpr std::string_view sum_rules = R"(
rule add_commutative
  x : [S..]
  y : [S..]
  Add(x, y) => Add(y, x)

rule add_associative
  x : [S..]
  y : [S..]
  z : [S..]
  Add(Add(x, y), z) = Add(x, Add(y, z))
)";

Graph sum_of(int count) {
  Graph graph;
  ValueId sum = ValueId::none();
  for (int i = 0; i < count; ++i) {
    const ValueId x = *graph.add_input("x" + std::to_string(i), {DataType::f32, Shape{4}});
    sum = i == 0 ? x : *graph.add("Add", {sum, x});
  }
  if (!graph.add_output("sum", sum)) std::abort();
  return graph;
}

void saturate_sum(benchmark::State& state) {
  const int count = static_cast<int>(state.range(0));
  const auto rules = compile_rules(*parse_substitutions(sum_rules, "sum.rules"));
  SaturationLimits limits;
  limits.max_nodes = 100'000'000;
  limits.max_bytes = 100'000'000'000;
  limits.max_iterations = 1000;
  limits.max_seconds = 600;
  limits.match_limit = 0;
  std::size_t nodes = 0, bytes = 0, ids = 0, matches = 0, iterations = 0;
  for (auto _ : state) {
    EGraph egraph;
    egraph.add_graph(sum_of(count));
    const SaturationReport report = saturate(egraph, *rules, limits);
    nodes = egraph.node_count();
    bytes = egraph.memory_bytes();
    ids = egraph.id_count();
    iterations = report.iterations;
    matches = 0;
    for (const RuleStatistics& rule : report.rules) matches += rule.matches;
    if (report.stop != StopReason::saturated ||
        nodes != static_cast<std::size_t>(std::pow(3, count) - std::pow(2, count + 1) + 1 + count))
      state.SkipWithError("not saturated");
  }
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["ids"] = static_cast<double>(ids);
  state.counters["matches"] = static_cast<double>(matches);
  state.counters["iterations"] = static_cast<double>(iterations);
  state.counters["bytes/node"] = static_cast<double>(bytes) / static_cast<double>(nodes);
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(saturate_sum)->Arg(8)->Arg(10)->Arg(11)->Unit(benchmark::kMillisecond);

void extract_sum(benchmark::State& state) {
  const auto rules = compile_rules(*parse_substitutions(sum_rules, "sum.rules"));
  SaturationLimits limits;
  limits.max_iterations = 1000;
  limits.match_limit = 0;
  EGraph egraph;
  egraph.add_graph(sum_of(static_cast<int>(state.range(0))));
  saturate(egraph, *rules, limits);
  const auto roots = output_classes(egraph);
  const NodeCost cost = [](const EGraph&, ENodeId) { return 1.0; };
  const Selection initial = original_selection(egraph, roots, cost);
  for (auto _ : state) benchmark::DoNotOptimize(extract(egraph, roots, cost, initial));
}
BENCHMARK(extract_sum)->Arg(8)->Arg(10)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace lemma

BENCHMARK_MAIN();
