// Loop schedules as text, and in what is emitted.

#include "backend/loop_schedule.h"

#include <gtest/gtest.h>

#include "backend/compile/compile.h"
#include "backend/compile/passes.h"
#include "backend/emit/kernel_text.h"
#include "backend/execute/program_times.h"
#include "backend/lower/computation_key.h"
#include "tests/ir/parsed_graph.h"

namespace lemma::backend {

namespace {

TEST(LoopSchedule, TextIsReadAsItWasWritten) {
  for (const char* written :
       {"", "rows=6",
        "tiles=no channels=yes widens=no windows=yes stored=yes panel=48 vectors=3 "
        "rows=5 order=chunks chunk=256 ahead=0 unroll=4",
        "order=rows-inside ahead=32"}) {
    const auto schedule = parse_loop_schedule(written);
    ASSERT_TRUE(schedule) << written;
    EXPECT_EQ(text(*schedule), written);
    EXPECT_EQ(schedule->is_default(), std::string(written).empty());
  }
}

TEST(LoopSchedule, WordsThatAreNoFieldsAreErrors) {
  for (const char* wrong : {"rows", "rows=0", "rows=x", "rows=6 rows=7", "lines=6", "tiles=maybe",
                            "order=none", "rows=99999999999", "rows=6  vectors=2"}) {
    const auto schedule = parse_loop_schedule(wrong);
    ASSERT_FALSE(schedule) << wrong;
    EXPECT_NE(schedule.error().message.find("is no field of a loop schedule"), std::string::npos);
  }
}

TEST(LoopSchedule, TheFirstOfTwoGoesFirst) {
  const LoopSchedule both =
      merged(*parse_loop_schedule("rows=2 ahead=0"), *parse_loop_schedule("rows=3 vectors=1"));
  EXPECT_EQ(text(both), "vectors=1 rows=2 ahead=0");
}

/// The source of all kernels.
std::string source(const Graph& graph, const LoopSchedules& schedules) {
  CompileOptions options = compile_options(1);
  options.schedules = std::make_shared<const LoopSchedules>(schedules);
  const auto program = compile(graph, options);
  EXPECT_TRUE(program);
  const auto kernels = kernel_texts(std::span(&*program, 1));
  EXPECT_TRUE(kernels);
  std::string all;
  for (const std::string& phase : kernels->phases) all += phase;
  for (const KernelFunction& function : kernels->functions) all += function.definition;
  return all;
}

LoopSchedules for_all(const Graph& graph, const std::string& schedule) {
  LoopSchedules schedules;
  const auto computations = lowered(graph, {});
  EXPECT_TRUE(computations);
  for (const Computation& computation : computations->computations)
    schedules[computation_key(computation, computations->buffers)] = *parse_loop_schedule(schedule);
  return schedules;
}

constexpr const char* product = R"(graph "product"
  input %0 "x" : f32[12, 40]
  input %1 "w" : f32[40, 24]
  %2 = MatMul(%0, %1) : f32[12, 24]
  output "y" = %2
)";

TEST(LoopSchedule, EachFieldOfABlockChangesTheSource) {
  const Graph graph = lemma::testing::parsed(product);
  const std::string usual = source(graph, {});
  EXPECT_EQ(source(graph, for_all(graph, "")), usual);
  EXPECT_EQ(source(graph, {{"another", *parse_loop_schedule("rows=3")}}), usual);
  EXPECT_NE(source(graph, for_all(graph, "rows=3")).find("even_parts(12, 3)"), std::string::npos);
  EXPECT_NE(
      source(graph, for_all(graph, "vectors=1")).find("at_most(1, 24 / register_elements<float>)"),
      std::string::npos);
  EXPECT_NE(source(graph, for_all(graph, "unroll=4")).find("#pragma GCC unroll 4"),
            std::string::npos);
  EXPECT_EQ(source(graph, for_all(graph, "order=rows-inside")), usual);
  EXPECT_NE(source(graph, for_all(graph, "order=rows-outside")), usual);
  EXPECT_NE(source(graph, for_all(graph, "order=chunks chunk=16")), usual);
}

TEST(LoopSchedule, KeysTellSizesAndTypesApart) {
  const auto key_of = [](const std::string& text) {
    const auto computations = lowered(lemma::testing::parsed(text), {});
    EXPECT_TRUE(computations);
    return computation_key(computations->computations.back(), computations->buffers);
  };
  const std::string first = key_of(product);
  EXPECT_EQ(first.size(), 20U);
  const auto replaced = [](std::string_view from, std::string_view to) {
    std::string result = product;
    for (std::size_t at = 0; (at = result.find(from, at)) != std::string::npos; at += to.size())
      result.replace(at, from.size(), to);
    return result;
  };
  EXPECT_NE(key_of(replaced("12", "13")), first);
  EXPECT_NE(key_of(replaced("f32", "f64")), first);
  EXPECT_EQ(key_of(replaced("\"x\"", "\"z\"")), first);
}

}  // namespace

}  // namespace lemma::backend
