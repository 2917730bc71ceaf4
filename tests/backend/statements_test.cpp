// The tree of statements: what the printer writes for it in each language, and what is asked of it.

#include "backend/emit/statements.h"

#include <gtest/gtest.h>

#include "backend/emit/print.h"

namespace lemma::backend::source {
namespace {

/// A loop with a guard of two branches, which stores an element.
Statements guarded_loop() {
  Builder builder;
  builder.open(counting_loop("i", "first", "end", "lanes"));
  builder.add(Declaration{.type = "float", .name = "t"});
  builder.open(Guard{"c != 0", {}, {}});
  builder.add(Assignment{"t", "x[i]"});
  builder.otherwise();
  builder.add(Assignment{"t", "0"});
  builder.close();
  builder.add(Assignment{.target = "y[i]", .value = "t", .condition = "rank == 0"});
  builder.close();
  return builder.take();
}

TEST(Statements, LoopsAndGuardsAreIndented) {
  EXPECT_EQ(print(guarded_loop(), Dialect::cpp, 2),
            "  for (std::int64_t i = first; i < end; i += lanes) {\n"
            "    float t;\n"
            "    if (c != 0) {\n"
            "      t = x[i];\n"
            "    } else {\n"
            "      t = 0;\n"
            "    }\n"
            "    if (rank == 0) y[i] = t;\n"
            "  }\n");
}

TEST(Statements, LanguagesHaveTheirOwnWords) {
  Function function = {{{"const float*", "x", true}, {"std::int64_t", "part", false, true}}, {}};
  function.body = {
      TensorDeclaration{
          .name = "y", .type = "float", .array = "arguments", .number = 1, .is_unaliased = true},
      Barrier{}, Barrier{true, "the slots are taken again"}};
  EXPECT_EQ(print(function, Linkage::phase, "phase_0", Dialect::cpp),
            "[[gnu::noinline]] void phase_0(const float* __restrict x, [[maybe_unused]] "
            "std::int64_t part) {\n"
            "  auto* const __restrict y = static_cast<float*>(arguments[1]);\n"
            "  // Barrier of the block: one thread runs the phases in order.\n"
            "  // Barrier of the warp: one thread runs the phases in order.\n"
            "}\n");
  EXPECT_EQ(print(function, Linkage::phase, "phase_0", Dialect::cuda),
            "__device__ __noinline__ void phase_0(const float* x, [[maybe_unused]] std::int64_t "
            "part) {\n"
            "  auto* const y = static_cast<float*>(arguments[1]);\n"
            "  __syncthreads();\n"
            "  __syncwarp();  // the slots are taken again\n"
            "}\n");
}

TEST(Statements, GuardedLoadsAreFoundAtAnyDepth) {
  EXPECT_TRUE(has_guarded_loads({Block{guarded_loop()}}));
  EXPECT_FALSE(has_guarded_loads({constant("float", "t", "x[0]")}));
  Expression checked = "is_inside(i, 4) ? x[i] : 0";
  checked.checks_bounds = true;
  EXPECT_TRUE(has_guarded_loads({Block{{constant("float", "t", checked)}}}));
  const Function function = {{}, guarded_loop()};
  EXPECT_EQ(function_head(function, Linkage::kernel, Dialect::cpp), "GUARDED_LOADS void ");
}

TEST(Statements, DivisorsAreNotedOnlyWhereThereAreSome) {
  EXPECT_EQ(with_ok(guarded_loop()).size(), 1);
  Expression quotient = "FloorDivide::apply(a, b, ok)";
  quotient.notes_divisors = true;
  const Statements noted = with_ok({Block{{Guard{"c != 0", {}, {Assignment{"t", quotient}}}}}});
  ASSERT_EQ(noted.size(), 2);
  EXPECT_EQ(print({noted[0]}, Dialect::cpp, 0), "std::uint8_t ok = 1;\n");
}

TEST(Statements, PartsAreReplacedInTheirPlaces) {
  Statements statements = {Part{1}, Block{{Part{0}, Comment{"between"}, Part{1}}}};
  put_in(statements, [](std::size_t part) -> Statements {
    if (part == 0) return {};
    return {Call{"f", {"1"}}, Call{"g"}};
  });
  EXPECT_EQ(print(statements, Dialect::cpp, 0),
            "f(1);\n"
            "g();\n"
            "{\n"
            "  // between\n"
            "  f(1);\n"
            "  g();\n"
            "}\n");
}

TEST(Statements, LambdasAreArguments) {
  const LambdaDeclaration left = {
      "left",
      "factor<4>",
      {"x0"},
      {{{{"int", "line"}}, {Return{"line * 4"}}}, {{{"int", "term"}}, {Return{"term"}}}}};
  const LambdaDeclaration store = {"store", "", {}, {{{{"float", "sum"}}, {Call{"f", {"sum"}}}}}};
  EXPECT_EQ(print({left, store}, Dialect::cuda, 0),
            "const auto left = factor<4>(\n"
            "    x0,\n"
            "    [&](int line) {\n"
            "      return line * 4;\n"
            "    },\n"
            "    [&](int term) {\n"
            "      return term;\n"
            "    });\n"
            "const auto store = [&](float sum) {\n"
            "  f(sum);\n"
            "};\n");
}

}  // namespace
}  // namespace lemma::backend::source
