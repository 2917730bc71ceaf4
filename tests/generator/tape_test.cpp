#include "generator/tape.h"

#include <cmath>
#include <filesystem>

#include "interpreter/random.h"
#include "interpreter/run.h"
#include "tests/generator/helpers.h"

namespace lemma::generator {
namespace {

/// The outputs of a tape are those of the interpreter, in f64.
void expect_equal(const Graph& graph, const std::string& what) {
  const auto tape = make_tape(graph);
  ASSERT_TRUE(tape) << what << ": " << tape.error().message;
  std::vector<interpreter::NamedTensor> tensors;
  std::vector<std::vector<long double>> contents;
  for (const NodeId id : graph.inputs()) {
    const TensorType& type = graph.type(graph.node(id).output());
    tensors.push_back(
        {graph.input_name(graph.node(id)),
         interpreter::random_tensor(DataType::f32, *constant_sizes(*type.shape), 5, id.v + 1,
                                    {-2, 2, -4, 4}, interpreter::Domain::f64)});
    const std::vector<double> reals = tensors.back().value.reals();
    contents.emplace_back(reals.begin(), reals.end());
  }
  interpreter::RunOptions options;
  options.domain = interpreter::Domain::f64;
  options.plain = true;
  const auto expected = interpreter::run(graph, tensors, options);
  ASSERT_TRUE(expected) << what << ": " << expected.error().message;
  const auto actual = run_once(*tape, contents);
  ASSERT_EQ(actual.size(), expected->size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const std::vector<double> reals = (*expected)[i].reals();
    ASSERT_EQ(actual[i].size(), reals.size()) << what;
    for (std::size_t e = 0; e < reals.size(); ++e) {
      if (std::isnan(reals[e])) {
        EXPECT_TRUE(std::isnan(actual[i][e])) << what;
        continue;
      }
      EXPECT_NEAR(static_cast<double>(actual[i][e]), reals[e], 1e-12 * (1 + std::abs(reals[e])))
          << what << " output " << i << " element " << e;
    }
  }
}

TEST(Tape, ComputesWhatTheInterpreterDoesForAllOperatorsOfAllSets) {
  std::size_t tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator("rules/operator_sets")) {
    const OperatorSet set = testing::shipped_set(entry.path().stem().string());
    for (const SetOperator& op : set.operators) {
      // The operator on all inputs of the set to which it applies, and on sums of their shapes.
      const std::size_t arity = op.enumerated.inputs.size(), count = set.inputs.size();
      std::size_t combinations = 1, applied = 0;
      for (std::size_t i = 0; i < arity; ++i) combinations *= count;
      for (std::size_t c = 0; c < combinations && applied < 3; ++c) {
        Graph graph;
        std::vector<ValueId> inputs;
        std::vector<Shape> shapes;
        RuleBindings bindings;
        bool fits = true;
        for (std::size_t i = 0, rest = c; i < arity; ++i, rest /= count) {
          const std::vector<std::int64_t>& sizes = set.inputs[rest % count].sizes;
          shapes.emplace_back(sizes.begin(), sizes.end());
          inputs.push_back(*graph.add_input("v" + std::to_string(i), {DataType::f32, shapes[i]}));
          fits = fits &&
                 match_shape(op.enumerated, static_cast<std::uint32_t>(i), shapes[i], bindings);
        }
        if (!fits || !shapes_agree(op.enumerated, shapes, bindings)) continue;
        const auto outputs =
            instantiate(op.enumerated, op.enumerated.left, inputs, bindings, graph);
        if (!outputs) continue;
        for (std::size_t i = 0; i < outputs->size(); ++i)
          ASSERT_TRUE(graph.add_output(std::to_string(i), (*outputs)[i]));
        expect_equal(graph, set.name + ": " + op.name);
        ++applied;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 40U);
}

TEST(Tape, LanesAreIndependent) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{2, 3}});
  const ValueId y = *graph.add_input("y", {DataType::f32, Shape{3, 2}});
  ASSERT_TRUE(graph.add_output("z", *graph.add("Relu", {*graph.add("MatMul", {x, y})})));
  const auto tape = make_tape(graph);
  ASSERT_TRUE(tape);
  std::vector<double> lanes(tape->register_count * tape_lanes), one(tape->register_count);
  for (Register r = 0; r < 12; ++r)
    for (std::size_t l = 0; l < tape_lanes; ++l)
      lanes[r * tape_lanes + l] = static_cast<double>((r * 7 + l * 5) % 11) - 5;
  const std::vector<double> before = lanes;
  tape->run<double, tape_lanes>(lanes.data());
  for (std::size_t l = 0; l < tape_lanes; ++l) {
    for (Register r = 0; r < 12; ++r) one[r] = before[r * tape_lanes + l];
    tape->run<double, 1>(one.data());
    for (const Register place : tape->outputs[0])
      EXPECT_EQ(lanes[place * tape_lanes + l], one[place]) << l;
  }
}

TEST(Tape, UndefinedElementsAreNoNumbers) {
  Graph graph;
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{2}});
  ASSERT_TRUE(graph.add_output("y", *graph.add("Max", {*graph.add("Log", {x}), x})));
  const auto tape = make_tape(graph);
  ASSERT_TRUE(tape);
  const auto outputs = run_once(*tape, std::vector<std::vector<long double>>{{-1.0L, 2.0L}});
  EXPECT_TRUE(std::isnan(outputs[0][0])) << "the maximum of something undefined is undefined";
  EXPECT_EQ(outputs[0][1], 2.0L);
}

}  // namespace
}  // namespace lemma::generator
