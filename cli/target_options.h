#pragma once
// What a model is to run on, and where the costs of its operators come from, as the command line says it.

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

#include "pipeline/optimize_model.h"
#include "targets/target.h"

namespace lemma {

struct TargetArguments {
  std::string target = default_target();
  std::string device;    // empty: the target's
  std::string costs;     // empty: the target's default
  std::string database;  // empty: the default one
  bool measures = true;
};

/// Null if only a device is described.
const Target* target_of(const TargetArguments& arguments);

/// --target, --device, --costs, --database, --no-measure.
void add_target_options(CLI::App& command, TargetArguments& arguments);

/// The description that costs come from in the end. An error: options that do not go together, or an unknown
/// target or device.
Result<std::filesystem::path> device_of(const TargetArguments& arguments);

/// Sets what is timed and where costs come from. `options.second_judge` is set already.
void take_target(const TargetArguments& arguments, OptimizeOptions& options);

/// The names of some targets, for people: "a, b and c".
std::string target_names(const std::function<bool(const Target&)>& is_meant);

}  // namespace lemma
