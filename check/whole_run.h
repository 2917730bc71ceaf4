#pragma once
// Running the original's file and the result's whole, bodies of loops and branches included. The check of
// check/sampled_check.h cuts graphs at opaque nodes and so does not compute what these do.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "check/sampled_check.h"
#include "frontend_onnx/import.h"
#include "interpreter/run.h"
#include "ir/run_time_value.h"
#include "profiler/onnxruntime_worker.h"

namespace lemma {

struct WholeRunRequest {
  std::filesystem::path original, result;
  std::span<const NamedValues> sets;  // of inputs
  std::set<std::string> containers;   // inputs that are declared as sequences or optional values
  /// Once so many are compared, and all bodies that were met have been run, no more are needed.
  int enough_sets = 2;
  std::int64_t step_limit = 10'000;  // of one Loop; a longer one cannot be run
  ImportOptions reading;             // how the original is read
  SampledTolerance tolerance;
  int threads = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

enum class WholeRunVerdict { not_available, agrees, differs };
std::string_view name(WholeRunVerdict verdict);

struct WholeRunAnswer {
  WholeRunVerdict verdict = WholeRunVerdict::not_available;
  std::string message;  // why it is not available, or what differs
  int sets = 0;         // on which both were compared
  double max_error = 0;
  /// Whether it differs because this program cannot run it, though it runs the original.
  bool result_is_unsupported = false;
  /// Bodies of either file that were run on none of the sets, as "If 'y', else_branch": nothing is said of what they
  /// compute.
  std::vector<std::string> untaken;
};

/// Both are computed in their own types, on one set after the other until the deadline. Where the original gives NaN or
/// an infinity nothing is asked. Sets on which the original cannot be run say nothing; not available where it can be run
/// on none. A result that cannot be run where the original can differs.
WholeRunAnswer run_whole(const WholeRunRequest& request);

/// Inputs like those given that make branches and loops go other ways: conditions (booleans of one element) both ways,
/// counts (integers of one element) from 0 to 5, real numbers of either sign, up to four times as large, and zeros. The
/// given set is the first.
std::vector<NamedValues> variants_of(const NamedValues& inputs, std::uint64_t seed);

}  // namespace lemma
