// Saturation of a sum under associativity and commutativity: every division of every set of its
// terms is a node, 3^n - 2^(n+1) + 1 + n of them; and of terms under many rules of arithmetic.

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
  limits.node_limit = 100'000'000;
  limits.memory_limit_bytes = 100'000'000'000;
  limits.iterations = 1000;
  limits.time_limit_seconds = 600;
  limits.match_limit = 0;
  limits.log_applications = state.range(1) != 0;
  limits.threads = static_cast<std::size_t>(state.range(2));
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
BENCHMARK(saturate_sum)
    ->ArgNames({"terms", "log", "threads"})
    ->Args({8, 0, 1})
    ->Args({10, 0, 1})
    ->Args({10, 1, 1})
    ->Args({10, 0, 2})
    ->Args({11, 0, 1})
    ->Args({11, 0, 2})
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

/// The rules of egg's math set for which there are operators and which need no number: nothing stands
/// for derivatives and integrals, and no rule here speaks of 0, 1 or -1.
constexpr std::string_view arithmetic_rules = R"(
rule multiply_commutative
  x : [S..]
  y : [S..]
  Mul(x, y) => Mul(y, x)

rule multiply_associative
  x : [S..]
  y : [S..]
  z : [S..]
  Mul(Mul(x, y), z) = Mul(x, Mul(y, z))

rule subtract_is_adding_the_negative
  x : [S..]
  y : [S..]
  Sub(x, y) = Add(x, Neg(y))

rule divide_is_multiplying_by_the_inverse
  x : [S..]
  y : [S..]
  Div(x, y) = Mul(x, Reciprocal(y))

rule distribute
  x : [S..]
  y : [S..]
  z : [S..]
  Mul(x, Add(y, z)) = Add(Mul(x, y), Mul(x, z))

rule powers_multiply
  x : [S..]
  y : [S..]
  z : [S..]
  Mul(Pow(x, y), Pow(x, z)) = Pow(x, Add(y, z))

rule logarithm_of_product
  x : [S..]
  y : [S..]
  Log(Mul(x, y)) = Add(Log(x), Log(y))

rule negative_of_product
  x : [S..]
  y : [S..]
  Neg(Mul(x, y)) = Mul(Neg(x), y)

rule negative_of_sum
  x : [S..]
  y : [S..]
  Neg(Add(x, y)) = Add(Neg(x), Neg(y))
)";

Graph arithmetic() {
  Graph graph;
  const auto input = [&graph](const char* name) {
    return *graph.add_input(name, {DataType::f32, Shape{4}});
  };
  const auto apply = [&graph](std::string_view op, ValueId a, ValueId b) {
    return *graph.add(op, {a, b});
  };
  const ValueId x = input("x"), y = input("y"), z = input("z"), u = input("u"), v = input("v");
  const ValueId sum = apply("Add", apply("Mul", x, y), apply("Mul", x, apply("Sub", z, u)));
  const ValueId other = apply("Sub", apply("Add", y, z), apply("Div", v, x));
  const ValueId powers = apply("Mul", apply("Pow", x, y), apply("Pow", x, apply("Add", z, v)));
  const ValueId product = apply("Mul", apply("Mul", sum, other), apply("Add", powers, u));
  if (!graph.add_output("logarithm", *graph.add("Log", {product}))) std::abort();
  return graph;
}

void saturate_arithmetic(benchmark::State& state) {
  const auto rules = compile_rules(
      *parse_substitutions(std::string(sum_rules) + std::string(arithmetic_rules), "arithmetic"));
  SaturationLimits limits;
  limits.node_limit = 52'432;  // what egg's set reaches in 7 iterations
  limits.time_limit_seconds = 600;
  limits.match_limit = 0;
  limits.log_applications = state.range(0) != 0;
  limits.threads = static_cast<std::size_t>(state.range(1));
  std::size_t nodes = 0, bytes = 0, matches = 0, iterations = 0;
  for (auto _ : state) {
    EGraph egraph;
    egraph.add_graph(arithmetic());
    const SaturationReport report = saturate(egraph, *rules, limits);
    nodes = egraph.node_count();
    bytes = egraph.memory_bytes();
    iterations = report.iterations;
    matches = 0;
    for (const RuleStatistics& rule : report.rules) matches += rule.matches;
    if (report.stop != StopReason::nodes) state.SkipWithError("not as many nodes as wanted");
  }
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["matches"] = static_cast<double>(matches);
  state.counters["iterations"] = static_cast<double>(iterations);
  state.counters["bytes/node"] = static_cast<double>(bytes) / static_cast<double>(nodes);
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(saturate_arithmetic)
    ->ArgNames({"log", "threads"})
    ->Args({0, 1})
    ->Args({1, 1})
    ->Args({0, 2})
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Unit(benchmark::kMillisecond);

void extract_sum(benchmark::State& state) {
  const auto rules = compile_rules(*parse_substitutions(sum_rules, "sum.rules"));
  SaturationLimits limits;
  limits.iterations = 1000;
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
