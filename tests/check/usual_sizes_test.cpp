#include "check/usual_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/graph_text.h"

namespace lemma {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

/// Of a graph that hands its inputs on.
UsualSizes sizes(const std::vector<std::string>& inputs) {
  std::string text = "graph \"g\"\n", outputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    text += "  input %" + std::to_string(i) + " " + inputs[i] + "\n";
    outputs += "  output \"o" + std::to_string(i) + "\" = %" + std::to_string(i) + "\n";
  }
  auto graph = parse_graph(text + outputs);
  EXPECT_TRUE(graph) << (graph ? "" : graph.error().message);
  return usual_sizes(*graph);
}

TEST(UsualSizes, AreByName) {
  EXPECT_THAT(sizes({R"("x" : f32[batch_size, channels, height, width])"}).typical,
              ElementsAre(Pair("batch_size", 1), Pair("channels", 3), Pair("height", 224),
                          Pair("width", 224)));
  EXPECT_THAT(sizes({R"("x" : i64[N, sequence_length])"}).typical,
              ElementsAre(Pair("N", 1), Pair("sequence_length", 128)));
  EXPECT_THAT(sizes({R"("x" : f32[num_images, 8])"}).typical, ElementsAre(Pair("num_images", 1)));
  EXPECT_THAT(sizes({R"("x" : f32[samples])"}).typical, ElementsAre(Pair("samples", 16000)));
  EXPECT_THAT(sizes({R"("x" : f32[frames, 80])"}).typical, ElementsAre(Pair("frames", 100)));
}

TEST(UsualSizes, AreByRankAndTypeWhereThereIsNoName) {
  EXPECT_THAT(sizes({R"("image" : f32[image_0, 3, image_2, image_3])"}).typical,
              ElementsAre(Pair("image_0", 1), Pair("image_2", 224), Pair("image_3", 224)));
  EXPECT_THAT(sizes({R"("x" : f32[x_0, x_1, x_2, 3])"}).typical,
              ElementsAre(Pair("x_0", 1), Pair("x_1", 224), Pair("x_2", 224)));
  EXPECT_THAT(sizes({R"("ids" : i64[ids_0, ids_1])"}).typical,
              ElementsAre(Pair("ids_0", 1), Pair("ids_1", 128)));
  EXPECT_THAT(sizes({R"("mel" : f32[mel_0, mel_1, 80])"}).typical,
              ElementsAre(Pair("mel_0", 1), Pair("mel_1", 100)));
}

TEST(UsualSizes, OfSumsAreSums) {
  EXPECT_THAT(
      sizes({R"("ids" : i64[batch, sequence])", R"("mask" : i64[batch, past_sequence___sequence])",
             R"("past" : f32[batch, 4, past_sequence, 64])"})
          .typical,
      ElementsAre(Pair("batch", 1), Pair("past_sequence", 128),
                  Pair("past_sequence___sequence", 256), Pair("sequence", 128)));
  EXPECT_THAT(sizes({R"("mask" : i64[1, past___1])"}).other, ElementsAre(Pair("past___1", 33)));
}

TEST(UsualSizes, OfTheOtherKindDiffer) {
  const UsualSizes image = sizes({R"("x" : f32[n, 3, h, w])"});
  EXPECT_THAT(image.other, ElementsAre(Pair("h", 320), Pair("n", 1), Pair("w", 320)));
  // Where only the batch is open, that is what varies.
  const UsualSizes batch = sizes({R"("x" : f32[n, 3, 8, 8])"});
  EXPECT_THAT(batch.typical, ElementsAre(Pair("n", 1)));
  EXPECT_THAT(batch.other, ElementsAre(Pair("n", 4)));
}

TEST(UsualSizes, AreMadeSmallerInStepsThatNetworksTake) {
  EXPECT_THAT(
      smaller_sizes({{"h", 224}, {"n", 1}, {"s", 128}, {"t", 100}, {"w", 32}}),
      ElementsAre(Pair("h", 96), Pair("n", 1), Pair("s", 64), Pair("t", 32), Pair("w", 32)));
}

TEST(UsualSizes, OfFixedInputsAreNone) {
  EXPECT_THAT(sizes({R"("x" : f32[2, 3])"}).typical, IsEmpty());
}

}  // namespace
}  // namespace lemma
