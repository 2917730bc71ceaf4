#include "check/sampled_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "base/deadline.h"
#include "check/check_inputs.h"
#include "check/judgement.h"
#include "check/rounding_spread.h"
#include "facts/cut.h"
#include "interpreter/compare.h"

namespace lemma {

namespace {

using interpreter::Domain;
using interpreter::NamedTensor;
using interpreter::Tensor;

constexpr std::int64_t element_limit = std::int64_t{1} << 28;
constexpr std::int64_t adversarial_element_limit = std::int64_t{1} << 22;  // of symbolic shapes

struct Sample {
  std::vector<NamedTensor> inputs;
  std::vector<Tensor> expected;
  Domain domain = Domain::native;
  std::string description;
};

bool has_output(const Graph& graph, const std::string& name) {
  return std::any_of(graph.outputs().begin(), graph.outputs().end(),
                     [&name](const GraphOutput& output) { return output.name == name; });
}

/// Random inputs on which the original can be computed, and what it gives; `sizes` are those taken
/// for symbols.
Result<Sample> random_sample(const Graph& original, std::uint64_t seed,
                             const std::map<std::string, std::int64_t, std::less<>>& given,
                             const interpreter::RunOptions& run_options, SymbolSizes& sizes) {
  std::optional<Error> first;
  for (SymbolSizes tried : sizes_to_try(original)) {
    for (const auto& [symbol, size] : given) tried.sizes.insert_or_assign(symbol, size);
    InputPlan plan;
    plan.size = tried.size;
    plan.sizes = tried.sizes;
    plan.seed = seed;
    auto inputs = make_inputs(original, plan, {}, element_limit);
    auto outputs = inputs ? interpreter::run(original, *inputs, run_options)
                          : tl::unexpected<Error>(std::move(inputs.error()));
    sizes = tried;
    if (outputs)
      return Sample{std::move(*inputs), std::move(*outputs), Domain::native, "random numbers"};
    if (!first) first = std::move(outputs.error());
    if (run_options.deadline && std::chrono::steady_clock::now() > *run_options.deadline) break;
  }
  return tl::unexpected<Error>(std::move(*first));
}

/// For the elements of `expected`; integers and the like must be equal anyway.
interpreter::Tolerance tolerance_of(const Tensor& expected, const SampledTolerance& tolerance) {
  const bool real = is_real(expected.data_type());
  return tolerance_of_output(tolerance, real ? expected.reals() : std::vector<double>{});
}

/// `actual`, but as expected where that is no finite number: nothing is asked there.
Tensor where_finite(const Tensor& actual, const Tensor& expected) {
  if (!is_real(expected.data_type()) || !(actual.type() == expected.type())) return actual;
  std::vector<double> elements = actual.reals();
  const std::vector<double> wanted = expected.reals();
  bool changed = false;
  for (std::size_t i = 0; i < elements.size(); ++i)
    if (!std::isfinite(wanted[i])) elements[i] = wanted[i], changed = true;
  return changed ? Tensor::from_reals(actual.data_type(), actual.sizes(), elements) : actual;
}

/// What rounding moves the outputs of an original by, measured once one of them differs.
class RoundingExcuse {
 public:
  RoundingExcuse(const Graph& original, const Sample& sample,
                 const interpreter::RunOptions& options)
      : original_(original), sample_(sample), options_(options) {}

  /// Whether output i differs by no more than that.
  bool covers(std::size_t i, const Tensor& actual) {
    const Tensor& expected = sample_.expected[i];
    if (!is_real(expected.data_type()) || !(actual.type() == expected.type())) return false;
    if (!spreads_)
      spreads_ = measure_rounding_spread(original_, sample_.inputs, sample_.expected, options_, 0);
    if (!*spreads_) return false;
    OutputAllowance allowed{allowance_for(expected.data_type(), (**spreads_)[i]), 0};
    allowed.relative = relative_allowance(narrowest_real_type(original_));
    return is_within(actual, expected, allowed);
  }

 private:
  const Graph& original_;
  const Sample& sample_;
  const interpreter::RunOptions& options_;
  std::optional<Result<std::vector<RoundingSpread>>> spreads_;
};

/// `original` is cut; its outputs that are not those of `model` are inside of the model. Where no tolerances were given,
/// differences that rounding explains count as none.
void compare_outputs(const Graph& model, const Graph& original, const Sample& sample,
                     const std::vector<Tensor>& actual, const SampledTolerance& tolerance,
                     const interpreter::RunOptions& options, SampledCheck& check) {
  RoundingExcuse excuse(original, sample, options);
  for (std::size_t i = 0; i < sample.expected.size(); ++i) {
    SampledTolerance allowed = tolerance;
    if (!has_output(model, original.outputs()[i].name)) allowed.of_largest = true;
    const Tensor compared = where_finite(actual[i], sample.expected[i]);
    const auto comparison = interpreter::compare(compared, sample.expected[i],
                                                 tolerance_of(sample.expected[i], allowed));
    const bool is_excused =
        !comparison.equal && tolerance.knows_scale() && excuse.covers(i, compared);
    if (is_excused) {
      check.max_error = std::max(check.max_error, comparison.max_absolute_error);
      continue;
    }
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

/// The first element whose bits differ; empty if there is none.
std::string bit_difference(const Tensor& actual, const Tensor& expected) {
  if (!(actual.type() == expected.type()))
    return fmt::format("the tensor is {}, not {}", text(actual.type()), text(expected.type()));
  if (actual == expected || !is_computable(actual.data_type())) return "";
  const std::vector<double> a = actual.reals(), e = expected.reals();
  const std::size_t size = actual.element_size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&actual.bytes()[i * size], &expected.bytes()[i * size], size) == 0) continue;
    if (!std::isnan(a[i]) || !std::isnan(e[i]))
      return fmt::format("element {} has other bits: {}, not {}", i, a[i], e[i]);
  }
  return "";
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

interpreter::RunOptions options_for_run(const SampledCheckOptions& options, Domain domain) {
  interpreter::RunOptions result;
  result.domain = domain;
  result.threads = options.threads;
  result.deadline = options.deadline;
  return result;
}

/// Whether the results move by less than a quarter of the tolerance when the inputs change by one rounding.
/// Where they do not (a Softmax of large numbers that are nearly equal), another order of the same roundings
/// gives something else, and a comparison in the model's own types says nothing.
bool is_well_conditioned(const Graph& graph, const Sample& sample,
                         const SampledTolerance& tolerance, const SampledCheckOptions& options) {
  constexpr std::uint64_t runs = 2;
  if (sample.domain != Domain::f64) return true;
  const double rounding = unit_roundoff(narrowest_real_type(graph));
  SampledTolerance quarter = tolerance;
  quarter.relative /= 4;
  quarter.rounding /= 4;
  for (std::uint64_t seed = 0; seed < runs; ++seed) {
    const auto outputs = interpreter::run(graph, disturbed(sample.inputs, seed, rounding),
                                          options_for_run(options, Domain::f64));
    if (!outputs) return false;
    for (std::size_t k = 0; k < outputs->size(); ++k) {
      const Tensor& expected = sample.expected[k];
      if (!interpreter::compare((*outputs)[k], expected, tolerance_of(expected, quarter)).equal)
        return false;
    }
  }
  return true;
}

}  // namespace

struct SampledReference::Samples {
  const Graph& original;
  Graph reference;  // cut
  SampledTolerance tolerance;
  std::vector<Sample> random, adversarial;
  SymbolSizes sizes;  // in random inputs
};

namespace {

bool has_input(const Graph& graph, std::string_view name) {
  return std::any_of(graph.inputs().begin(), graph.inputs().end(),
                     [&](NodeId id) { return graph.input_name(graph.node(id)) == name; });
}

}  // namespace

Result<SampledReference> SampledReference::compute(const Graph& original,
                                                   const SampledCheckOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(Graph reference, cut_at_opaque_nodes(original));
  const auto samples = std::make_shared<Samples>(
      Samples{original, std::move(reference), tolerance_for(original, options), {}, {}, {}});
  SymbolSizes& sizes = samples->sizes;
  for (int i = 0; i < options.samples; ++i) {
    LEMMA_ASSIGN_OR_RETURN(
        Sample drawn,
        random_sample(samples->reference, options.seed + static_cast<std::uint64_t>(i),
                      options.sizes, options_for_run(options, Domain::native), sizes));
    samples->random.push_back(std::move(drawn));
  }
  const std::vector<double> limits = limits_of(samples->reference);
  const Deadline enough = Deadline::after(options.adversarial_seconds);
  for (InputPlan& plan :
       adversarial_plans(samples->reference, sizes.size, limits, options.bitwise, options.seed)) {
    if (plan.size == sizes.size && plan.sizes.empty()) plan.sizes = sizes.sizes;
    for (const auto& [symbol, size] : options.sizes) plan.sizes.insert_or_assign(symbol, size);
    const bool first = samples->adversarial.empty();
    if (static_cast<int>(samples->adversarial.size()) >= options.adversarial) break;
    if (!first && enough.passed()) break;
    if (options.deadline && std::chrono::steady_clock::now() > *options.deadline) break;
    auto inputs = make_inputs(samples->reference, plan, limits,
                              first ? element_limit : adversarial_element_limit);
    if (!inputs) continue;
    const Domain domain = options.bitwise ? Domain::native : Domain::f64;
    auto outputs = interpreter::run(samples->reference, *inputs, options_for_run(options, domain));
    if (!outputs) continue;
    samples->adversarial.push_back(
        {std::move(*inputs), std::move(*outputs), domain, describe(plan)});
  }
  SampledReference result;
  result.samples_ = samples;
  return result;
}

Result<SampledCheck> SampledReference::compare(const Graph& candidate,
                                               const SampledCheckOptions& options) const {
  LEMMA_ASSIGN_OR_RETURN(const Graph changed, cut_at_opaque_nodes(candidate));
  const Graph& reference = samples_->reference;
  // What an opaque operator gives may be known of one of the two graphs only.
  for (const NodeId id : changed.inputs())
    if (!has_input(reference, changed.input_name(changed.node(id))))
      return unsupported(fmt::format("the original does not tell what '{}' is",
                                     changed.input_name(changed.node(id))));
  SampledCheck check;
  const auto fail = [&check](const Sample& sample, const std::string& difference) {
    if (!check.passed || difference.empty()) return;
    check.passed = false;
    check.difference = fmt::format("{} ({})", difference, sample.description);
  };
  for (const auto* samples : {&samples_->random, &samples_->adversarial})
    for (const Sample& sample : *samples) {
      if (!check.passed) return check;
      auto outputs =
          interpreter::run(changed, sample.inputs, options_for_run(options, sample.domain));
      // Too little time or memory says nothing about the candidate.
      if (!outputs && outputs.error().kind == ErrorKind::unsupported)
        return tl::unexpected(std::move(outputs.error()));
      ++(samples == &samples_->random ? check.samples : check.adversarial);
      if (!outputs) {
        fail(sample, "the result cannot be computed: " + outputs.error().message);
        continue;
      }
      LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> actual,
                             in_order_of(reference, changed, *outputs));
      if (options.bitwise) {
        for (std::size_t i = 0; i < actual.size(); ++i) {
          const std::string difference = bit_difference(actual[i], sample.expected[i]);
          if (!difference.empty())
            fail(sample, fmt::format("output '{}': {}", reference.outputs()[i].name, difference));
        }
      } else if (sample.domain == Domain::native) {
        compare_outputs(samples_->original, reference, sample, actual, samples_->tolerance,
                        options_for_run(options, Domain::native), check);
      } else {
        const Judgement judgement(
            {reference, changed, samples_->tolerance, options.threads, options.deadline});
        fail(sample, judgement.difference(sample.inputs, sample.expected, actual));
      }
    }
  return check;
}

std::vector<std::vector<NamedTensor>> SampledReference::inputs_for_second_judge(
    std::size_t most, const SampledCheckOptions& options) const {
  std::vector<std::vector<NamedTensor>> sets;
  if (has_opaque_nodes(samples_->original)) {
    InputPlan plan;
    plan.size = samples_->sizes.size;
    plan.sizes = samples_->sizes.sizes;
    plan.seed = options.seed;
    auto inputs = make_inputs(samples_->original, plan, {}, element_limit);
    if (inputs) sets.push_back(std::move(*inputs));
    return sets;
  }
  for (const Sample& sample : samples_->random)
    if (sets.size() < most) sets.push_back(sample.inputs);
  for (const Sample& sample : samples_->adversarial) {
    if (sets.size() >= most) break;
    if (options.deadline && std::chrono::steady_clock::now() > *options.deadline) break;
    TraceOptions traced;
    traced.domain = Domain::native;
    traced.threads = options.threads;
    traced.deadline = options.deadline;
    const auto run = trace(samples_->reference, sample.inputs, traced);
    if (run && !run->has_undefined &&
        is_well_conditioned(samples_->reference, sample, samples_->tolerance, options))
      sets.push_back(sample.inputs);
  }
  return sets;
}

Result<SampledCheck> compare_on_random_inputs(const Graph& original, const Graph& candidate,
                                              const SampledCheckOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const SampledReference reference,
                         SampledReference::compute(original, options));
  return reference.compare(candidate, options);
}

}  // namespace lemma
