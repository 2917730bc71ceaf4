// Operators of ONNX's newest sets, scales for blocks, and steps of training, on small examples and against each other.

#include <gtest/gtest.h>

#include <cmath>

#include "interpreter/run.h"
#include "ir/graph.h"
#include "tests/operators/apply.h"

namespace lemma {
namespace {

using interpreter::Tensor;
using Floats = std::vector<float>;
using Sizes = std::vector<std::int64_t>;

template <typename T>
Tensor tensor(DataType type, const Sizes& sizes, const std::vector<T>& values) {
  return Tensor::of(Constant::of(type, sizes, values));
}

Tensor floats(const Sizes& sizes, const Floats& values) {
  return tensor(DataType::f32, sizes, values);
}

/// Applies the operator; inputs without a type are absent.
Result<std::vector<Tensor>> run(std::string_view name, const std::vector<Tensor>& inputs,
                                Attributes attributes = {}, std::size_t outputs = 1) {
  Graph graph;
  std::vector<ValueId> values;
  std::vector<interpreter::NamedTensor> given;
  for (const Tensor& input : inputs) {
    if (input.data_type() == DataType::undefined) {
      values.push_back(ValueId::none());
      continue;
    }
    given.push_back({"x" + std::to_string(given.size()), input});
    values.push_back(*graph.add_input(given.back().name, input.type()));
  }
  LEMMA_ASSIGN_OR_RETURN(const NodeId node, graph.add_operation(operator_named(name), values,
                                                                std::move(attributes), outputs));
  for (std::uint32_t i = 0; i < outputs; ++i)
    EXPECT_TRUE(graph.add_output("y" + std::to_string(i), graph.node(node).output(i)));
  return interpreter::run(graph, given, {});
}

Reals reals_of(const Result<std::vector<Tensor>>& outputs, std::size_t i = 0) {
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? (*outputs)[i].reals() : Reals{};
}

Integers integers_of(const Result<std::vector<Tensor>>& outputs) {
  EXPECT_TRUE(outputs) << outputs.error().message;
  return outputs ? (*outputs)[0].integers() : Integers{};
}

// ---- STFT --------------------------------------------------------------------------------------

TEST(Stft, TransformsEachWeighedFrame) {
  Floats signal, window;
  for (int i = 0; i < 11; ++i) signal.push_back(static_cast<float>((7 * i) % 5) - 2);
  for (int i = 0; i < 4; ++i) window.push_back(0.25F * static_cast<float>(i + 1));
  for (const std::int64_t onesided : {0, 1}) {
    const Attributes attributes{{"frame_step", Dimension(3)}, {"onesided", onesided}};
    const Reals given =
        reals_of(run("STFT", {floats({1, 11, 1}, signal), floats({4}, window)}, attributes));
    Floats frames;
    for (std::size_t frame = 0; frame < 3; ++frame)
      for (std::size_t i = 0; i < 4; ++i) frames.push_back(signal[3 * frame + i] * window[i]);
    const Reals expected =
        reals_of(run("DFT", {floats({3, 4, 1}, frames)}, {{"onesided", onesided}}));
    ASSERT_EQ(given.size(), expected.size());
    for (std::size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(given[i], expected[i], 1e-5);
  }
}

TEST(Stft, TransformsComplexSignals) {
  const Floats signal = {1, 2, -1, 0.5F, 3, -2};
  const Attributes attributes{{"frame_step", Dimension(1)}, {"onesided", std::int64_t{0}}};
  const Reals given = reals_of(run("STFT", {floats({1, 3, 2}, signal)}, attributes));
  const Reals expected = reals_of(run("DFT", {floats({1, 3, 2}, signal)}));
  ASSERT_EQ(given.size(), expected.size());
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_NEAR(given[i], expected[i], 1e-5);
}

TEST(Stft, CountsFrames) {
  const Attributes step{{"frame_step", Dimension(160)}};
  EXPECT_EQ(apply("STFT", {"f32[B, 16000]", "f32[400]"}, step).types, "f32[B, 98, 201, 2]");
  EXPECT_EQ(apply("STFT", {"f32[1, 300, 1]", "f32[400]"}, step).types,
            "STFT: a frame of 400 elements is longer than the signal");
  EXPECT_EQ(apply("STFT", {"f32[1, 600, 2]", "f32[400]"}, step).types,
            "STFT: a complex signal has no symmetric spectrum");
}

// ---- BitCast -----------------------------------------------------------------------------------

TEST(BitCast, KeepsTheBitsOfIntegers) {
  const Tensor x = tensor<std::int8_t>(DataType::i8, {3}, {-1, 5, -128});
  EXPECT_EQ(integers_of(run("BitCast", {x}, {{"to", DataType::u8}})), (Integers{255, 5, 128}));
  const Tensor y = tensor<std::uint8_t>(DataType::u8, {2}, {255, 127});
  EXPECT_EQ(integers_of(run("BitCast", {y}, {{"to", DataType::i8}})), (Integers{-1, 127}));
}

TEST(BitCast, IsRefusedWhereBitsAreNotKnown) {
  EXPECT_EQ(apply("BitCast", {"i32[2]"}, {{"to", DataType::i64}}).types,
            "BitCast: the bits of i32 as those of i64");
  for (const auto& [from, to] : {std::pair("f32[2]", DataType::i32),
                                 {"i32[2]", DataType::f32},
                                 {"u8[2]", DataType::boolean},
                                 {"u4[2]", DataType::i4}})
    EXPECT_NE(apply("BitCast", {from}, {{"to", to}}).types.find("the bits of"), std::string::npos)
        << from;
}

// ---- Scales for blocks -------------------------------------------------------------------------

const Attributes blocks_of_2 = {{"axis", std::int64_t{1}}, {"block_size", std::int64_t{2}}};

TEST(Blocks, HaveScalesOfTheirOwn) {
  const Tensor x = tensor<std::int8_t>(DataType::i8, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor scale = floats({2, 2}, {1, 10, 100, 1000});  // the second block is shorter
  EXPECT_EQ(reals_of(run("DequantizeLinear", {x, scale}, blocks_of_2)),
            (Reals{1, 2, 30, 400, 500, 6000}));
  const Tensor y = floats({2, 3}, {1, 2, 30, 400, 500, 6000});
  const Tensor zero = tensor<std::int8_t>(DataType::i8, {2, 2}, {0, 1, 0, 0});
  EXPECT_EQ(integers_of(run("QuantizeLinear", {y, scale, zero}, blocks_of_2)),
            (Integers{1, 2, 4, 4, 5, 6}));
}

TEST(Blocks, HaveOneScaleEach) {
  EXPECT_EQ(apply("DequantizeLinear", {"i8[2, 5]", "f32[2, 3]"}, blocks_of_2).types, "f32[2, 5]");
  EXPECT_NE(apply("DequantizeLinear", {"i8[2, 5]", "f32[2, 2]"}, blocks_of_2).types, "f32[2, 5]");
  EXPECT_NE(apply("DequantizeLinear", {"i8[2, 5]", "f32[1, 3]"}, blocks_of_2).types, "f32[2, 5]");
  EXPECT_NE(apply("DequantizeLinear", {"i8[2, 5]", "f32[]"}, blocks_of_2).types, "f32[2, 5]");
  EXPECT_NE(apply("DequantizeLinear", {"i8[2, 5]", "f32[2, 3]"}).types, "f32[2, 5]");
}

// ---- TensorScatter -----------------------------------------------------------------------------

TEST(TensorScatter, WritesFromAPositionOn) {
  const Tensor cache = floats({2, 4, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor updates = floats({2, 2, 1}, {10, 11, 12, 13});
  const Tensor at = tensor<std::int64_t>(DataType::i64, {2}, {2, 0});
  EXPECT_EQ(reals_of(run("TensorScatter", {cache, updates, at})),
            (Reals{0, 1, 10, 11, 12, 13, 6, 7}));
  EXPECT_EQ(reals_of(run("TensorScatter", {cache, updates})), (Reals{10, 11, 2, 3, 12, 13, 6, 7}));
  const Tensor late = tensor<std::int64_t>(DataType::i64, {2}, {3, 1});
  EXPECT_EQ(
      reals_of(run("TensorScatter", {cache, updates, late}, {{"mode", std::string("circular")}})),
      (Reals{11, 1, 2, 10, 4, 12, 13, 7}));
  EXPECT_EQ(reals_of(run("TensorScatter", {cache, floats({2, 0, 1}, {}), at})),
            (Reals{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(TensorScatter, DemandsUpdatesThatFit) {
  EXPECT_EQ(apply("TensorScatter", {"f32[N, 4, 2]", "f32[N, 3, 2]", "i64[N]"}).types,
            "f32[N, 4, 2]");
  for (const auto* updates : {"f32[N, 5, 2]", "f32[N, 3, 1]", "f16[N, 3, 2]", "f32[N, 2]"})
    EXPECT_NE(apply("TensorScatter", {"f32[N, 4, 2]", updates}).types, "f32[N, 4, 2]") << updates;
  EXPECT_EQ(apply("TensorScatter", {"f32[3, 4]", "f32[3, 4]"}, {{"axis", std::int64_t{0}}}).types,
            "TensorScatter: axis 0 is that of the batch");
}

// ---- DeformConv --------------------------------------------------------------------------------

Floats numbers(std::size_t count) {
  Floats result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(static_cast<float>(i % 7) - 2);
  return result;
}

TEST(DeformConv, WithoutOffsetsIsAConvolution) {
  const Tensor x = floats({1, 4, 4, 5}, numbers(80)), weight = floats({2, 2, 2, 3}, numbers(24));
  const Tensor bias = floats({2}, {1, -1});
  const Shape pads = {1, 0, 0, 1}, strides = {2, 1}, dilations = {1, 2};
  const Attributes attributes = {
      {"pads", pads}, {"strides", strides}, {"dilations", dilations}, {"group", Dimension(2)}};
  const auto plain = run("Conv", {x, weight, bias}, attributes);
  ASSERT_TRUE(plain) << plain.error().message;
  const Sizes sizes = (*plain)[0].sizes();
  Attributes deformed = attributes;
  deformed.set("offset_group", Dimension(2));
  const std::int64_t windows = sizes[2] * sizes[3];
  const Tensor offset =
      floats({1, 24, sizes[2], sizes[3]}, Floats(static_cast<std::size_t>(24 * windows), 0));
  const Tensor mask =
      floats({1, 12, sizes[2], sizes[3]}, Floats(static_cast<std::size_t>(12 * windows), 1));
  EXPECT_EQ(reals_of(run("DeformConv", {x, weight, offset, bias, mask}, deformed)),
            reals_of(plain));
}

TEST(DeformConv, ReadsBetweenElements) {
  const Tensor x = floats({1, 1, 2, 2}, {0, 4, 8, 12}), weight = floats({1, 1, 1, 1}, {1});
  // Half a row and a quarter of a column further; 0 outside; and outside altogether.
  const Tensor offset = floats({1, 2, 2, 2}, {0.5, 0.5, 0, -1, 0.25, 0, 0.5, -3});
  EXPECT_EQ(reals_of(run("DeformConv", {x, weight, offset})), (Reals{5, 8, 10, 0}));
}

// ---- LinearAttention ---------------------------------------------------------------------------

Attributes linear_rule(std::string rule, std::int64_t queries = 1, std::int64_t heads = 1) {
  return {{"update_rule", std::move(rule)},
          {"q_num_heads", queries},
          {"kv_num_heads", heads},
          {"scale", 1.0}};
}

TEST(LinearAttention, UpdatesAMatrix) {
  const Tensor query = floats({1, 2, 1}, {1, 2}), key = floats({1, 2, 1}, {3, 5});
  const Tensor value = floats({1, 2, 1}, {1, 10}), past = floats({1, 1, 1, 1}, {7}), none;
  const Tensor decay = floats({1, 2, 1}, {0, static_cast<float>(std::log(0.5))});
  const Tensor beta = floats({1, 2, 1}, {0.5, 1});
  const auto linear = run("LinearAttention", {query, key, value, past}, linear_rule("linear"), 2);
  EXPECT_EQ(reals_of(linear), (Reals{10, 120}));
  EXPECT_EQ(reals_of(linear, 1), (Reals{60}));
  const auto gated =
      run("LinearAttention", {query, key, value, past, decay}, linear_rule("gated"), 2);
  EXPECT_NEAR(reals_of(gated)[1], 2 * (5 + 50), 1e-4);
  // 7 + 0.5 * 3 * (1 - 21) = -23, and -23 + 5 * (10 + 115) = 602.
  const auto delta =
      run("LinearAttention", {query, key, value, past, none, beta}, linear_rule("delta"), 2);
  EXPECT_EQ(reals_of(delta), (Reals{-23, 1204}));
}

TEST(LinearAttention, OfNoPositionKeepsTheState) {
  const Tensor nothing = floats({1, 0, 2}, {}), past = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto result =
      run("LinearAttention", {nothing, nothing, nothing, past}, linear_rule("linear"), 2);
  EXPECT_EQ(reals_of(result), Reals{});
  EXPECT_EQ(reals_of(result, 1), (Reals{1, 2, 3, 4}));
}

TEST(LinearAttention, DemandsWhatItsRuleReads) {
  const auto types = [](std::initializer_list<std::string_view> inputs, const std::string& rule) {
    return apply("LinearAttention", inputs, linear_rule(rule, 4, 2), 2).types;
  };
  const auto *const q = "f16[N, 3, 8]", *const k = "f16[N, 3, 4]", *const v = "f16[N, 3, 10]",
                    *const state = "f32[N, 2, 2, 5]";
  EXPECT_EQ(types({q, k, v}, "linear"), "f16[N, 3, 20], f16[N, 2, 2, 5]");
  EXPECT_EQ(types({q, k, v, state}, "linear"), "f16[N, 3, 20], f32[N, 2, 2, 5]");
  EXPECT_EQ(types({q, k, v, state, "f16[N, 3, 2]"}, "gated"), "f16[N, 3, 20], f32[N, 2, 2, 5]");
  EXPECT_EQ(types({q, k, v, state}, "gated"),
            "LinearAttention: the update rule 'gated' needs input 4");
  EXPECT_EQ(types({q, k, v, state, "f16[N, 3, 2]"}, "linear"),
            "LinearAttention: the update rule 'linear' does not read input 4");
  EXPECT_EQ(types({"f16[N, T, 8]", "f16[N, T, 4]", "f16[N, T, 10]"}, "linear"),
            "LinearAttention: a sequence of T");
  EXPECT_NE(types({q, k, v, "f32[N, 2, 5, 2]"}, "linear"), "f16[N, 3, 20], f32[N, 2, 5, 2]");
}

// ---- Training ----------------------------------------------------------------------------------

TEST(Training, TakesListsOfTensors) {
  const Tensor rate = floats({}, {0.5}), count = tensor<std::int64_t>(DataType::i64, {}, {0});
  const Tensor a = floats({1}, {1}), b = floats({2}, {2, 3});
  const Tensor da = floats({1}, {4}), db = floats({2}, {-2, 0});
  const Tensor va = floats({1}, {1}), vb = floats({2}, {0, 8});
  const Attributes attributes = {
      {"alpha", 0.5}, {"beta", 0.25}, {"norm_coefficient", 0.0}, {"mode", std::string("standard")}};
  const auto first = run("Momentum", {rate, count, a, b, da, db, va, vb}, attributes, 4);
  // At the first update beta is 1: momentum 0.5 v + g.
  EXPECT_EQ(reals_of(first, 0), (Reals{1 - 0.5 * 4.5}));
  EXPECT_EQ(reals_of(first, 1), (Reals{3, 1}));
  EXPECT_EQ(reals_of(first, 2), (Reals{4.5}));
  EXPECT_EQ(reals_of(first, 3), (Reals{-2, 4}));
  const Tensor later = tensor<std::int64_t>(DataType::i64, {}, {3});
  const auto second = run("Momentum", {rate, later, a, da, va}, attributes, 2);
  EXPECT_EQ(reals_of(second, 1), (Reals{1.5}));
}

TEST(Training, AdamCorrectsForMeansThatBeginAtZero) {
  const Tensor rate = floats({}, {0.5}), x = floats({1}, {3}), gradient = floats({1}, {4});
  const Tensor first = floats({1}, {2}), second = floats({1}, {0});
  const Attributes attributes = {{"alpha", 0.5}, {"beta", 0.75}, {"epsilon", 0.0}};
  const auto step = [&](std::int64_t count) {
    const Tensor updates = tensor<std::int64_t>(DataType::i64, {}, {count});
    return run("Adam", {rate, updates, x, gradient, first, second}, attributes, 3);
  };
  // Means 3 and 4: at the first update the rate is as given, at the one after it is 0.5 * sqrt(1 - 0.75) / (1 - 0.5).
  EXPECT_EQ(reals_of(step(0), 0), (Reals{3 - 0.5 * 3 / 2}));
  EXPECT_EQ(reals_of(step(1), 0), (Reals{3 - 0.5 * 3 / 2}));
  EXPECT_EQ(reals_of(step(1), 1), (Reals{3}));
  EXPECT_EQ(reals_of(step(1), 2), (Reals{4}));
  EXPECT_NEAR(reals_of(step(2), 0).front(), 3 - 0.5 * std::sqrt(0.4375) / 0.75 * 3 / 2, 1e-6);
}

TEST(Training, RefusesListsOfDifferentLengths) {
  EXPECT_NE(apply("Adagrad", {"f32[]", "i64[]", "f32[2]", "f32[2]", "f32[2]", "f32[2]"}, {}, 2)
                .types.find("lists of equal length"),
            std::string::npos);
  EXPECT_EQ(apply("Adagrad", {"f32[]", "i64[]", "f64[N]", "f64[N]", "f64[N]"}, {}, 2).types,
            "f64[N], f64[N]");
}

}  // namespace
}  // namespace lemma
