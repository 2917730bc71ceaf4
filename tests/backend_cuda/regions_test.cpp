// Graphs cut into calls and task programs: the choice is the cheapest of all, and the proof finds what is changed.

#include <random>

#include <gtest/gtest.h>

#include "backend_cuda/regions/check_regions.h"
#include "backend_cuda/regions/choose_calls.h"
#include "backend_cuda/regions/node_order.h"
#include "backend_cuda/regions/plan_regions.h"
#include "ir/graph.h"

namespace lemma::backend {
namespace {

constexpr double launch = 2, event = 0.5;

/// A chain in which each item reads the one before it; some have a call, and some of these leave something to compute.
std::vector<Item> random_chain(std::mt19937& random, std::size_t count) {
  const auto seconds = [&random] { return 0.25 * static_cast<double>(random() % 40); };
  std::vector<Item> items(count);
  for (std::size_t i = 0; i < count; ++i) {
    items[i].members = {2 * i, 2 * i + 1};
    if (i > 0) items[i].after = {i - 1};
    items[i].cost.path = seconds();
    items[i].cost.work = items[i].cost.path / 2;
    if (random() % 3 == 0) continue;
    CallCandidate& candidate = items[i].candidate.emplace();
    candidate.seconds = launch + seconds() / 2;
    if (random() % 2 == 0) continue;
    candidate.rest = {2 * i + 1};
    candidate.of_rest.path = seconds() / 8;
    candidate.of_rest.work = candidate.of_rest.path / 2;
  }
  return items;
}

/// Of a chain: kernels end where calls begin.
double cost_of_chain(const std::vector<Item>& items, const std::vector<bool>& is_call) {
  double total = 0, work = 0, path = 0;
  bool is_open = false;
  const auto add = [&](const PersistentCost& cost) {
    work += cost.work;
    path += cost.path + (is_open ? event : 0);
    is_open = true;
  };
  const auto close = [&] {
    if (is_open) total += launch + std::max(work, path);
    is_open = false;
    work = path = 0;
  };
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!is_call[i]) {
      add(items[i].cost);
      continue;
    }
    close();
    total += items[i].candidate->seconds;
    if (!items[i].candidate->rest.empty()) add(items[i].candidate->of_rest);
  }
  close();
  return total;
}

TEST(ChooseCalls, IsTheCheapestOfAllChoices) {
  std::mt19937 random(7);
  int with_both = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<Item> items = random_chain(random, 1 + random() % 9);
    const std::vector<bool> chosen = choose_calls(items, launch, event);
    double least = std::numeric_limits<double>::infinity();
    for (unsigned set = 0; set < 1U << items.size(); ++set) {
      std::vector<bool> is_call;
      bool is_possible = true;
      for (std::size_t i = 0; i < items.size(); ++i) {
        is_call.push_back((set >> i & 1U) != 0);
        is_possible = is_possible && (!is_call.back() || items[i].candidate);
      }
      if (is_possible) least = std::min(least, cost_of_chain(items, is_call));
    }
    EXPECT_NEAR(cost_of_chain(items, chosen), least, 1e-9) << "round " << round;
    const auto calls = std::count(chosen.begin(), chosen.end(), true);
    with_both += calls > 0 && calls < static_cast<std::ptrdiff_t>(chosen.size()) ? 1 : 0;
  }
  EXPECT_GT(with_both, 50);
}

/// Calls that do not depend on each other, in front of one kernel.
TEST(ChooseCalls, OneKernelBehindSeveralCalls) {
  std::vector<Item> items(4);
  for (std::size_t i = 0; i < 4; ++i) {
    items[i].members = {2 * i, 2 * i + 1};
    items[i].cost = {9, 9};
  }
  items[3].after = {0, 1, 2};
  items[3].cost = {1, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    CallCandidate& candidate = items[i].candidate.emplace();
    candidate.seconds = 7;
    candidate.rest = {2 * i + 1};
    candidate.of_rest = {0.1, 0.5};
  }
  EXPECT_EQ(choose_calls(items, launch, event), (std::vector<bool>{true, true, true, false}));
  for (std::size_t i = 0; i < 3; ++i) items[i].candidate->seconds = 10;
  EXPECT_EQ(choose_calls(items, launch, event), (std::vector<bool>{false, false, false, false}));
}

TensorType matrix(std::int64_t rows, std::int64_t columns) {
  return {DataType::f32, Shape{Dimension(rows), Dimension(columns)}};
}

/// softmax(x w) v + x w, whose first product is read twice.
RegionProgram planned() {
  Graph graph;
  const ValueId x = *graph.add_input("x", matrix(12, 16));
  const ValueId w = *graph.add_input("w", matrix(16, 20));
  const ValueId v = *graph.add_input("v", matrix(20, 20));
  const auto add = [&graph](std::string_view op, std::vector<ValueId> operands) {
    return graph.node(*graph.add_operation(operator_named(op), operands, {}, 1)).output();
  };
  const ValueId first = add("MatMul", {x, w});
  const ValueId second = add("MatMul", {add("Softmax", {first}), v});
  (void)graph.add_output("y", add("Add", {add("Tanh", {second}), first}));
  RegionOptions options;
  options.compile.device = cpu_device(3);
  options.calls.memory_bandwidth = 1e12;
  options.calls.contraction_peak[DataType::f32] = 1e13;
  options.calls.elementwise_peak[DataType::f32] = 1e13;
  options.choice = CallChoice::all;
  auto plan = plan_regions(graph, options);
  EXPECT_TRUE(plan && plan->program) << (plan ? "no program" : plan.error().message);
  return plan && plan->program ? std::move(*plan->program) : RegionProgram{};
}

TEST(Regions, CallsAndKernelsAreNodes) {
  const RegionProgram program = planned();
  EXPECT_EQ(program.calls.size(), 2U);
  EXPECT_EQ(program.regions.size(), 2U);
  EXPECT_EQ(program.nodes.size(), 8U);
  EXPECT_TRUE(check_regions(program));
}

TEST(Regions, ADroppedEdgeIsFound) {
  const RegionProgram program = planned();
  int edges = 0;
  for (std::size_t node = 0; node < program.nodes.size(); ++node)
    for (std::size_t edge = 0; edge < program.nodes[node].after.size(); ++edge, ++edges) {
      RegionProgram changed = program;
      auto& after = changed.nodes[node].after;
      after.erase(after.begin() + static_cast<std::ptrdiff_t>(edge));
      const auto checked = check_regions(changed);
      ASSERT_FALSE(checked) << "edge " << edge << " of node " << node;
      EXPECT_EQ(checked.error().kind, ErrorKind::internal);
    }
  EXPECT_GE(edges, 7);
}

TEST(Regions, PlacesThatOverlapAreFound) {
  const RegionProgram program = planned();
  for (const BufferNumber moved :
       {program.outputs[0], program.inputs[0], program.calls[0].result}) {
    RegionProgram changed = program;
    const BufferNumber onto = program.calls[1].operands[0];
    changed.buffers[moved].offset = changed.buffers[onto].offset;
    EXPECT_FALSE(check_regions(changed)) << "buffer " << moved;
  }
  RegionProgram outside = program;
  outside.arena_bytes -= 256;
  EXPECT_FALSE(check_regions(outside));
  RegionProgram inner = program;
  inner.regions[0].program.graph.buffers[inner.regions[0].program.graph.inputs[0]].offset += 256;
  EXPECT_FALSE(check_regions(inner));
}

TEST(Regions, WorkspacesAreNotShared) {
  // Both products read inputs only.
  Graph graph;
  const ValueId x = *graph.add_input("x", matrix(8, 8)), w = *graph.add_input("w", matrix(8, 8));
  const auto product = [&](ValueId a, ValueId b) {
    return graph.node(*graph.add_operation(operator_named("MatMul"), {a, b}, {}, 1)).output();
  };
  (void)graph.add_output("y", product(x, w));
  (void)graph.add_output("z", product(w, x));
  RegionOptions options;
  options.calls.memory_bandwidth = 1e12;
  options.calls.contraction_peak[DataType::f32] = 1e13;
  options.calls.elementwise_peak[DataType::f32] = 1e13;
  options.choice = CallChoice::all;
  const auto plan = plan_regions(graph, options);
  ASSERT_TRUE(plan && plan->program) << (plan ? "" : plan.error().message);
  EXPECT_EQ(plan->program->workspaces, 2U);
  RegionProgram changed = *plan->program;
  changed.calls[1].workspace = changed.calls[0].workspace;
  EXPECT_FALSE(check_regions(changed));
}

TEST(NodeOrder, IsReduced) {
  std::vector<RegionNode> nodes(4);
  nodes[1].after = {0};
  nodes[2].after = {0, 1};
  nodes[3].after = {0, 1, 2};
  reduce_order(nodes);
  EXPECT_EQ(nodes[2].after, std::vector<std::uint32_t>{1});
  EXPECT_EQ(nodes[3].after, std::vector<std::uint32_t>{2});
  EXPECT_TRUE(nodes_before(nodes)[3][0]);
}

}  // namespace
}  // namespace lemma::backend
