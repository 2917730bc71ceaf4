#pragma once
// Running the original's file and the result's whole, bodies of loops and branches included. The check of
// search/sampled_check.h cuts graphs at opaque nodes and so does not compute what these do.

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "frontend_onnx/import.h"
#include "interpreter/run.h"
#include "search/sampled_check.h"

namespace lemma {

struct WholeRunRequest {
  std::filesystem::path original, result;
  std::span<const interpreter::NamedTensor> inputs;
  ImportOptions reading;  // how the original is read
  SampledTolerance tolerance;
  int threads = 0;
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

enum class WholeRunVerdict { not_available, agrees, differs };
std::string_view name(WholeRunVerdict verdict);

struct WholeRunAnswer {
  WholeRunVerdict verdict = WholeRunVerdict::not_available;
  std::string message;  // why it is not available, or what differs
};

/// Both are computed in their own types. Where the original gives NaN or an infinity nothing is asked. Not available
/// where the original cannot be run on these inputs; a result that then cannot be run differs.
WholeRunAnswer run_whole(const WholeRunRequest& request);

}  // namespace lemma
