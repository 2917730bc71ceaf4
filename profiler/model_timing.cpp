#include "profiler/model_timing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace lemma {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

/// The number of values, of n, that may be left out at the upper end so that the largest of the rest is
/// still above the median with a confidence of 97.5%: the largest k with P(B(n, 1/2) < k) <= 2.5%.
std::size_t values_above_bound(std::size_t n) {
  double probability = std::pow(0.5, static_cast<double>(n));  // of exactly k
  double below = 0;                                            // of fewer than k
  std::size_t k = 0;
  while (k < n && below + probability <= 0.025) {
    below += probability;
    probability *= static_cast<double>(n - k) / static_cast<double>(k + 1);
    ++k;
  }
  return k;
}

double quantile(std::vector<double>& values, double fraction) {
  std::sort(values.begin(), values.end());
  const double place = fraction * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace

double median(std::vector<double> values) { return values.empty() ? 0 : quantile(values, 0.5); }

double quartile_deviation(std::vector<double> values) {
  if (values.empty()) return 0;
  const double upper = quantile(values, 0.75);
  return (upper - quantile(values, 0.25)) / 2;
}

TimeRatio time_ratio(const std::vector<double>& before, const std::vector<double>& after) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
    ratios.push_back(after[i] / before[i]);
  TimeRatio result{median(ratios), std::numeric_limits<double>::max()};
  const std::size_t left_out = values_above_bound(ratios.size());
  std::sort(ratios.begin(), ratios.end());
  if (left_out > 0) result.upper_bound = ratios[ratios.size() - left_out];
  return result;
}

Result<std::vector<ModelTiming>> time_models(OnnxRuntimeWorker& worker,
                                             const TimingRequest& request) {
  if (request.scratch_folder.empty()) return bad_input("there is no folder for temporary files");
  const fs::path data = request.scratch_folder / "timing_inputs";
  LEMMA_ASSIGN_OR_RETURN(const Json sets, write_inputs(request.inputs, data));
  Json models = Json::array();
  for (const fs::path& model : request.models) models.push_back(fs::absolute(model).string());
  const auto answer = worker.ask({{"action", "time"},
                                  {"models", models},
                                  {"data", data.string()},
                                  {"sets", sets},
                                  {"threads", request.threads},
                                  {"optimized", request.optimized},
                                  {"sessions", request.sessions},
                                  {"rounds", request.rounds},
                                  {"block_seconds", request.block_seconds},
                                  {"seconds", request.seconds},
                                  {"least_rounds", request.least_rounds}},
                                 request.time_limit_seconds);
  std::error_code ignored;
  fs::remove(data, ignored);
  if (!answer) return tl::unexpected(answer.error());
  std::vector<ModelTiming> result(request.models.size());
  try {
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = {answer->at("seconds").at(i).get<std::vector<double>>(),
                   answer->at("failures").at(i).get<std::string>(), answer->value("busy", 0.0),
                   answer->value("by_processor_time", false)};
  } catch (const Json::exception& error) {
    return bad_input(std::string("the answer of ONNX Runtime is malformed: ") + error.what());
  }
  return result;
}

}  // namespace lemma
