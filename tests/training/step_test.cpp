// Steps of training in operators of ONNX: gradients are the limits of differences of the loss, and updates are those of the
// optimizers. LEMMA_TRAINING_MODELS names a folder of models of which steps are written to LEMMA_TRAINING_STEPS.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "differentiate/gradient_records.h"
#include "frontend_onnx/export.h"
#include "interpreter/random.h"
#include "interpreter/run.h"
#include "training/spell.h"
#include "training/training_file.h"

namespace lemma::training {
namespace {

using interpreter::Domain;
using interpreter::NamedTensor;
using interpreter::Tensor;

const std::vector<Substitution>& spellings() {
  static const std::vector<Substitution> rules = [] {
    const char* folder = std::getenv("LEMMA_RULES");
    auto result = spelling_rules(folder == nullptr ? "rules" : folder);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : std::vector<Substitution>();
  }();
  return rules;
}

void expect_spelled(const Graph& graph) {
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    if (node.kind == NodeKind::operation) {
      EXPECT_FALSE(differentiate::is_gradient(graph.op(node))) << graph.op(node).name;
    }
  }
}

/// A multilayer perceptron: weights are constants with names.
Graph perceptron() {
  Graph graph;
  const auto weight = [&](const std::string& name, interpreter::Sizes sizes) {
    const Tensor values =
        interpreter::random_tensor(DataType::f32, sizes, 3, interpreter::stream_of(name));
    const ValueId value = graph.add_constant(values.constant());
    graph.suggest_name(value, name);
    return value;
  };
  const ValueId x = *graph.add_input("x", {DataType::f32, Shape{5, 4}});
  const ValueId first = *graph.add(
      "Gemm", {x, weight("first.weight", {6, 4}), weight("first.bias", {6})}, {{"transB", 1}});
  const ValueId hidden = *graph.add("Tanh", {first});
  const ValueId scores = *graph.add("MatMul", {hidden, weight("last.weight", {6, 3})});
  const ValueId shifted = *graph.add("Add", {scores, weight("last.bias", {3})});
  EXPECT_TRUE(graph.add_output("scores", shifted));
  return graph;
}

std::vector<NamedTensor> inputs_of(const Graph& graph) {
  std::vector<NamedTensor> result;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const TensorType& type = graph.type(node.output());
    interpreter::Sizes sizes;
    for (const Dimension& size : *type.shape) sizes.push_back(size.offset());
    const std::string& name = graph.input_name(node);
    result.push_back(
        {name, interpreter::random_tensor(type.data_type, sizes, 11, interpreter::stream_of(name),
                                          {-1, 1, 0, 2}, Domain::f64)});
  }
  return result;
}

std::map<std::string, Tensor> run(const Graph& graph, const std::vector<NamedTensor>& inputs) {
  interpreter::RunOptions options;
  options.domain = Domain::f64;
  auto values = interpreter::run(graph, inputs, options);
  std::map<std::string, Tensor> result;
  EXPECT_TRUE(values) << values.error().message;
  for (std::size_t i = 0; values && i < values->size(); ++i)
    result.emplace(graph.outputs()[i].name, (*values)[i]);
  return result;
}

Tensor moved(const Tensor& tensor, std::size_t place, double step) {
  std::vector<double> elements = tensor.reals();
  elements[place] += step;
  Tensor result = Tensor::uninitialized(tensor.data_type(), tensor.sizes(), tensor.domain());
  std::copy_n(reinterpret_cast<const std::byte*>(elements.data()), elements.size() * sizeof(double),
              result.writable_bytes().data());
  return result;
}

TrainingStep step_of(const Graph& model, const TrainingOptions& options) {
  auto step = training_step(model, options);
  EXPECT_TRUE(step) << step.error().message;
  auto spelled = spelled_gradients(step->graph, spellings());
  EXPECT_TRUE(spelled) << spelled.error().message;
  if (spelled) step->graph = std::move(*spelled);
  expect_spelled(step->graph);
  return std::move(*step);
}

/// Compares gradients with differences of the loss.
void expect_gradients(const TrainingStep& step) {
  std::vector<NamedTensor> inputs = inputs_of(step.graph);
  const auto values = run(step.graph, inputs);
  for (NamedTensor& input : inputs) {
    if (!values.contains(input.name + ".gradient")) continue;
    const std::vector<double> gradient = values.at(input.name + ".gradient").reals();
    const Tensor original = input.value;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      constexpr double h = 1e-5;
      double difference = 0;
      for (const double sign : {1.0, -1.0}) {
        input.value = moved(original, i, sign * h);
        difference += sign * run(step.graph, inputs).at("loss").reals()[0] / (2 * h);
      }
      EXPECT_NEAR(gradient[i], difference, 1e-8) << input.name << " " << i;
    }
    input.value = original;
  }
}

class Losses : public testing::TestWithParam<const char*> {};

TEST_P(Losses, HaveTheGradientsOfTheirDifferences) {
  TrainingOptions options;
  options.loss = GetParam();
  options.optimizer = Optimizer::none;
  options.loss_scale = 128;
  const TrainingStep step = step_of(perceptron(), options);
  EXPECT_EQ(step.parameters.size(), 4U);
  expect_gradients(step);
}
INSTANTIATE_TEST_SUITE_P(Training, Losses, testing::Values("cross-entropy", "mse"));

/// Of 9, 28 and 70 parts of different widths, which are joined and cut again.
TEST(TrainingStep, JoinsAndCutsMorePartsThanGradientsAreSpelledFor) {
  for (const std::int64_t count : {9, 28, 70}) {
    Graph graph;
    const ValueId x = *graph.add_input("x", {DataType::f32, Shape{2, 1}});
    std::vector<ValueId> parts;
    Shape widths;
    for (std::int64_t part = 0; part < count; ++part) {
      widths.emplace_back(1 + part % 2);
      const Tensor values = interpreter::random_tensor(
          DataType::f32, {1, 1 + part % 2}, 5, interpreter::stream_of(fmt::format("w{}", part)));
      const ValueId weight = graph.add_constant(values.constant());
      graph.suggest_name(weight, fmt::format("w{}", part));
      parts.push_back(*graph.add("Tanh", {*graph.add("MatMul", {x, weight})}));
    }
    const ValueId whole = *graph.add("Concat", parts, {{"axis", 1}});
    const NodeId cut = *graph.add_operation(operator_named("Split"), {whole},
                                            {{"axis", 1}, {"split", widths}}, parts.size());
    // In the other order, each with another factor, so that a part that is taken for another one is seen.
    for (std::int64_t part = 0; part < count; ++part)
      parts[static_cast<std::size_t>(count - 1 - part)] = *graph.add(
          "Mul",
          {graph.node(cut).output(static_cast<std::uint32_t>(part)),
           graph.add_constant(Constant::scalar_f32(1.0F + 0.1F * static_cast<float>(part)))});
    EXPECT_TRUE(graph.add_output("y", *graph.add("Concat", parts, {{"axis", 1}})));
    TrainingOptions options;
    options.loss = "mse";
    options.optimizer = Optimizer::none;
    const TrainingStep step = step_of(graph, options);
    EXPECT_EQ(step.parameters.size(), static_cast<std::size_t>(count));
    expect_gradients(step);
  }
}

class HalfPrecision : public testing::TestWithParam<DataType> {};

/// Without rounding a step in a narrow type is the step in f32.
TEST_P(HalfPrecision, DiffersFromTheWideStepByRoundingOnly) {
  for (const Optimizer optimizer : {Optimizer::none, Optimizer::sgd, Optimizer::momentum}) {
    TrainingOptions options;
    options.optimizer = optimizer;
    const TrainingStep wide = step_of(perceptron(), options);
    options.half = GetParam();
    const TrainingStep narrow = step_of(perceptron(), options);
    std::vector<NamedTensor> inputs = inputs_of(narrow.graph);
    const auto expected = run(wide.graph, inputs_of(wide.graph)),
               values = run(narrow.graph, inputs);
    EXPECT_EQ(values.size(), expected.size() + 3);
    EXPECT_EQ(values.at("finite").reals()[0], 1);
    for (const auto& [name, tensor] : expected) {
      const std::vector<double> wanted = tensor.reals(), got = values.at(name).reals();
      ASSERT_EQ(got.size(), wanted.size()) << name;
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-9) << name;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Training, HalfPrecision, testing::Values(DataType::f16, DataType::bf16));

/// Both sides of a spelling without a proof, on operands with few different numbers: what matters is ties.
TEST(SampledSpellings, AgreeWithDerivedGradients) {
  struct Case {
    std::string op;
    Attributes attributes;
    Shape x, g;
  };
  const auto pool = [](Shape kernel, Shape strides, Shape pads) {
    return Attributes{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}};
  };
  const std::vector<Case> cases = {
      {"MaxPoolGradient0", pool({2, 2}, {2, 2}, {0, 0, 0, 0}), {2, 3, 4, 6}, {2, 3, 2, 3}},
      {"MaxPoolGradient0", pool({3, 3}, {2, 1}, {1, 1, 1, 1}), {1, 2, 5, 4}, {1, 2, 3, 4}},
      {"MaxPoolGradient0", pool({3}, {1}, {1, 0}), {2, 1, 7}, {2, 1, 6}},
      {"MaxPoolGradient0", pool({1, 2}, {3, 2}, {0, 0, 0, 0}), {0, 3, 4, 4}, {0, 3, 2, 2}},
      {"ReduceMaxGradient0", {{"axes", Integers{1}}, {"keepdims", 1}}, {3, 5, 2}, {3, 1, 2}},
      {"ReduceMaxGradient0", {{"axes", Integers{0}}, {"keepdims", 1}}, {1}, {1}}};
  for (const Case& given : cases)
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      Graph graph;
      const ValueId x = *graph.add_input("x", {DataType::f32, given.x}),
                    g = *graph.add_input("g", {DataType::f32, given.g});
      ASSERT_TRUE(graph.add_output("dx", *graph.add(given.op, {x, g}, given.attributes)));
      const auto spelled = spelled_gradients(graph, spellings());
      ASSERT_TRUE(spelled) << spelled.error().message;
      expect_spelled(*spelled);
      std::vector<NamedTensor> inputs;
      for (const auto& [name, shape] : {std::pair("x", given.x), std::pair("g", given.g)}) {
        interpreter::Sizes sizes;
        for (const Dimension& size : shape) sizes.push_back(size.offset());
        std::vector<double> elements =
            interpreter::random_tensor(DataType::f64, sizes, seed, name[0], {-2, 2}).reals();
        for (double& element : elements) element = std::floor(element);
        inputs.push_back({name, Tensor::from_reals(DataType::f32, sizes, elements)});
      }
      EXPECT_EQ(run(graph, inputs).at("dx").reals(), run(*spelled, inputs).at("dx").reals())
          << given.op;
    }
}

TEST(Optimizers, MoveAsTheirFormulasSay) {
  for (const Optimizer optimizer :
       {Optimizer::sgd, Optimizer::momentum, Optimizer::adam, Optimizer::adamw}) {
    TrainingOptions options;
    options.loss = "mse";
    options.parameters = "last.bias";
    options.optimizer = Optimizer::none;
    const TrainingStep plain = step_of(perceptron(), options);
    options.optimizer = optimizer;
    const TrainingStep step = step_of(perceptron(), options);
    std::vector<NamedTensor> inputs = inputs_of(step.graph);
    std::map<std::string, std::vector<double>> given;
    for (NamedTensor& input : inputs) {
      // A mean of squares is not negative.
      if (input.name == "last.bias.square") {
        std::vector<double> squares = input.value.reals();
        for (std::size_t i = 0; i < squares.size(); ++i)
          input.value = moved(input.value, i, 1 - squares[i]);
      }
      given[input.name] = input.value.reals();
    }
    const auto values = run(step.graph, inputs);
    const std::vector<double> gradient =
        run(plain.graph, inputs_of(plain.graph)).at("last.bias.gradient").reals();
    const double rate = given.at("learning_rate")[0];
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double w = given.at("last.bias")[i], g = gradient[i];
      double expected = w - rate * g;
      if (optimizer == Optimizer::momentum)
        expected = w - rate * (0.9 * given.at("last.bias.momentum")[i] + g);
      if (optimizer == Optimizer::adam || optimizer == Optimizer::adamw) {
        const double mean = 0.9 * given.at("last.bias.mean")[i] + 0.1 * g;
        const double square = 0.999 * given.at("last.bias.square")[i] + 0.001 * g * g;
        const double count = given.at("steps")[0] + 1;
        const double move = mean / (1 - std::pow(0.9, count)) /
                            (std::sqrt(square / (1 - std::pow(0.999, count))) + 1e-8);
        expected = w - rate * move - (optimizer == Optimizer::adamw ? 0.01 * rate * w : 0);
      }
      EXPECT_NEAR(values.at("last.bias.next").reals()[i], expected, 1e-5 * (1 + std::abs(expected)))
          << static_cast<int>(optimizer);
    }
  }
}

TEST(TrainingStep, NamesWhatIsWrong) {
  const Graph model = perceptron();
  const auto message = [&](const TrainingOptions& options) {
    const auto step = training_step(model, options);
    return step ? std::string() : step.error().message;
  };
  TrainingOptions options;
  options.parameters = "second.*";
  EXPECT_NE(message(options).find("second.*"), std::string::npos);
  options = {};
  options.loss = "scores";
  EXPECT_NE(message(options).find("one real element"), std::string::npos);
  options.loss = "nothing";
  EXPECT_NE(message(options).find("there is no output 'nothing'"), std::string::npos);
}

TEST(TrainingStep, PatternsHaveStarsAndQuestionMarks) {
  EXPECT_TRUE(is_like("layer.0.weight", "*.weight"));
  EXPECT_TRUE(is_like("layer.0.weight", "layer.?.*"));
  EXPECT_TRUE(is_like("", "*"));
  EXPECT_FALSE(is_like("layer.0.bias", "*.weight"));
  EXPECT_FALSE(is_like("layer", "layer?"));
  EXPECT_TRUE(is_like("aXbXc", "a*X?"));
}

TEST(TrainingStep, OfTheModelsInAFolder) {
  const char *folder = std::getenv("LEMMA_TRAINING_MODELS"),
             *out = std::getenv("LEMMA_TRAINING_STEPS");
  if (folder == nullptr || out == nullptr) GTEST_SKIP() << "LEMMA_TRAINING_MODELS is not set";
  const char* optimizer = std::getenv("LEMMA_TRAINING_OPTIMIZER");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    TrainingOptions options;
    options.optimizer = optimizer == nullptr ? Optimizer::none : Optimizer::sgd;
    options.loss = entry.path().stem() == "autoencoder" ? "mse" : "cross-entropy";
    const auto model = training_model(entry.path(), {}, options, spellings());
    if (!model) {
      ADD_FAILURE() << entry.path() << ": " << model.error().message;
      continue;
    }
    const auto written =
        export_model(model->model, std::filesystem::path(out) / entry.path().filename());
    EXPECT_TRUE(written) << entry.path() << ": " << written.error().message;
    fmt::print("{}: {} parameters, {} nodes\n", entry.path().stem().string(),
               model->parameters.size(), model->model.graph.live_nodes().size());
  }
}

}  // namespace
}  // namespace lemma::training
