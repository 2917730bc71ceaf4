#include "check/judgement.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include <fmt/format.h>

#include "interpreter/random.h"

namespace lemma {

using interpreter::Domain;
using interpreter::NamedTensor;
using interpreter::Tensor;

namespace {

constexpr std::uint64_t border_runs = 3;
constexpr double border_change = 1e-6;  // the 20th bit or so

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace

std::vector<NamedTensor> disturbed(std::span<const NamedTensor> inputs, std::uint64_t seed,
                                   double change) {
  std::vector<NamedTensor> result(inputs.begin(), inputs.end());
  for (std::size_t k = 0; k < result.size(); ++k) {
    Tensor& tensor = result[k].value;
    if (!is_real(tensor.data_type())) continue;
    std::vector<double> elements = tensor.reals();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::uint64_t word = interpreter::random_word(seed, 77 + k, i);
      elements[i] *=
          1 + static_cast<double>(static_cast<std::int64_t>(word % 2001) - 1000) * 1e-3 * change;
    }
    // In f64, so that the change is not rounded away.
    Tensor same = Tensor::uninitialized(tensor.data_type(), tensor.sizes(), Domain::f64);
    std::memcpy(same.writable_bytes().data(), elements.data(), elements.size() * sizeof(double));
    tensor = std::move(same);
  }
  return result;
}

/// An element that differs at first sight.
struct Judgement::Suspect {
  std::size_t output, element;
  double expected, actual;
  bool real;       // otherwise an integer or a boolean
  double allowed;  // of the difference
};

TraceOptions Judgement::trace_options() const {
  TraceOptions options;
  options.threads = sides_.threads;
  options.deadline = sides_.deadline;
  return options;
}

std::vector<Judgement::Suspect> Judgement::suspects(const std::vector<Tensor>& expected,
                                                    const std::vector<Tensor>& actual) const {
  std::vector<Suspect> result;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    if (!is_computable(expected[k].data_type())) continue;
    const std::vector<double> e = expected[k].reals(), a = actual[k].reals();
    const bool real = is_real(expected[k].data_type());
    const double largest = real ? largest_of(e) : 0;
    for (std::size_t i = 0; i < e.size(); ++i) {
      if (std::isnan(e[i]) || e[i] == a[i]) continue;
      const double share = sides_.tolerance.of_largest ? largest : 0.01 * largest;
      const double allowed = real ? sides_.tolerance.relative * (std::abs(e[i]) + share) : 0;
      if (std::isfinite(e[i]) && std::abs(e[i] - a[i]) <= allowed) continue;
      result.push_back({k, i, e[i], a[i], real, allowed});
    }
  }
  return result;
}

Result<void> Judgement::drop_undefined(std::span<const NamedTensor> inputs,
                                       std::vector<Suspect>& suspects) const {
  LEMMA_ASSIGN_OR_RETURN(const auto defined,
                         defined_elements(sides_.original, inputs, trace_options()));
  std::erase_if(suspects, [&](const Suspect& s) { return !defined[s.output][s.element]; });
  return {};
}

Result<void> Judgement::drop_rounding(std::span<const NamedTensor> inputs,
                                      std::vector<Suspect>& suspects) const {
  TraceOptions options = trace_options();
  LEMMA_ASSIGN_OR_RETURN(const TracedRun changed, trace(sides_.changed, inputs, options));
  options.replacements = 2;  // small ones: an element near 1/0 is no measure of the others
  LEMMA_ASSIGN_OR_RETURN(const TracedRun original, trace(sides_.original, inputs, options));
  const double roundoff = sides_.tolerance.relative / 1024;
  const double excused = roundoff * std::max(changed.largest, original.largest);
  std::erase_if(suspects, [&](const Suspect& s) {
    if (!std::isfinite(s.expected)) return false;
    if (!std::isfinite(s.actual)) return changed.overflowed;
    return s.real && std::abs(s.expected - s.actual) <= s.allowed + excused;
  });
  return {};
}

Result<bool> Judgement::depends_on_precision(const Graph& graph,
                                             std::span<const NamedTensor> inputs) const {
  TraceOptions options = trace_options();
  LEMMA_ASSIGN_OR_RETURN(const TracedRun wide, trace(graph, inputs, options));
  options.domain = Domain::native;
  LEMMA_ASSIGN_OR_RETURN(const TracedRun narrow, trace(graph, inputs, options));
  return wide.fingerprint != narrow.fingerprint;
}

Result<std::vector<Tensor>> Judgement::outputs_of_changed(
    std::span<const NamedTensor> inputs) const {
  LEMMA_ASSIGN_OR_RETURN(const TracedRun run, trace(sides_.changed, inputs, trace_options()));
  std::map<std::string, std::size_t> positions;
  for (std::size_t i = 0; i < sides_.changed.outputs().size(); ++i)
    positions.emplace(sides_.changed.outputs()[i].name, i);
  std::vector<Tensor> ordered;
  for (const GraphOutput& output : sides_.original.outputs())
    ordered.push_back(run.outputs[positions.at(output.name)]);
  return ordered;
}

Result<void> Judgement::drop_borders(std::span<const NamedTensor> inputs,
                                     std::vector<Suspect>& suspects_at) const {
  LEMMA_ASSIGN_OR_RETURN(const bool original, depends_on_precision(sides_.original, inputs));
  LEMMA_ASSIGN_OR_RETURN(const bool changed, depends_on_precision(sides_.changed, inputs));
  if (!original && !changed) return {};
  std::vector<bool> stays(suspects_at.size(), false);
  for (std::uint64_t seed = 0; seed < border_runs; ++seed) {
    const std::vector<NamedTensor> near = disturbed(inputs, seed, border_change);
    LEMMA_ASSIGN_OR_RETURN(const TracedRun expected, trace(sides_.original, near, trace_options()));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> actual, outputs_of_changed(near));
    const std::vector<Suspect> suspected = suspects(expected.outputs, actual);
    for (std::size_t i = 0; i < suspects_at.size(); ++i)
      if (std::any_of(suspected.begin(), suspected.end(), [&](const Suspect& s) {
            return s.output == suspects_at[i].output && s.element == suspects_at[i].element;
          }))
        stays[i] = true;
  }
  std::size_t position = 0;
  std::erase_if(suspects_at, [&](const Suspect&) { return !stays[position++]; });
  return {};
}

std::string Judgement::difference(std::span<const NamedTensor> inputs,
                                  const std::vector<Tensor>& expected,
                                  const std::vector<Tensor>& actual) const {
  for (std::size_t k = 0; k < expected.size(); ++k)
    if (!(expected[k].type() == actual[k].type()))
      return fmt::format("output '{}': the tensor is {}, not {}", sides_.original.outputs()[k].name,
                         text(actual[k].type()), text(expected[k].type()));
  std::vector<Suspect> suspected = suspects(expected, actual);
  using Look =
      Result<void> (Judgement::*)(std::span<const NamedTensor>, std::vector<Suspect>&) const;
  for (const Look look :
       {&Judgement::drop_undefined, &Judgement::drop_rounding, &Judgement::drop_borders}) {
    if (suspected.empty()) return "";
    // What cannot be looked at closer counts.
    if (!(this->*look)(inputs, suspected)) break;
  }
  if (suspected.empty()) return "";
  const Suspect& first = suspected.front();
  return fmt::format("output '{}': element {} is {}, not {}",
                     sides_.original.outputs()[first.output].name, first.element, first.actual,
                     first.expected);
}

}  // namespace lemma
