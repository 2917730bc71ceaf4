#pragma once
// The costs that a search of one model works with: measured operators before the description of the device.
// What is missing is measured while the model is optimized, and kept in the profile database.

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "costmodel/graph_cost.h"
#include "profiler/operator_measurement.h"

namespace lemma {

struct CostOptions {
  std::filesystem::path database;  // of what is measured here; empty: none
  std::filesystem::path shipped;   // a profile that was measured elsewhere, as JSON; empty: none
  bool measures = false;           // what is missing
  /// What the runtime's name begins with. Where it is not there, its last version that was measured counts.
  std::string runtime = "ONNX Runtime ";
  /// Whether, where the runtime is not there, what was measured on any device counts, of which there may
  /// be none here.
  bool any_device = false;
  std::optional<RecordedCosts> replay;  // answers to repeat in place of all these
};

/// What a report says of them.
struct CostReport {
  std::string message;           // why nothing was measured
  std::size_t measured_now = 0;  // applications of operators
  double seconds = 0;            // that this took
  RecordedCosts recorded;        // what the last search was told
};

class LearnedCosts {
 public:
  /// `timer`: null if nothing can be measured. `parameter_bytes`: of the model, for the place of its weights.
  /// An error names a file that cannot be read.
  static Result<LearnedCosts> open(const CostOptions& options, OperatorTimer* timer, int threads,
                                   double parameter_bytes);

  bool can_learn() const { return timer_ != nullptr; }
  /// Measures operations of the graphs that were not measured, the most expensive first, for at most so many
  /// seconds. The number of those that were.
  std::size_t learn(std::span<const Graph* const> graphs, const OperatorCosts& costs,
                    double seconds);

  /// `costs`: for the target and the sizes.
  OperatorCosts in_front_of(const OperatorCosts& costs);
  CostReport report() const;
  /// The time that measuring took so far.
  double seconds_spent() const { return report_.seconds; }

 private:
  LearnedCosts() = default;
  Result<void> read_database(const CostOptions& options, OperatorTimer* timer);

  OperatorTimer* timer_ = nullptr;
  std::unique_ptr<ProfileDatabase> database_;
  RuntimeIdentity target_;
  NodeTimes times_{{}}, elsewhere_{{}};
  WeightPlace weights_;
  std::optional<RecordedCosts> replay_;
  std::vector<std::shared_ptr<const MeasuredCosts>> asked_;  // by the last search
  CostReport report_;
};

}  // namespace lemma
