#pragma once
// Runs `lemma optimize` and `lemma simplify` as their options say: models as jobs, progress, the table and the report.

#include <cstdint>
#include <string>
#include <vector>

#include "batch/optimize_request.h"
#include "cli/commands.h"
#include "cli/target_options.h"

namespace lemma {

/// How much is said on the way.
enum class Talk : std::uint8_t { quiet, normal, verbose };

struct OptimizeArguments {
  std::vector<std::string> models;
  std::string output, output_directory, report;
  std::string
      sent_to;  // a device, FIFO or descriptor, which `output` is sent to at the end; empty: none
  std::vector<std::string> given;  // the options, without the models
  TargetArguments target;
  std::string replay;
  std::string runtime;  // whose own operators may be made; empty: nobody's
  int jobs = 1;
  bool json = false;
  bool resumes = false;
  bool prints_table = true;
  Talk talk = Talk::normal;
  double model_time_limit = 0;
  std::string strategy = "auto";
  std::string rounding_class = "rounding";
  OptimizeRequest common;
};

/// Says what went wrong.
ExitCode run_optimize(const OptimizeArguments& arguments);

}  // namespace lemma
