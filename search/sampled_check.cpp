#include "search/sampled_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "ir/cut.h"
#include "ir/interpreter/compare.h"
#include "ir/interpreter/random.h"
#include "ir/interpreter/run.h"

namespace lemma {

namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

/// Values for all symbols. Sizes that the model relates to each other are often equal, so one
/// value for all comes first.
constexpr std::array<std::int64_t, 8> symbol_sizes = {2, 3, 4, 1, 8, 16, 64, 224};
constexpr std::int64_t element_limit = std::int64_t{1} << 28;

Result<std::vector<NamedTensor>> random_inputs(const Graph& graph, std::int64_t symbol_size,
                                               std::uint64_t seed) {
  std::vector<NamedTensor> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const TensorType& type = graph.type(node.output());
    const std::string& name = graph.input_name(node);
    if (!type.is_known())
      return unsupported(fmt::format("input '{}' has the type {}", name, text(type)));
    interpreter::Sizes sizes;
    for (const Dimension& dimension : *type.shape) {
      std::map<std::string, int> symbols;
      collect_symbols(dimension, symbols);
      DimensionBindings bindings;
      for (const auto& [symbol, count] : symbols) bindings.emplace(symbol, Dimension(symbol_size));
      sizes.push_back(substitute(dimension, bindings).constant().value_or(-1));
      if (sizes.back() < 0) return unsupported(fmt::format("input '{}' has no valid size", name));
    }
    const Dimension count = element_count(Shape(sizes.begin(), sizes.end()));
    if (!count.is_valid() || count.offset() > element_limit)
      return unsupported(fmt::format("input '{}' is too large to be sampled", name));
    inputs.push_back({name, interpreter::random_tensor(type.data_type, sizes, seed,
                                                       interpreter::stream_of(name))});
  }
  return inputs;
}

struct Sample {
  std::vector<NamedTensor> inputs;
  std::vector<Tensor> expected;
};

bool has_output(const Graph& graph, const std::string& name) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                     [&name](const GraphOutput& output) { return output.name == name; });
}

/// Inputs on which the original can be computed, and what it gives.
Result<Sample> sample(const Graph& original, std::uint64_t seed,
                      const interpreter::RunOptions& run_options) {
  tl::unexpected<Error> last = unsupported("no sizes were tried");
  for (const std::int64_t size : symbol_sizes) {
    LEMMA_ASSIGN_OR_RETURN(std::vector<NamedTensor> inputs, random_inputs(original, size, seed));
    auto outputs = interpreter::run(original, inputs, run_options);
    if (outputs) return Sample{std::move(inputs), std::move(*outputs)};
    last = tl::unexpected<Error>(std::move(outputs.error()));
    if (run_options.deadline && std::chrono::steady_clock::now() > *run_options.deadline) break;
  }
  return last;
}

double largest_magnitude(const Tensor& tensor) {
  double largest = 0;
  if (!is_real(tensor.data_type())) return largest;
  for (const double value : tensor.reals())
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

/// `original` is cut; its outputs that are not those of `model` are inside of the model.
void compare_outputs(const Graph& model, const Graph& original, const Sample& sample,
                     const std::vector<Tensor>& actual, const interpreter::Tolerance& tolerance,
                     SampledCheck& check) {
  for (std::size_t i = 0; i < sample.expected.size(); ++i) {
    interpreter::Tolerance allowed = tolerance;
    if (!has_output(model, original.outputs()[i].name))
      allowed.absolute += tolerance.relative * largest_magnitude(sample.expected[i]);
    const auto comparison = interpreter::compare(actual[i], sample.expected[i], allowed);
    check.max_error = std::max(check.max_error, comparison.max_absolute_error);
    check.smallest_passing_scale =
        std::max(check.smallest_passing_scale, comparison.tolerance_factor);
    if (comparison.equal || !check.passed) continue;
    check.passed = false;
    check.difference = fmt::format(
        "output '{}': {}", original.outputs()[i].name,
        comparison.type_difference.empty() ? comparison.description : comparison.type_difference);
  }
}

/// The outputs of `graph` in the order of those of `model`, matched by name: opaque nodes may be
/// met in another order.
Result<std::vector<Tensor>> in_order_of(const Graph& model, const Graph& graph,
                                        const std::vector<Tensor>& outputs) {
  std::map<std::string, std::size_t> positions;
  for (std::size_t i = 0; i < graph.outputs().size(); ++i)
    positions.emplace(graph.outputs()[i].name, i);
  std::vector<Tensor> ordered;
  for (const GraphOutput& output : model.outputs()) {
    const auto found = positions.find(output.name);
    if (found == positions.end())
      return internal_error(fmt::format("the output '{}' is missing", output.name));
    ordered.push_back(outputs[found->second]);
  }
  return ordered;
}

interpreter::RunOptions options_for_run(const SampledCheckOptions& options) {
  interpreter::RunOptions result;
  result.threads = options.threads;
  result.deadline = options.deadline;
  return result;
}

}  // namespace

struct SampledReference::Samples {
  const Graph& original;
  Graph reference;  // cut
  std::vector<Sample> drawn;
};

Result<SampledReference> SampledReference::compute(const Graph& original,
                                                   const SampledCheckOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(Graph reference, cut_at_opaque_nodes(original));
  const auto samples = std::make_shared<Samples>(Samples{original, std::move(reference), {}});
  for (int i = 0; i < options.samples; ++i) {
    LEMMA_ASSIGN_OR_RETURN(Sample drawn,
                           sample(samples->reference, options.seed + static_cast<std::uint64_t>(i),
                                  options_for_run(options)));
    samples->drawn.push_back(std::move(drawn));
  }
  SampledReference result;
  result.samples_ = samples;
  return result;
}

Result<SampledCheck> SampledReference::compare(const Graph& candidate,
                                               const SampledCheckOptions& options) const {
  LEMMA_ASSIGN_OR_RETURN(const Graph changed, cut_at_opaque_nodes(candidate));
  const interpreter::Tolerance tolerance{options.absolute_tolerance, options.relative_tolerance};
  SampledCheck check;
  for (const Sample& drawn : samples_->drawn) {
    auto outputs = interpreter::run(changed, drawn.inputs, options_for_run(options));
    // Too little time or memory says nothing about the candidate.
    if (!outputs && outputs.error().kind == ErrorKind::unsupported)
      return tl::unexpected(std::move(outputs.error()));
    ++check.samples;
    if (!outputs) {
      check.passed = false;
      check.difference = "the result cannot be computed: " + outputs.error().message;
      return check;
    }
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> actual,
                           in_order_of(samples_->reference, changed, *outputs));
    compare_outputs(samples_->original, samples_->reference, drawn, actual, tolerance, check);
  }
  return check;
}

Result<SampledCheck> compare_on_random_inputs(const Graph& original, const Graph& candidate,
                                              const SampledCheckOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const SampledReference reference,
                         SampledReference::compute(original, options));
  return reference.compare(candidate, options);
}

}  // namespace lemma
