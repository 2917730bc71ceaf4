#pragma once
// `lemma profile MODEL...`: the operators of models measured one by one, and their sum beside the model's own time.

#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/data_directory.h"
#include "costmodel/target.h"
#include "profiler/model_timing.h"
#include "profiler/operator_timer.h"

namespace lemma {

struct ProfileArguments {
  std::string target{onnx_runtime_target};
  std::vector<std::string> models, shapes, resources;
  std::string database = default_profile_file().string();
  std::string export_file, import_file;
  bool elsewhere = false, hold_out_all = false, list = false, json = false;
  int threads = 0;
  double seconds = 60;
  std::int64_t size = 16;
};

/// What one model told.
struct Profiled {
  std::string model, failure;
  std::size_t nodes = 0, keys = 0, measured_now = 0, unknown = 0;
  double predicted = 0;             // from measured nodes, seconds
  double held_out = 0;              // with all nodes of the model left out of what is known
  double measured = 0, spread = 0;  // of the whole model; 0: it was not run
  std::string not_run;              // why
  struct Node {
    std::size_t count = 0;
    std::optional<Cost> cost;  // of one
  };
  std::map<std::string, Node> by_key;
  std::map<std::string, std::string>
      refused;  // operators that cannot be run by themselves, and why
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
  /// With the nodes of all models that were profiled left out of what is known.
  virtual void hold_out_all(std::vector<Profiled>& all) const = 0;
  virtual const TargetIdentity& target() const = 0;
};

/// The nodes that ONNX Runtime makes of a model.
std::unique_ptr<ModelProfiler> runtime_profiler(const ProfileArguments& arguments,
                                                ProfileDatabase& database);

/// The operators of a model as a search knows them.
struct OperatorTarget {
  Target target;  // what costs come from in the end
  std::unique_ptr<OperatorTimer> operators;
  std::unique_ptr<ModelTimer> models;  // null: whole models cannot be run
};
std::unique_ptr<ModelProfiler> operator_profiler(const ProfileArguments& arguments,
                                                 ProfileDatabase& database, OperatorTarget target);

/// Processors for 0.
int profiled_threads(const ProfileArguments& arguments);
/// The same for all models and targets.
MeasurementOptions measurement_options(const ProfileArguments& arguments, const std::string& file,
                                       const std::filesystem::path& scratch_folder);

/// Set by a signal: what is measured is finished, and nothing else is begun.
bool is_stop_requested();
/// From now on SIGINT and SIGTERM set it, the first of them.
void stop_at_signals();

}  // namespace lemma
