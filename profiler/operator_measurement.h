#pragma once
// The time of operators as the search knows them, measured in ONNX Runtime: a provider of costs, and what
// fills it.
//
// An application of an operator takes as long as the nodes that ONNX Runtime makes of a model that holds
// nothing else, each measured by itself (profiler/node_measurement.h). Reorders between plain and blocked
// layouts are left out: neighbors in blocked layouts need none.

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/cost_provider.h"
#include "profiler/node_measurement.h"
#include "profiler/operator_timer.h"

namespace lemma {

/// What the profile database has of an application: its key begins with "operator". It has sizes, and no
/// contents. Of a move between plain and blocked layouts: the reorder that ONNX Runtime makes.
RuntimeNode profiled_operator(const CostKey& key, WeightPlace weights);

/// Whether it has a time of its own: its sizes are known and not too large, and it is no view.
bool has_times(const CostKey& key);

/// Answers by a digest of the key, so that a report can repeat them.
using RecordedCosts = std::map<std::string, std::pair<double, Provenance>>;

/// What was measured, and what lies near it. Views are not known: a runtime gives them no time that a model of
/// a single one would show. Every answer is recorded.
class MeasuredCosts : public CostProvider {
 public:
  MeasuredCosts(NodeTimes times, WeightPlace weights)
      : times_(std::move(times)), weights_(weights) {}

  std::optional<Cost> find(const CostKey& key) const override;
  bool covers_all_sizes() const override { return false; }
  RecordedCosts recorded() const;

 private:
  NodeTimes times_;
  WeightPlace weights_;
  mutable std::mutex mutex_;
  mutable RecordedCosts recorded_;
};

/// The answers that another provider gave.
class ReplayedCosts : public CostProvider {
 public:
  explicit ReplayedCosts(RecordedCosts recorded) : recorded_(std::move(recorded)) {}
  std::optional<Cost> find(const CostKey& key) const override;
  bool covers_all_sizes() const override { return false; }

 private:
  RecordedCosts recorded_;
};

/// Measures the applications that were not, in the given order, until the time is over. Each is committed when
/// it is measured. The number that was measured; what cannot be run by itself is left out.
Result<std::size_t> measure_operators(OnnxRuntimeWorker& worker, ProfileDatabase& database,
                                      const RuntimeIdentity& target,
                                      const std::vector<CostKey>& keys, WeightPlace weights,
                                      NodeTimes& times, const MeasurementOptions& options);

/// ONNX Runtime as the target.
class OnnxRuntimeOperators : public OperatorTimer {
 public:
  OnnxRuntimeOperators(OnnxRuntimeWorker& worker, int threads)
      : worker_(worker), threads_(threads) {}

  Result<RuntimeIdentity> identity() override;
  Result<std::size_t> measure(ProfileDatabase& database, const std::vector<CostKey>& keys,
                              WeightPlace weights, NodeTimes& times,
                              const MeasurementOptions& options) override;

 private:
  OnnxRuntimeWorker& worker_;
  int threads_;
};

}  // namespace lemma
