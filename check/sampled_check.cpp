#include "check/sampled_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/deadline.h"
#include "check/check_inputs.h"
#include "check/judgement.h"
#include "check/native_constants.h"
#include "check/rounding_spread.h"
#include "facts/cut.h"
#include "facts/part.h"
#include "facts/same_structure.h"
#include "interpreter/compare.h"

namespace lemma {

namespace {

using interpreter::Domain;
using interpreter::NamedTensor;
using interpreter::Tensor;

constexpr std::int64_t element_limit = std::int64_t{1} << 28;
constexpr std::size_t sets_without_samples = 3;  // of random inputs, for another judge
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

/// The tolerance for the elements of `expected`; integers and the like must be equal anyway.
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
    const auto entry = positions.find(output.name);
    if (entry == positions.end())
      return internal_error(fmt::format("the output '{}' is missing", output.name));
    ordered.push_back(outputs[entry->second]);
  }
  return ordered;
}

interpreter::RunOptions options_for_run(const SampledCheckOptions& options, Domain domain) {
  interpreter::RunOptions result;
  result.domain = domain;
  result.threads = options.threads;
  result.deadline = options.deadline;
  result.cancelled = options.cancelled;
  result.in_order = options.bitwise;
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
  Graph cut;        // the original
  Graph reference;  // the part of it that can be computed
  SampledTolerance tolerance;
  std::vector<Sample> random, adversarial;
  SymbolSizes sizes;  // in random inputs
};

namespace {

bool has_input(const Graph& graph, std::string_view name) {
  return std::any_of(graph.inputs().begin(), graph.inputs().end(),
                     [&](NodeId id) { return graph.input_name(graph.node(id)) == name; });
}

/// A cut graph without the outputs that depend on texts, or on other values that are no numbers.
Result<Graph> computable_part(const Graph& cut) {
  const auto has_numbers = [&cut](const Node& input) {
    return is_computable(cut.type(input.output()).data_type);
  };
  const std::vector<bool> depends = depends_on_inputs(cut, std::not_fn(has_numbers));
  return with_outputs(
      cut, [&depends](const GraphOutput& output) { return !depends[output.value.v]; }, has_numbers);
}

/// Where an output of an uncut graph comes from, if that is an opaque node: its name and the number of its output.
std::string opaque_source(const Graph& graph, const std::string& output_name) {
  for (const GraphOutput& output : graph.outputs())
    if (output.name == output_name)
      if (const Node& node = graph.node(graph.producer(output.value));
          node.kind == NodeKind::opaque)
        return fmt::format("{}#{}", cut_name(graph.opaque(node)), graph.output_index(output.value));
  return "";
}

/// Two cut graphs, of which the parts that both can be computed are compared by computing, the rest by structure.
struct ComparableParts {
  Graph reference, changed;  // with the same outputs
};

/// An error: some output can be compared neither by computing nor by structure.
Result<ComparableParts> comparable_parts(const Graph& original, const Graph& cut,
                                         const Graph& reference, const Graph& candidate) {
  LEMMA_ASSIGN_OR_RETURN(const Graph changed, cut_at_opaque_nodes(candidate));
  // What an opaque operator gives may be known of one of the two graphs only.
  const std::vector<bool> depends = depends_on_inputs(changed, [&](const Node& input) {
    return !is_computable(changed.type(input.output()).data_type) ||
           !has_input(cut, changed.input_name(input));
  });
  std::set<std::string> computed;
  for (const GraphOutput& output : changed.outputs())
    if (!depends[output.value.v] && has_output(reference, output.name))
      computed.insert(output.name);
  const std::vector<std::string> different = differently_computed_outputs(cut, changed);
  const auto is_alike = [&](const std::string& name) {
    if (has_output(cut, name) && has_output(changed, name))
      return std::find(different.begin(), different.end(), name) == different.end();
    const std::string source = opaque_source(original, name);
    return !source.empty() && source == opaque_source(candidate, name);
  };
  for (const Graph* graph : {&cut, &changed})
    for (const GraphOutput& output : graph->outputs())
      if (!computed.contains(output.name) && !is_alike(output.name))
        return unsupported(fmt::format(
            "'{}' can be compared neither by computing it nor by how it is computed", output.name));
  const auto is_kept = [&computed](const GraphOutput& output) {
    return computed.contains(output.name);
  };
  ComparableParts parts;
  LEMMA_ASSIGN_OR_RETURN(parts.reference, with_outputs(reference, is_kept));
  LEMMA_ASSIGN_OR_RETURN(parts.changed, with_outputs(changed, is_kept));
  return parts;
}

/// What the sample gives for the outputs of a part of its graph.
std::vector<Tensor> expected_of(const Sample& sample, const Graph& whole, const Graph& part) {
  std::vector<Tensor> expected;
  for (std::size_t i = 0; i < whole.outputs().size(); ++i)
    if (has_output(part, whole.outputs()[i].name)) expected.push_back(sample.expected[i]);
  return expected;
}

/// The inputs that a graph has, of those given.
std::vector<NamedTensor> inputs_of(const Graph& graph, std::span<const NamedTensor> given) {
  std::vector<NamedTensor> inputs;
  for (const NamedTensor& input : given)
    if (has_input(graph, input.name)) inputs.push_back(input);
  return inputs;
}

}  // namespace

Result<std::shared_ptr<SampledReference::Samples>> SampledReference::without_samples(
    const Graph& original, const SampledCheckOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(Graph cut, cut_at_opaque_nodes(original));
  LEMMA_ASSIGN_OR_RETURN(Graph reference, computable_part(cut));
  return std::make_shared<Samples>(Samples{original,
                                           std::move(cut),
                                           std::move(reference),
                                           tolerance_for(original, options),
                                           {},
                                           {},
                                           {}});
}

Result<SampledReference> SampledReference::of_inputs(const Graph& original,
                                                     const SampledCheckOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const auto samples, without_samples(original, options));
  samples->sizes = sizes_to_try(original).front();
  for (const auto& [symbol, size] : options.sizes)
    samples->sizes.sizes.insert_or_assign(symbol, size);
  SampledReference result;
  result.samples_ = samples;
  return result;
}

bool SampledReference::is_computed() const { return !samples_->random.empty(); }

Result<SampledReference> SampledReference::compute(const Graph& original,
                                                   const SampledCheckOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(const auto samples, without_samples(original, options));
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

namespace {

/// Whether inputs have sizes that a graph admits. Results of opaque nodes are drawn here, and a file may declare that two of
/// them have a size in common: then a draw of other sizes says nothing of it.
bool admits_sizes(const Graph& graph, const std::vector<NamedTensor>& inputs) {
  const auto types = interpreter::input_types(graph, inputs);
  return !types ||
         interpreter::bind_symbols(graph, *types);  // a missing input is told when it is computed
}

/// Says what differs on one sample; empty if nothing counts. `check` takes the figures.
Result<std::string> difference_on(const Graph& original, const ComparableParts& parts,
                                  Sample sample, const SampledTolerance& tolerance,
                                  const SampledCheckOptions& options, SampledCheck& check) {
  auto outputs = interpreter::run(parts.changed, inputs_of(parts.changed, sample.inputs),
                                  options_for_run(options, sample.domain));
  // Too little time or memory says nothing about the candidate.
  if (!outputs && outputs.error().kind == ErrorKind::unsupported)
    return tl::unexpected(std::move(outputs.error()));
  if (!outputs) return "the result cannot be computed: " + outputs.error().message;
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> actual,
                         in_order_of(parts.reference, parts.changed, *outputs));
  if (options.bitwise) {
    for (std::size_t i = 0; i < actual.size(); ++i)
      if (const std::string bits = bit_difference(actual[i], sample.expected[i]); !bits.empty())
        return fmt::format("output '{}': {}", parts.reference.outputs()[i].name, bits);
    return std::string();
  }
  if (sample.domain == Domain::native) {
    SampledCheck on_this;
    compare_outputs(original, parts.reference, sample, actual, tolerance,
                    options_for_run(options, Domain::native), on_this);
    check.max_error = std::max(check.max_error, on_this.max_error);
    check.smallest_passing_scale =
        std::max(check.smallest_passing_scale, on_this.smallest_passing_scale);
    return on_this.difference;
  }
  const auto judged = [&](const Graph& reference, const std::vector<Tensor>& expected) {
    return Judgement({reference, parts.changed, tolerance, options.threads, options.deadline})
        .difference(sample.inputs, expected, actual);
  };
  std::string difference = judged(parts.reference, sample.expected);
  if (difference.empty()) return difference;
  // A constant that overflows its own type does so in the original, too.
  LEMMA_ASSIGN_OR_RETURN(const Graph native, with_native_constants(parts.reference));
  const auto expected =
      interpreter::run(native, sample.inputs, options_for_run(options, sample.domain));
  return expected && judged(native, *expected).empty() ? std::string() : difference;
}

}  // namespace

Result<SampledCheck> SampledReference::compare(const Graph& candidate,
                                               const SampledCheckOptions& options) const {
  LEMMA_ASSIGN_OR_RETURN(
      const ComparableParts parts,
      comparable_parts(samples_->original, samples_->cut, samples_->reference, candidate));
  SampledCheck check;
  for (const auto* samples : {&samples_->random, &samples_->adversarial})
    for (const Sample& sample : *samples) {
      const Sample part{inputs_of(parts.reference, sample.inputs),
                        expected_of(sample, samples_->reference, parts.reference), sample.domain,
                        sample.description};
      if (has_opaque_nodes(samples_->original) &&
          !admits_sizes(parts.changed, inputs_of(parts.changed, part.inputs)))
        continue;
      LEMMA_ASSIGN_OR_RETURN(
          const std::string difference,
          difference_on(samples_->original, parts, part, samples_->tolerance, options, check));
      ++(samples == &samples_->random ? check.samples : check.adversarial);
      if (difference.empty()) continue;
      check.passed = false;
      check.difference = fmt::format("{} ({})", difference, sample.description);
      return check;
    }
  if (check.samples + check.adversarial == 0 &&
      samples_->random.size() + samples_->adversarial.size() > 0)
    return unsupported("its opaque nodes give no sizes that all samples have");
  return check;
}

std::map<std::string, OutputAllowance> SampledReference::allowances(
    const SampledCheckOptions& options) const {
  std::map<std::string, OutputAllowance> result;
  if (has_opaque_nodes(samples_->original) || !is_computed()) return result;
  const Graph& graph = samples_->reference;
  const Sample& sample = samples_->random.front();
  const std::vector<OutputAllowance> allowed =
      output_allowances(graph, sample.inputs, sample.expected,
                        options_for_run(options, Domain::native), options.seed);
  for (std::size_t i = 0; i < allowed.size(); ++i)
    result.emplace(graph.outputs()[i].name, allowed[i]);
  return result;
}

std::vector<std::vector<NamedTensor>> SampledReference::inputs_for_second_judge(
    std::size_t most, const SampledCheckOptions& options) const {
  std::vector<std::vector<NamedTensor>> sets;
  const auto& graph_inputs = samples_->original.inputs();
  const bool has_other_inputs =
      std::any_of(graph_inputs.begin(), graph_inputs.end(), [this](NodeId id) {
        return !has_input(samples_->reference,
                          samples_->original.input_name(samples_->original.node(id)));
      });
  if (has_opaque_nodes(samples_->original) || has_other_inputs || !is_computed()) {
    for (std::size_t i = 0; i < (is_computed() ? 1 : std::min(most, sets_without_samples)); ++i) {
      InputPlan plan;
      plan.size = samples_->sizes.size;
      plan.sizes = samples_->sizes.sizes;
      plan.seed = options.seed + i;
      auto inputs = make_inputs(samples_->original, plan, {}, element_limit);
      if (inputs) sets.push_back(std::move(*inputs));
    }
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
