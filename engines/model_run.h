#pragma once
// Running one model on tensors from files or on random ones, and comparing its outputs with files
// of expected tensors.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engines/value_comparison.h"
#include "interpreter/compare.h"
#include "ir/run_time_value.h"
#include "programs/emission.h"
#include "programs/shape_option.h"

namespace lemma {

struct RunRequest {
  std::filesystem::path model;
  std::optional<std::filesystem::path> inputs;    // folder of input_0.pb, input_1.pb, ...
  std::optional<std::uint64_t> seed;              // of random inputs, where there is no folder
  std::optional<std::filesystem::path> expected;  // folder of output_0.pb, output_1.pb, ...
  std::map<std::string, Shape, std::less<>> shapes;
  ValueTolerance tolerance;
  int threads = 0;
  std::optional<backend::CompileOptions> task_program;  // compiled, in place of the interpreter
  std::optional<backend::KernelTimes> times;            // for its plan, in place of modelled ones
  std::vector<std::string> notes;                       // for people, about what was asked for
  std::optional<NvidiaDevice> cuda;                     // the same for an NVIDIA device
};

/// `no_device`: what was asked for is built, and there is no device to run it. `timed_out`: given up at a limit of time.
enum class RunStatus {
  passed,
  wrong,
  unsupported,
  bad_input,
  internal_fault,
  no_device,
  timed_out
};
std::string_view name(RunStatus status);
RunStatus status_of(ErrorKind kind);

struct RunOutput {
  std::string name;
  RunTimeValue value;
  std::optional<interpreter::Comparison> comparison;
  bool is_drawn =
      false;  // it depends on random numbers: of what is expected only what every draw has is compared
};

struct RunAnswer {
  RunStatus status = RunStatus::passed;
  std::string reason;  // one line; empty for `passed`
  std::vector<RunOutput> outputs;
  std::vector<std::string> notes;  // what was assumed, for people
  double seconds = 0;              // of the computation alone
};

/// The answer for a model that was not run for this reason.
RunAnswer failed_run(const Error& error);

/// Never throws: what goes wrong is in the answer.
RunAnswer run_model(const RunRequest& request);

}  // namespace lemma
