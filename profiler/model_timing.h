#pragma once
// How long whole models take in ONNX Runtime, and which of two is faster.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "profiler/onnxruntime_worker.h"

namespace lemma {

struct TimingRequest {
  std::vector<std::filesystem::path> models;
  /// One set of inputs for all models, or one for each.
  std::vector<std::vector<interpreter::NamedTensor>> inputs;
  std::filesystem::path scratch_folder;  // it exists; what is put there is removed again
  int threads = 0;                       // 0: as many as ONNX Runtime takes by itself
  bool optimized = true;                 // by ONNX Runtime, before it runs
  int sessions = 2;                      // made anew so many times: places in memory matter
  int rounds = 24;                       // in all; in each every model runs once, in random order
  double block_seconds = 0.002;          // short models run several times in a round
  double seconds = 3;                    // after which no new round begins
  int least_rounds = 1;                  // that are done all the same
  double time_limit_seconds = 30;        // for the answer
};

struct ModelTiming {
  std::vector<double> seconds;  // of one run, by round
  std::string failure;          // why there are none
  /// The share of the time in which a program waited for a processor that others had; at most 1.
  double busy_share = 0;
  bool by_processor_time = false;  // of all threads, because the machine was busy
};

/// Interleaved: one timing for each model. An error: there is no ONNX Runtime, or no answer.
Result<std::vector<ModelTiming>> time_models(OnnxRuntimeWorker& worker,
                                             const TimingRequest& request);

/// What runs whole models on a target.
class ModelTimer {
 public:
  ModelTimer() = default;
  ModelTimer(const ModelTimer&) = delete;
  ModelTimer& operator=(const ModelTimer&) = delete;
  virtual ~ModelTimer() = default;

  /// "ONNX Runtime 1.31.1"; empty if it is not there.
  virtual std::string runtime() = 0;
  /// Whether it has answered, though it may have been given up since.
  virtual bool was_available() const = 0;
  /// Times models as time_models() does.
  virtual Result<std::vector<ModelTiming>> time(const TimingRequest& request) = 0;
  /// Estimated: before a model of so many operators can be run the first time, beside reading its weights.
  virtual double seconds_to_prepare(std::int64_t operators) const = 0;
};

class OnnxRuntimeModels : public ModelTimer {
 public:
  explicit OnnxRuntimeModels(OnnxRuntimeWorker& worker) : worker_(worker) {}

  std::string runtime() override { return "ONNX Runtime " + worker_.version(0).value_or(""); }
  bool was_available() const override { return worker_.was_available(); }
  Result<std::vector<ModelTiming>> time(const TimingRequest& request) override {
    return time_models(worker_, request);
  }
  double seconds_to_prepare(std::int64_t /*operators*/) const override { return 0.05; }

 private:
  OnnxRuntimeWorker& worker_;
};

/// The median of the values; 0 if there are none.
double median(std::vector<double> values);

/// Half the distance between the quartiles: what half of the values are off the median.
double quartile_deviation(std::vector<double> values);

/// How much longer one model takes than another one, from times of the same rounds.
struct TimeRatio {
  double median = 1;
  /// Above which the median of the ratio is not, with a confidence of 97.5% (a bound of order
  /// statistics; it assumes nothing about the distribution of the times). There is none for less than
  /// six rounds; then this is the largest number.
  double upper_bound = 1;
};
TimeRatio time_ratio(const std::vector<double>& before, const std::vector<double>& after);

}  // namespace lemma
