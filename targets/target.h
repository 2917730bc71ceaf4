#pragma once
// What models are optimized for. Each target is one object: its device, where the costs of its operators come from, what
// times operators and models on it, which graphs it runs, and how a program for it is written. Everything else asks the
// object and never compares names.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "profiler/model_timing.h"
#include "profiler/operator_timer.h"

namespace lemma {

/// Where the measured costs of operators come from.
struct CostSource {
  std::string runtime;            // what the runtime's name begins with in the profile database
  std::filesystem::path shipped;  // a profile that was measured elsewhere, as JSON; empty: none
  bool any_device = false;        // what was measured on any device counts: there may be none here
  bool by_default = false;        // measured costs are taken where the user does not say
};

/// What a target needs to know to make its timers.
struct TimerRequest {
  int threads = 0;  // 0: all processors
  /// Asked between runs; true ends the timing; none: it is never interrupted.
  std::function<bool()> is_interrupted;
  /// The folder of programs that are built for whole models; empty: where those of operators are
  /// kept.
  std::filesystem::path model_programs;
  /// The profile database, for a target whose programs depend on what it has; empty: none.
  std::filesystem::path database = {};
  double seconds_to_start =
      30;  // after which a compiler or a runtime that has not answered is given up
};

/// What a target can time, owned by whoever asked.
struct TargetTimers {
  std::unique_ptr<OperatorTimer> operators;  // null: they cannot be timed
  std::unique_ptr<ModelTimer> models;        // null: whole models cannot be run
};

/// The source code that a target's programs are written in (docs/rtask.md, docs/cuda.md).
enum class ProgramSource : std::uint8_t { none, cpp, cuda, hip };

/// One target. Those that were added live until the program ends.
class Target {
 public:
  Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  virtual ~Target() = default;

  /// The name as --target says it. The description of the device has the same name: NAME.json in the folder of
  /// devices.
  virtual std::string name() const = 0;
  /// A summary for --help: what is done with it.
  virtual std::string summary() const { return ""; }

  /// Nothing: operators are priced from the device's description alone.
  virtual std::optional<CostSource> measured_costs() const { return std::nullopt; }
  /// The part that is measured, for --help of `lemma profile`.
  virtual std::string measured_part() const { return "operators"; }
  /// The original and the cheapest results are run, and the original is kept unless one is faster.
  virtual bool runs_models() const { return false; }
  /// Models are run and timed by ONNX Runtime, which takes files as they are.
  virtual bool is_onnx_runtime() const { return false; }
  /// Layouts that the runtime has for itself are searched (ir/runtime_layout.h).
  virtual bool has_runtime_layouts() const { return false; }
  /// Whether it measures on a device of its own kind, which may not be here.
  virtual bool needs_device() const { return false; }

  /// Timers of what it can time by itself. An error says why nothing can be made.
  virtual Result<TargetTimers> timers(const TimerRequest& /*request*/) const {
    return TargetTimers();
  }
  /// Why it cannot run a graph. Asked of the original, and of what is to be written.
  virtual Result<void> admits(const Graph& /*graph*/, int /*threads*/) const { return {}; }

  /// Of its programs; `none`: it writes none.
  virtual ProgramSource source() const { return ProgramSource::none; }
  /// The folder of the program that is written beside the file of an optimized model; empty: none is.
  virtual std::filesystem::path program_beside(const std::filesystem::path& /*model*/) const {
    return {};
  }
  /// An error: no program can be written there, as the directory is not one that an earlier call wrote.
  virtual Result<void> check_program_directory(const std::filesystem::path& /*directory*/) const {
    return {};
  }
  /// Writes the program of a model's file. It appears complete, or not at all, in place of an earlier one.
  /// `before_publishing`: called with the complete directory before it has its name; may be empty.
  virtual Result<void> write_program(
      const std::filesystem::path& /*model*/, const std::filesystem::path& /*directory*/,
      int /*threads*/,
      const std::function<void(const std::filesystem::path&)>& /*before_publishing*/) const {
    return {};
  }
  /// The digest of the files that write_program wrote into a directory; empty if it did not write
  /// it.
  virtual std::string program_digest(const std::filesystem::path& /*directory*/) const {
    return "";
  }
};

/// Adds a target; from now on it is found by its name, which no other may have.
void add_target(std::unique_ptr<Target> target);

/// All targets in the order in which they were added.
std::vector<const Target*> all_targets();

/// Null if there is none with this name.
const Target* find_target(std::string_view name);

/// Their names, of those that are meant.
std::vector<std::string> names_of_targets(const std::function<bool(const Target&)>& is_meant);

/// The source that a word means: "cpu", "cuda", "hip" or the name of a target whose programs are written in it; nothing for
/// others.
std::optional<ProgramSource> find_source(std::string_view word);
/// All such words.
std::vector<std::string> source_words();

/// The name that is meant where none is given: $LEMMA_TARGET if set, else the first target's.
std::string default_target();

}  // namespace lemma
