#pragma once
// How long whole models take in ONNX Runtime, and which of two is faster.

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
};

/// Interleaved: one timing for each model. An error: there is no ONNX Runtime, or no answer.
Result<std::vector<ModelTiming>> time_models(OnnxRuntimeWorker& worker,
                                             const TimingRequest& request);

/// Of no values: 0.
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
