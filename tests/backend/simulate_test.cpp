// Bounds, simulation and the dependencies that schedules are made from.

#include "backend/simulate/simulate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "backend/compile/compile.h"
#include "backend/memory/plan_memory.h"
#include "backend/schedule/dependencies.h"
#include "backend/schedule/schedule.h"
#include "backend/simulate/lower_bound.h"
#include "tests/backend/random_graph.h"
#include "tests/backend/slow_device.h"

namespace lemma::backend {
namespace {

CompileOptions small_tasks(std::uint32_t units, Policy policy) {
  CompileOptions options;
  options.device = slow_device(units);
  options.device.least_task_seconds = 0;
  options.policy = policy;
  return options;
}

TEST(Simulate, nothing_ends_before_the_bounds) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const NamedPolicy& policy : policies()) {
      const auto program =
          compile(random_graph(seed, 20), small_tasks(seed % 2 == 0 ? 5 : 16, policy.policy));
      ASSERT_TRUE(program) << program.error().message;
      const LowerBound bound = lower_bound(program->graph, program->device);
      const Simulation simulation = simulate(*program);
      const double seconds = simulation.seconds - program->device.seconds_per_launch;
      EXPECT_GE(seconds * (1 + 1e-9), bound.seconds()) << seed << " " << policy.name;
      EXPECT_GE(seconds * (1 + 1e-9), bound.seconds_with_events()) << seed << " " << policy.name;
      EXPECT_LE(simulation.utilisation(program->device.units), 1);
      EXPECT_GE(program->arena_bytes, largest_live_bytes(*program)) << seed << " " << policy.name;
    }
}

/// By planned time, on the same operators.
TEST(Policies, best_ends_no_later_than_the_others) {
  std::set<std::string_view> sooner;  // than by the critical path
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CompileOptions options = small_tasks(seed % 2 == 0 ? 5 : 16, nullptr);
    options.stitching = StitchOptions::none();
    options.fuses = false;  // so that waves have many operators
    const auto plans = task_operators(random_graph(seed, 60), options);
    ASSERT_TRUE(plans) << plans.error().message;
    const auto end_by = [&](Policy policy) {
      const OperatorGraph& operators = plans->front();
      return planned_end(
          make_program(operators, options.device, policy(operators, options.device)));
    };
    const double best = end_by(place_by_best), path = end_by(place_by_critical_path);
    for (const NamedPolicy& policy : policies()) {
      const double end = end_by(policy.policy);
      EXPECT_LE(best, end * (1 + 1e-9)) << seed << " " << policy.name;
      if (end < path) sooner.insert(policy.name);
    }
  }
  EXPECT_TRUE(sooner.contains("waves"));
  EXPECT_TRUE(sooner.contains("waves-without-choice"));
}

TEST(Policies, a_choice_of_kernels_never_ends_waves_later) {
  std::size_t sooner = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CompileOptions options = small_tasks(seed % 2 == 0 ? 5 : 16, nullptr);
    options.stitching = StitchOptions::none();
    options.fuses = false;
    const auto plans = task_operators(random_graph(seed, 60), options);
    ASSERT_TRUE(plans) << plans.error().message;
    const auto end_by = [&](Policy policy) {
      const OperatorGraph& operators = plans->front();
      return planned_end(
          make_program(operators, options.device, policy(operators, options.device)));
    };
    const double without = end_by(place_by_waves_without_choice), with = end_by(place_by_waves);
    EXPECT_LE(with, without * (1 + 1e-9)) << seed;
    sooner += with < (1 - 1e-6) * without ? 1 : 0;
  }
  EXPECT_GT(sooner, 0U);
}

/// A product m, and m + transposed(c) or c + transposed(m), which read a row or a column of it for a row. c is computed
/// too, so that both sums are of one kind, in no time beside m.
void add_sum(Graph& graph, const std::string& name, bool is_transposed) {
  // Few enough elements that all kernels are looked at.
  const ValueId a = *graph.add_input(name + "_a", {DataType::f32, Shape{4, 2048}});
  const ValueId b = *graph.add_input(name + "_b", {DataType::f32, Shape{2048, 4}});
  const ValueId c =
      *graph.add("Relu", {*graph.add_input(name + "_c", {DataType::f32, Shape{4, 4}})});
  const ValueId product = *graph.add("MatMul", {a, b});
  const ValueId turned = *graph.add("Transpose", {is_transposed ? product : c},
                                    {{"perm", std::vector<std::int64_t>{1, 0}}});
  const ValueId sum = *graph.add("Add", {is_transposed ? c : product, turned});
  EXPECT_TRUE(graph.add_output(name + "_product", product));
  EXPECT_TRUE(graph.add_output(name + "_relu", c));
  EXPECT_TRUE(graph.add_output(name + "_sum", sum));
}

/// The bound with events; `sums`: by sum, whether the product is transposed.
double bound_of(const std::vector<bool>& sums) {
  Graph graph;
  for (std::size_t i = 0; i < sums.size(); ++i) add_sum(graph, "s" + std::to_string(i), sums[i]);
  CompileOptions options = small_tasks(4, nullptr);
  options.stitching = StitchOptions::none();
  options.device.seconds_per_event = 1;  // more than all tasks take
  options.device.seconds_per_task = 0;
  const auto plans = task_operators(graph, options);
  EXPECT_TRUE(plans) << (plans ? "" : plans.error().message);
  std::set<std::uint32_t> kinds;
  for (const TaskOperator& op : plans->front().operators) kinds.insert(op.kind);
  EXPECT_EQ(plans->front().operators.size(), 3 * sums.size());
  EXPECT_EQ(kinds.size(), 3U);
  return lower_bound(plans->front(), options.device).path_with_events;
}

/// Operators of the same kinds, joined by other arguments, in both orders.
TEST(LowerBound, steps_depend_on_the_arguments_that_join_operators) {
  const double straight = bound_of({false}), transposed = bound_of({true});
  EXPECT_GT(transposed, 1.5 * straight);
  EXPECT_DOUBLE_EQ(bound_of({false, true}), transposed);
  EXPECT_DOUBLE_EQ(bound_of({true, false}), transposed);
  EXPECT_DOUBLE_EQ(bound_of({false, false}), straight);
}

/// Found from the cuts of kernels, against a comparison of all regions.
TEST(Dependencies, are_those_of_the_regions) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto plans = task_operators(random_graph(seed, 15), small_tasks(5, nullptr));
    ASSERT_TRUE(plans) << plans.error().message;
    const OperatorGraph& graph = seed % 2 == 0 ? plans->front() : plans->back();
    Dependencies dependencies(graph);
    for (OperatorNumber op = 0; op < graph.operators.size(); ++op)
      for (const Dependencies::Source& source : dependencies.sources(op)) {
        const auto kernel = static_cast<std::uint32_t>(graph.operators[op].kernels.size() - 1);
        for (std::uint32_t of = 0; of < graph.operators[source.writer].kernels.size(); ++of) {
          const TaskLists& lists = dependencies.tasks(source, of, op, kernel);
          const auto writes = dependencies.accesses_of(source.writer, of);
          const auto reads = dependencies.accesses_of(op, kernel);
          for (std::size_t task = 0; task < reads.size(); ++task) {
            const auto& list = lists.lists[lists.group[task]];
            for (std::uint32_t one = 0; one < writes.size(); ++one) {
              bool is_read = false;
              for (const Region& read : reads[task].reads)
                is_read = is_read || may_overlap(read, writes[one].writes[source.result]);
              EXPECT_EQ(is_read, std::binary_search(list.begin(), list.end(), one))
                  << "seed " << seed << ", operator " << op << ", task " << task << " of " << one;
            }
          }
        }
      }
  }
}

class DeviceFile : public testing::Test {
 protected:
  Result<VirtualDevice> load(const std::string& text, std::uint32_t units = 0) {
    const std::string name = testing::TempDir() + "/lemma_device.json";
    std::ofstream(name) << text;
    auto device = load_virtual_device(name, units);
    std::filesystem::remove(name);
    return device;
  }
  const std::string rest_ =
      "\"shared_bytes_per_unit\": 1024, \"least_task_seconds\": 0, \"seconds_per_operation\": 1, "
      "\"seconds_per_byte\": 1, \"seconds_per_weight_byte\": 1, \"seconds_per_task\": 1, "
      "\"seconds_per_event\": 1, \"seconds_per_synchronization\": 1, \"seconds_per_launch\": 1}";
};

TEST_F(DeviceFile, may_have_any_width) {
  const std::string text = "{\"name\": \"d\", \"source\": \"s\", \"units\": 3, " + rest_;
  const auto as_described = load(text), wide = load(text, 200);
  ASSERT_TRUE(as_described && wide);
  EXPECT_EQ(as_described->units, 3U);
  EXPECT_EQ(wide->units, 200U);
}

TEST_F(DeviceFile, names_what_is_wrong) {
  const auto message = [this](const std::string& text) {
    const auto device = load(text);
    return device ? std::string("accepted") : device.error().message;
  };
  EXPECT_NE(message("{").find("not JSON"), std::string::npos);
  EXPECT_NE(message("{\"name\": \"d\", \"units\": 3}").find("'source' is missing"),
            std::string::npos);
  EXPECT_NE(
      message("{\"name\": \"d\", \"source\": \"s\", \"units\": 2.5, " + rest_).find("'units'"),
      std::string::npos);
  EXPECT_NE(
      message("{\"name\": \"d\", \"source\": \"s\", \"units\": 2, \"shared_bytes_per_unit\": 1}")
          .find("'least_task_seconds'"),
      std::string::npos);
}

TEST(KernelTimes, are_taken_in_place_of_the_model) {
  CompileOptions options = small_tasks(4, place_by_critical_path);
  const Graph graph = random_graph(7, 12);
  const auto modelled = task_operators(graph, options);
  ASSERT_TRUE(modelled);
  KernelTimes times;
  times.device = options.device.name;
  for (const TaskOperator& op : modelled->back().operators)
    for (const Kernel& kernel : op.kernels) times.add(op, kernel, kernel.seconds_per_task);
  for (auto& [digest, op] : times.by_operator)
    for (auto& [parts, seconds] : op.of_parts) seconds *= 3;
  const std::string name = testing::TempDir() + "/lemma_times.json";
  std::ofstream(name) << text(times);
  const auto loaded = load_kernel_times(name);
  std::filesystem::remove(name);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(text(*loaded), text(times));
  options.times = &*loaded;
  const auto recorded = task_operators(graph, options);
  ASSERT_TRUE(recorded);
  for (OperatorNumber op = 0; op < modelled->back().operators.size(); ++op)
    for (std::size_t i = 0; i < modelled->back().operators[op].kernels.size(); ++i) {
      const Kernel& before = modelled->back().operators[op].kernels[i];
      const Kernel& after = recorded->back().operators[op].kernels[i];
      EXPECT_TRUE(after.is_recorded);
      EXPECT_NEAR(after.seconds_per_task, 3 * before.seconds_per_task,
                  3e-3 * before.seconds_per_task);  // four digits are written
    }
}

TEST(KernelTimes, of_one_cut_are_taken_in_proportion_for_the_others) {
  CompileOptions options = small_tasks(4, place_by_critical_path);
  const Graph graph = random_graph(7, 12);
  const auto modelled = task_operators(graph, options);
  ASSERT_TRUE(modelled);
  KernelTimes times;
  for (const TaskOperator& op : modelled->back().operators)
    times.add(op, op.kernels.front(), 3 * op.kernels.front().seconds_per_task);
  options.times = &times;
  const auto recorded = task_operators(graph, options);
  ASSERT_TRUE(recorded);
  const std::vector<TaskOperator>& operators = recorded->back().operators;
  std::size_t kernels = 0;
  for (OperatorNumber op = 0; op < operators.size(); ++op)
    for (std::size_t i = 0; i < operators[op].kernels.size(); ++i, ++kernels) {
      const double before = modelled->back().operators[op].kernels[i].seconds_per_task;
      EXPECT_EQ(operators[op].kernels[i].is_recorded, i == 0);
      EXPECT_NEAR(operators[op].kernels[i].seconds_per_task, 3 * before, 1e-9 * before);
    }
  EXPECT_GT(kernels, operators.size());
  const KernelCount count = kernel_count(recorded->back());
  EXPECT_EQ(count.recorded, operators.size());
  EXPECT_EQ(count.all, kernels);
}

}  // namespace
}  // namespace lemma::backend
