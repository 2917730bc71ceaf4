#pragma once
// `lemma profile MODEL...`: the operators of models measured one by one, and their sum beside the model's own time.

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/priced_device.h"
#include "profiler/model_timing.h"
#include "profiler/operator_timer.h"
#include "profiler/profiled_model.h"
#include "targets/target.h"

namespace lemma {

/// The targets whose operators can be measured.
std::vector<std::string> profiled_targets();
/// The first of them.
std::string default_profiled_target();

struct ProfileArguments {
  std::string target = default_profiled_target();
  std::vector<std::string> models, shapes, resources;
  std::string database = default_profile_file().string();
  std::string export_file, import_file;
  bool elsewhere = false, hold_out_all = false, list = false, json = false;
  int threads = 0;
  double seconds = 60;
  std::int64_t size = 16;
  /// Told before each node of a file is measured; or none.
  std::function<void(const std::string& file, std::size_t done, std::size_t total)> on_progress;
};

class ModelProfiler {
 public:
  ModelProfiler() = default;
  ModelProfiler(const ModelProfiler&) = delete;
  ModelProfiler& operator=(const ModelProfiler&) = delete;
  virtual ~ModelProfiler() = default;

  /// An error says why nothing can be measured here.
  virtual Result<void> begin() = 0;
  virtual Result<Profiled> profile(const std::string& file) = 0;
  /// Prices all models again, with the nodes of those that were profiled left out of what is known.
  virtual void hold_out_all(std::vector<Profiled>& all) const = 0;
  virtual const RuntimeIdentity& target() const = 0;
};

/// The nodes that ONNX Runtime makes of a model.
std::unique_ptr<ModelProfiler> runtime_profiler(const ProfileArguments& arguments,
                                                ProfileDatabase& database);

/// The operators of a model as a search knows them. `priced`: what costs come from in the end.
std::unique_ptr<ModelProfiler> operator_profiler(const ProfileArguments& arguments,
                                                 ProfileDatabase& database, PricedDevice priced,
                                                 TargetTimers timers);

/// Processors for 0.
int profiled_threads(const ProfileArguments& arguments);
/// The same for all models and targets.
MeasurementOptions measurement_options(const ProfileArguments& arguments, const std::string& file,
                                       const std::filesystem::path& scratch_folder);

/// Set by a signal: what is measured is finished, and nothing else is begun.
bool is_stop_requested();
/// Makes is_stop_requested() true from the first SIGINT or SIGTERM on.
void stop_at_signals();

}  // namespace lemma
