#pragma once
// What measures operators on a target, each by itself, and keeps the times in the profile database.

#include <functional>
#include <optional>
#include <vector>

#include "costmodel/cost_key.h"
#include "profiler/node_measurement.h"

namespace lemma {

/// The time of one application of an operator.
struct OperatorTime {
  double seconds = 0;  // median
  double spread = 0;   // quartile deviation, in seconds
  int repetitions = 0;
};

class OperatorTimer {
 public:
  OperatorTimer() = default;
  OperatorTimer(const OperatorTimer&) = delete;
  OperatorTimer& operator=(const OperatorTimer&) = delete;
  virtual ~OperatorTimer() = default;

  /// What times are kept under. An error says why nothing can be measured here.
  virtual Result<RuntimeIdentity> identity() = 0;
  /// Measures the applications that were not, in the given order, until the time is over. Each is committed when it
  /// is measured. The number that was measured; what cannot be run by itself is left out, and told to
  /// `options.on_refusal`. An error: no other can be measured either.
  virtual Result<std::size_t> measure(ProfileDatabase& database, const std::vector<CostKey>& keys,
                                      WeightPlace weights, NodeTimes& times,
                                      const MeasurementOptions& options) = 0;
  /// The applications that time() will be asked about, in order, unless the time is over before.
  virtual void expect(std::vector<CostKey> /*keys*/) {}
  /// What a run takes beside its operators, once something has been timed; nothing if that is not known.
  virtual std::optional<OperatorTime> time_of_run() const { return std::nullopt; }
};

/// A timer whose target gives each application one time.
class DirectTimer : public OperatorTimer {
 public:
  Result<std::size_t> measure(ProfileDatabase& database, const std::vector<CostKey>& keys,
                              WeightPlace weights, NodeTimes& times,
                              const MeasurementOptions& options) final;

 protected:
  /// An error: it cannot be run by itself.
  virtual Result<OperatorTime> time(const CostKey& key, WeightPlace weights,
                                    const MeasurementOptions& options) = 0;
  /// The applications that time() will be asked about, in order, unless the time is over before.
  virtual void expect(std::vector<CostKey> /*keys*/) {}
  /// What a run takes beside its operators, once something has been timed; nothing if that is not known.
  virtual std::optional<OperatorTime> time_of_run() const { return std::nullopt; }
};

/// Calls `measure` for each application that has no time yet, until the time is over. It says whether there is one
/// now.
Result<std::size_t> measure_each(const std::vector<CostKey>& keys, WeightPlace weights,
                                 const NodeTimes& times, const MeasurementOptions& options,
                                 const std::function<Result<bool>(const CostKey&)>& measure);

}  // namespace lemma
