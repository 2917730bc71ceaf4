// Speed of the interpreter on the two contractions that dominate vision and language models.

#include <benchmark/benchmark.h>

#include "interpreter/evaluate.h"
#include "interpreter/random.h"
#include "tests/interpreter/definitions.h"

namespace {

using namespace lemma;
using namespace lemma::interpreter;

void measure(benchmark::State& state, const Definition& definition,
             const std::vector<Tensor>& inputs, std::int64_t products) {
  EvaluationOptions options;
  options.threads = static_cast<int>(state.range(0));
  for (auto _ : state) {
    const auto outputs = evaluate(definition, inputs, options);
    if (!outputs) state.SkipWithError(outputs.error().message.c_str());
    benchmark::DoNotOptimize(outputs->front().bytes().data());
  }
  state.counters["FLOP/s"] = benchmark::Counter(
      2.0 * static_cast<double>(products * state.iterations()), benchmark::Counter::kIsRate);
}

void convolution_64x56x56_3x3(benchmark::State& state) {
  ConvolutionSizes sizes;
  sizes.channels = sizes.outputs = 64;
  sizes.height = sizes.width = 56;
  measure(state, convolution_definition(DataType::f32, sizes),
          {random_tensor(DataType::f32, data_sizes(sizes), 1),
           random_tensor(DataType::f32, weight_sizes(sizes), 2)},
          64LL * 64 * 9 * 56 * 56);
}
BENCHMARK(convolution_64x56x56_3x3)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void product_128x768x768(benchmark::State& state) {
  measure(
      state, product_definition(DataType::f32, 1, 128, 768, 768),
      {random_tensor(DataType::f32, {1, 128, 768}, 1), random_tensor(DataType::f32, {768, 768}, 2)},
      128LL * 768 * 768);
}
BENCHMARK(product_128x768x768)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void relu_64x112x112(benchmark::State& state) {
  DefinitionBuilder d;
  const auto axes = d.variables({64, 112, 112});
  d.output(axes, maximum(d.read(0, DataType::f32, axes), d.real(0, DataType::f32)));
  measure(state, std::move(d).finish(), {random_tensor(DataType::f32, {64, 112, 112}, 1)},
          64LL * 112 * 112);
}
BENCHMARK(relu_64x112x112)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
