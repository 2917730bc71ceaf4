#pragma once
// Whether what an optimized graph gives on adversarial inputs, computed in f64, is what its original
// promises: the criterion of check/sampled_check.h, number 2. It looks closer only where the
// results differ at first sight.

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/sampled_check.h"
#include "check/traced_run.h"
#include "interpreter/run.h"
#include "ir/graph.h"

namespace lemma {

/// Every real element changed by up to this part of itself, in f64; 0 stays.
std::vector<interpreter::NamedTensor> disturbed(std::span<const interpreter::NamedTensor> inputs,
                                                std::uint64_t seed, double change);

class Judgement {
 public:
  struct Sides {
    const Graph& original;  // both without opaque nodes
    const Graph& changed;
    SampledTolerance tolerance;
    int threads = 0;
    std::optional<std::chrono::steady_clock::time_point> deadline;
  };
  explicit Judgement(Sides sides) : sides_(sides) {}

  /// Outputs are in the order of the original's. Says which element differs; empty if none counts.
  std::string difference(std::span<const interpreter::NamedTensor> inputs,
                         const std::vector<interpreter::Tensor>& expected,
                         const std::vector<interpreter::Tensor>& actual) const;

 private:
  struct Suspect;
  std::vector<Suspect> suspects(const std::vector<interpreter::Tensor>& expected,
                                const std::vector<interpreter::Tensor>& actual) const;
  Result<void> drop_undefined(std::span<const interpreter::NamedTensor> inputs,
                              std::vector<Suspect>& suspects) const;
  Result<void> drop_rounding(std::span<const interpreter::NamedTensor> inputs,
                             std::vector<Suspect>& suspects) const;
  Result<void> drop_borders(std::span<const interpreter::NamedTensor> inputs,
                            std::vector<Suspect>& suspects) const;
  Result<bool> depends_on_precision(const Graph& graph,
                                    std::span<const interpreter::NamedTensor> inputs) const;
  Result<std::vector<interpreter::Tensor>> outputs_of_changed(
      std::span<const interpreter::NamedTensor> inputs) const;
  TraceOptions trace_options() const;

  Sides sides_;
};

}  // namespace lemma
