#include "plans/choice/alpa.h"

#include <gtest/gtest.h>

#include "plans/choice/choose.h"

namespace lemma::choice {
namespace {

using clusters::Collective;

/// A step of training of two layers without activations, with squares of differences as the loss.
NodeNumber two_layers(AlpaProblem& problem, std::int64_t batch, std::int64_t hidden) {
  const Tensor activations{{batch, hidden}, 4}, weights{{hidden, hidden}, 4};
  const NodeNumber x = problem.parameter(activations), y = problem.parameter(activations);
  const NodeNumber first = problem.parameter(weights), second = problem.parameter(weights);
  const NodeNumber inner = problem.product(x, first, 1, 0);
  const NodeNumber outer = problem.product(inner, second, 1, 0);
  const NodeNumber loss = problem.elementwise({problem.elementwise({outer, y})});
  const NodeNumber second_gradient = problem.product(inner, loss, 0, 0);
  const NodeNumber inner_gradient = problem.product(loss, second, 1, 1);
  const NodeNumber first_gradient = problem.product(x, inner_gradient, 0, 0);
  problem.bring(problem.elementwise({second, second_gradient}), second);
  problem.bring(problem.elementwise({first, first_gradient}), first);
  return inner;
}

AlpaOptions options_of(const MeshSizes& mesh, double beta) {
  AlpaOptions options{mesh, alpa_prices(mesh, {1, 1}, {1, beta}), {}, {}};
  options.resharding = [price = options.price](const Tensor& tensor, const Placement& from,
                                               const Placement& to) {
    return alpa_resharding(tensor, from, to, price);
  };
  return options;
}

TEST(Alpa, LargeBatchesShardTheBatchAndSmallOnesTheWeights) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const MeshSizes mesh = axis == 0 ? MeshSizes{4, 1} : MeshSizes{1, 4};
    const AlpaOptions options = options_of(mesh, 1);
    AlpaProblem data(options), model(options);
    two_layers(data, 1024, 128);
    const NodeNumber inner = two_layers(model, 128, 1024);
    ASSERT_TRUE(check_problem(data.tensors().problem()));
    const Outcome of_data = choose(data.tensors().problem());
    const Outcome of_model = choose(model.tensors().problem());
    EXPECT_TRUE(of_data.is_optimal() && of_model.is_optimal());
    EXPECT_NEAR(of_data.seconds, 2 * options.price(Collective::all_reduce, 128 * 128 * 4, axis),
                1e-6);
    EXPECT_NEAR(of_model.seconds, options.price(Collective::all_reduce, 128 * 1024 * 4, axis),
                1e-6);
    EXPECT_EQ(model.tensors().shardings(inner)[of_model.choice[inner]].result[axis], sharded(1));
  }
}

TEST(Alpa, TwoAxesShardBatchAndWeights) {
  const MeshSizes mesh = {4, 8};
  const AlpaOptions options = options_of(mesh, 0.01);
  AlpaProblem problem(options);
  two_layers(problem, 1024, 128);
  const Outcome outcome = choose(problem.tensors().problem());
  EXPECT_TRUE(outcome.is_optimal());
  EXPECT_NEAR(outcome.seconds,
              2 * options.price(Collective::all_reduce, 128 * 128 * 4 / 8, 0) +
                  options.price(Collective::all_reduce, 1024 * 128 * 4 / 4, 1),
              1e-6);
}

TEST(Alpa, ABatchAxisIsKept) {
  AlpaOptions options = options_of({4, 1}, 1);
  options.batch_axis = 0;
  AlpaProblem problem(options);
  const NodeNumber inner = two_layers(problem, 128, 1024);
  for (const Sharding& sharding : problem.tensors().shardings(inner))
    EXPECT_EQ(sharding.result[0], sharded(0));
  EXPECT_FALSE(problem.tensors().shardings(inner).empty());
}

TEST(Shardings, OfAProductAreAllCutsOfItsIndices) {
  const std::vector<Sharding> shardings = shardings_of({{{0, 2}, {2, 1}}, {0, 1}}, {4, 1});
  ASSERT_EQ(shardings.size(), 4U);
  const auto text = [](const Sharding& sharding) {
    return text_of(sharding.operands[0]) + ", " + text_of(sharding.operands[1]) + " -> " +
           text_of(sharding.result);
  };
  EXPECT_EQ(text(shardings[0]), "R R, R R -> R R");
  EXPECT_EQ(text(shardings[1]), "S0 R, R R -> S0 R");
  EXPECT_EQ(text(shardings[2]), "R R, S1 R -> S1 R");
  EXPECT_EQ(text(shardings[3]), "S1 R, S0 R -> P R");
  EXPECT_EQ(shardings_of({{{0, 2}, {2, 1}}, {0, 1}}, {4, 2}).size(), 16U);
}

/// Two products with an elementwise operator between them, the result wanted everywhere, and weights that do not fit as a whole.
TEST(TensorProblem, WeightsThatDoNotFitAreCutAsTheProductsNeedIt) {
  const clusters::Mesh mesh{"8", {{"device", 8, 1e-6, 400e9}}};
  const MeshSizes sizes = sizes_of(mesh);
  const CollectivePrice price = best_prices(mesh);
  TensorProblem tensors(sizes, cheapest_resharding(sizes, price));
  const Tensor x{{64, 1024}, 2}, inner{{64, 4096}, 2}, first{{1024, 4096}, 2},
      second{{4096, 1024}, 2};
  const auto parameter = [&](const Tensor& tensor) {
    return tensors.add(tensor, {}, shardings_of({{}, {0, 1}}, sizes));
  };
  const auto product = [&](const Tensor& tensor, NodeNumber left, NodeNumber right) {
    std::vector<Sharding> shardings = shardings_of({{{0, 2}, {2, 1}}, {0, 1}}, sizes);
    // The same work everywhere takes eight times as long.
    for (Sharding& sharding : shardings)
      sharding.seconds = sharding.operands[0] == sharding.operands[1] ? 8e-5 : 1e-5;
    return tensors.add(tensor, {left, right}, std::move(shardings));
  };
  const NodeNumber input = parameter(x), w1 = parameter(first), w2 = parameter(second);
  const NodeNumber middle = product(inner, input, w1);
  const NodeNumber relu = tensors.add(inner, {middle}, shardings_of({{{0, 1}}, {0, 1}}, sizes));
  const NodeNumber outer = product(x, relu, w2);
  tensors.add(x, {outer}, {{{{replicated}}, {replicated}, 0}});
  Problem& problem = tensors.problem();
  problem.limit = 4'000'000;  // both weights have 16 MB, and 2 MB in parts
  ASSERT_TRUE(check_problem(problem));
  const Outcome outcome = choose(problem);
  ASSERT_TRUE(outcome.is_optimal());
  const auto place = [&](NodeNumber node) {
    return text_of(tensors.shardings(node)[outcome.choice[node]].result);
  };
  EXPECT_EQ(place(w1), "S1");
  EXPECT_EQ(place(relu), "S1");
  EXPECT_EQ(place(w2), "S0");
  EXPECT_EQ(place(outer), "P");
  EXPECT_NEAR(outcome.seconds, 2e-5 + price(Collective::all_reduce, 64 * 1024 * 2, 0), 1e-12);
  problem.limit = 2'000'000;
  EXPECT_TRUE(choose(problem).is_impossible);
}

TEST(TensorProblem, MemoryCountsAtOnceOrUntilTheLastUse) {
  const MeshSizes mesh = {2};
  TensorProblem tensors(mesh,
                        [](const Tensor&, const Placement&, const Placement&) { return 1.0; });
  const Tensor tensor{{8}, 4};
  const Sharding whole{{{replicated}}, {replicated}, 0};
  NodeNumber last = tensors.add(tensor, {}, {{{}, {replicated}, 0}});
  for (int number = 0; number < 3; ++number) last = tensors.add(tensor, {last}, {whole});
  EXPECT_EQ(peak_of(tensors.problem(), {0, 0, 0, 0}), 4U * 32);
  tensors.use_moments();
  EXPECT_EQ(peak_of(tensors.problem(), {0, 0, 0, 0}), 2U * 32);
}

}  // namespace
}  // namespace lemma::choice
