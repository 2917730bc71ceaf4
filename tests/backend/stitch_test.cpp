// Stitched programs: what becomes one call, what stays in a task, and that the checker knows phases.

#include "backend/fuse/stitch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "backend/compile/compile.h"
#include "backend/lower/tile.h"
#include "backend/prove/check_program.h"
#include "backend/traffic/traffic.h"
#include "interpreter/random.h"
#include "ir/expand.h"
#include "tests/backend/random_graph.h"
#include "tests/backend/slow_device.h"

namespace lemma::backend {
namespace {

TaskProgram compiled(const Graph& graph, const CompileOptions& options = {}) {
  auto program = compile(graph, options);
  EXPECT_TRUE(program) << program.error().message;
  return program ? std::move(*program) : TaskProgram();
}

CompileOptions with_schemes(bool packing, bool warp, bool block) {
  CompileOptions options;
  options.stitching.packing = packing;
  options.stitching.warp = warp;
  options.stitching.block = block;
  return options;
}

Graph softmax(std::int64_t rows, std::int64_t columns) {
  Graph graph;
  const ValueId x =
      *graph.add_input("x", {DataType::f32, Shape{Dimension(rows), Dimension(columns)}});
  EXPECT_TRUE(graph.add_output("y", *graph.add("Softmax", {x}, {{"axis", std::int64_t{1}}})));
  return graph;
}

std::size_t barriers(const TaskOperator& op) {
  std::size_t count = 0;
  for (const Phase& phase : op.body.phases) count += phase.has_barrier ? 1 : 0;
  return count;
}

TEST(Stitch, softmax_is_one_call_that_touches_its_operand_and_its_result) {
  const Graph graph = softmax(300, 200);
  for (const auto& [warp, scheme] :
       {std::pair(true, Stitching::warp), std::pair(false, Stitching::block)}) {
    const TaskProgram program = compiled(graph, with_schemes(true, warp, true));
    ASSERT_EQ(program.graph.operators.size(), 1U);
    const TaskOperator& op = program.graph.operators[0];
    EXPECT_EQ(op.body.stitching, scheme);
    EXPECT_GE(op.body.phases.size(), 3U);
    EXPECT_EQ(barriers(op), op.body.phases.size() - 1);
    EXPECT_EQ(program.arena_bytes, 0U);
    EXPECT_EQ(planned_traffic(program).all(), 2.0 * 300 * 200 * 4);
  }
  const TaskProgram separate = compiled(graph, with_schemes(false, false, false));
  EXPECT_GE(separate.graph.operators.size(), 3U);
}

/// Rows are the grid: a softmax along the first axis has none, and all of it is one point.
TEST(Stitch, the_grid_follows_from_what_is_read) {
  const TaskProgram by_rows = compiled(softmax(300, 200));
  EXPECT_EQ(by_rows.kernel(0).extents, (std::vector<std::int64_t>{300}));
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{20, 30}});
  ASSERT_TRUE(graph.add_output("y", *graph.add("Softmax", {x}, {{"axis", std::int64_t{0}}})));
  const TaskProgram by_columns = compiled(graph);
  ASSERT_EQ(by_columns.graph.operators.size(), 1U);
  EXPECT_TRUE(by_columns.kernel(0).extents.empty());
}

/// The part of a task fits into the memory of its unit.
TEST(Stitch, shared_buffers_fit_into_the_memory_of_a_unit) {
  CompileOptions options = with_schemes(true, false, true);
  options.device.shared_bytes_per_unit = 16U << 10U;
  const TaskProgram program = compiled(softmax(512, 256), options);
  ASSERT_EQ(program.graph.operators.size(), 1U);
  EXPECT_GE(program.kernel(0).task_count(), 32);
}

/// Z = A B C, the example of Wolong (2018): the rows of A B that a task makes are those that it reads.
TEST(Stitch, a_product_of_three_matrices_is_one_kernel_with_a_barrier) {
  Graph graph;
  const ValueId a = *graph.add_input("a", {DataType::f32, Shape{48, 48}});
  const ValueId b = *graph.add_input("b", {DataType::f32, Shape{48, 48}});
  const ValueId c = *graph.add_input("c", {DataType::f32, Shape{48, 48}});
  const ValueId ab = *graph.add("MatMul", {a, b});
  ASSERT_TRUE(graph.add_output("z", *graph.add("MatMul", {ab, c})));
  CompileOptions options;
  options.device = slow_device(2);
  const TaskProgram program = compiled(graph, options);
  ASSERT_EQ(program.graph.operators.size(), 1U);
  EXPECT_EQ(barriers(program.graph.operators[0]), 1U);
  EXPECT_EQ(program.arena_bytes, 0U);
}

TEST(Stitch, independent_operators_are_packed) {
  Graph graph;
  for (const char* name : {"a", "b", "c"}) {
    const ValueId x = *graph.add_input(name, {DataType::f32, Shape{64}});
    ASSERT_TRUE(graph.add_output(std::string("y") + name, *graph.add("Tanh", {x})));
  }
  const TaskProgram packed = compiled(graph);
  ASSERT_EQ(packed.graph.operators.size(), 1U);
  EXPECT_EQ(packed.graph.operators[0].result_count, 3U);
  EXPECT_EQ(barriers(packed.graph.operators[0]), 0U);
  EXPECT_EQ(compiled(graph, with_schemes(false, true, true)).graph.operators.size(), 3U);
}

/// Each change makes the phases of a softmax wrong.
TEST(Stitch, changed_phases_are_refused) {
  for (const bool warp : {true, false}) {
    const TaskProgram program = compiled(softmax(40, 64), with_schemes(true, warp, true));
    ASSERT_TRUE(check_program(program));
    const auto refuses = [&program](std::string_view reason,
                                    const std::function<void(TaskProgram&)>& change) {
      TaskProgram changed = program;
      change(changed);
      const auto verdict = check_program(changed);
      ASSERT_FALSE(verdict) << reason;
      EXPECT_NE(verdict.error().message.find(reason), std::string::npos) << verdict.error().message;
    };
    refuses("no barrier",
            [](TaskProgram& p) { p.graph.operators[0].body.phases[1].has_barrier = false; });
    refuses("has not been written", [](TaskProgram& p) {
      std::swap(p.graph.operators[0].body.phases[0], p.graph.operators[0].body.phases[1]);
    });
    refuses("memory that it reads", [](TaskProgram& p) {
      for (SharedBuffer& shared : p.graph.operators[0].body.shared) shared.slot = 0;
    });
    refuses("no earlier phase",
            [](TaskProgram& p) { p.accesses[0][0].phases[1].reads[0].region.base += 1000000; });
    refuses("does not write its part",
            [](TaskProgram& p) { p.accesses[0][0].phases[0].write.region.base += 1; });
    refuses("one access for each phase",
            [](TaskProgram& p) { p.accesses[0][0].phases.pop_back(); });
  }
}

/// The simulated cache sees the accesses of the nests; the plan sees boxes.
TEST(Traffic, the_plan_agrees_with_a_simulated_cache) {
  for (const bool stitched : {false, true}) {
    const TaskProgram program =
        compiled(softmax(256, 256), with_schemes(stitched, stitched, stitched));
    const auto simulated = simulated_traffic(program, {});
    ASSERT_TRUE(simulated) << simulated.error().message;
    const double planned = planned_traffic(program).all();
    EXPECT_NEAR(simulated->all(), planned, 0.05 * planned);
  }
  // A cache of four lines keeps no row: what a phase hands on comes from memory again.
  const TaskProgram program = compiled(softmax(64, 256));
  const auto tiny = simulated_traffic(program, {256, 64});
  ASSERT_TRUE(tiny);
  EXPECT_GT(tiny->all(), 2 * planned_traffic(program).all());
}

VirtualDevice described(const std::string& name) {
  const auto device = load_virtual_device(std::filesystem::path(LEMMA_SOURCE_DIRECTORY) /
                                          "targets/devices" / (name + ".json"));
  EXPECT_TRUE(device && device->multiprocessor) << name;
  return device ? *device : VirtualDevice();
}

/// With the cut of each operator that ends first, one after the other.
double seconds_of(const OperatorGraph& graph, const VirtualDevice& device) {
  double sum = 0;
  for (const TaskOperator& op : graph.operators) {
    double least = std::numeric_limits<double>::infinity();
    for (const Kernel& kernel : op.kernels)
      least = std::min(least, std::ceil(static_cast<double>(kernel.task_count()) / device.units) *
                                  kernel.seconds_per_task);
    sum += least + device.seconds_per_event;
  }
  return sum;
}

/// What decides is what the tasks of the plan take, whatever an operation counts as.
TEST(Stitch, plans_of_gpus_have_the_times_of_their_kernels) {
  VirtualDevice device = described("h100");
  for (const Graph& graph : {softmax(3000, 500), random_graph(3, 25), random_graph(7, 25)}) {
    const auto expanded = expand_composites(graph);
    ASSERT_TRUE(expanded);
    const auto computations = lower_graph(*expanded);
    ASSERT_TRUE(computations);
    const auto plans = stitch_plans(*computations, device, {});
    ASSERT_TRUE(plans);
    for (const StitchPlan& plan : *plans) {
      ComputationGraph grouped = *computations;
      grouped.groups = plan.groups;
      const auto operators = tile(std::move(grouped), device);
      ASSERT_TRUE(operators);
      EXPECT_NEAR(plan.seconds, seconds_of(*operators, device), 1e-6 * plan.seconds);
    }
    VirtualDevice other = device;
    other.seconds_per_operation *= 100;
    const auto same = stitch_plans(*computations, other, {});
    ASSERT_TRUE(same);
    ASSERT_EQ(same->size(), plans->size());
    for (std::size_t i = 0; i < plans->size(); ++i)
      EXPECT_EQ((*same)[i].seconds, (*plans)[i].seconds);
  }
}

/// Of operators that run beside each other, packing takes a wait for gained that costs nothing.
TEST(Stitch, plans_of_gpus_are_also_without_packing) {
  Graph graph;
  for (const char* name : {"a", "b"}) {
    const ValueId x = *graph.add_input(name, {DataType::f32, Shape{64, 100}});
    const ValueId y = *graph.add("Softmax", {x}, {{"axis", std::int64_t{1}}});
    ASSERT_TRUE(graph.add_output(std::string("y") + name, y));
  }
  const auto computations = lower_graph(*expand_composites(graph));
  ASSERT_TRUE(computations);
  const VirtualDevice device = described("h100");
  const auto plans = stitch_plans(*computations, device, {});
  ASSERT_TRUE(plans);
  std::set<std::size_t> counts;
  for (const StitchPlan& plan : *plans) counts.insert(plan.groups.size());
  EXPECT_TRUE(counts.contains(1));
  EXPECT_TRUE(counts.contains(2));
}

TEST(Stitch, gives_the_same_plan_each_time) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Graph graph = random_graph(seed, 25);
    EXPECT_EQ(text(compiled(graph)), text(compiled(graph)));
  }
}

}  // namespace
}  // namespace lemma::backend
