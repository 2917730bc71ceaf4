// The worked example of "Give an operator a kernel of its own" in CONTRIBUTING.md: it is right, programs take it where it
// applies, and a careless copy of it is refused.

#include <gtest/gtest.h>

#include <array>

#include <fmt/format.h>

#include "backend/compile/compile.h"
#include "backend/execute/override_check.h"
#include "outputs/scratch.h"

namespace lemma::backend {
namespace {

namespace example {
#include "kernel_example.h"
}  // namespace example

FoundOverride found() {
  static const bool is_registered =
      register_overrides(example::kernels, "CONTRIBUTING.md").has_value();
  EXPECT_TRUE(is_registered);
  for (const FoundOverride& one : all_overrides())
    if (one.kernel->op == "CumProd") return one;
  ADD_FAILURE();
  return {};
}

TEST(KernelExample, ItIsRight) {
  const TemporaryDirectory folder;
  const auto builder = ProgramBuilder::create(folder.path());
  if (!builder) GTEST_SKIP() << builder.error().message;
  const auto checked = check_override(found(), {}, *builder);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_GE(checked->applications, 6U);
}

/// The descriptions of the operators of a cumulative product.
std::string described(std::initializer_list<Dimension> sizes, std::int64_t exclusive) {
  Graph graph;
  const auto x = graph.add_input("x", {DataType::f32, Shape(sizes)});
  const auto y = graph.add("CumProd", {*x}, {{"axis", std::int64_t{0}}, {"exclusive", exclusive}});
  EXPECT_TRUE(graph.add_output("y", *y));
  const auto program = compile(graph, {});
  EXPECT_TRUE(program);
  return program->graph.operators.front().description;
}

TEST(KernelExample, ProgramsTakeItWhereItApplies) {
  found();
  EXPECT_EQ(described({5}, 0), "CumProd by a kernel of its own from CONTRIBUTING.md");
  EXPECT_EQ(described({5}, 1), "CumProd");
  EXPECT_EQ(described({5, 2}, 0), "CumProd");
}

}  // namespace
}  // namespace lemma::backend
