#pragma once
// What the parent asks of the process that optimizes one model, and what it answers. Both travel
// as one line of JSON.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/optimize_model.h"

namespace lemma {

struct OptimizeRequest {
  std::string model, output;  // files
  std::string device_file;
  std::vector<std::string> rules_directories;
  std::vector<std::string> unproved;       // files of rules that are used without proof
  std::string task_program;                // the directory for it, if the target wants one
  std::string target;                      // if Lemma times its operators itself, else empty
  std::vector<std::string> shapes;         // NAME:1,3,224,224
  std::vector<std::string> sample_shapes;  // the same, for the check
  bool fixes_defaults = false;             // inputs with default values become constants
  std::vector<std::string> outputs;        // of the model, that are kept; empty: all
  std::int64_t memory_limit_bytes = 0;     // of the process; 0: no limit
  bool takes_digests = false;              // of the model and of the result, for the answer
  /// What the command line says: no functions, and no shapes.
  OptimizeOptions options;
};

/// The rules of the folders, and those of files without proof.
Result<RuleDatabase> requested_rules(const OptimizeRequest& request);

struct OptimizeAnswer {
  std::string model, output;
  /// name(report.status), or "failed" (bad input), "crashed", "timed out" or "interrupted": no result was
  /// written.
  std::string status;
  bool copied = false;  // the model itself was, in place of a result
  std::string message;
  std::string task_program;  // the directory that was written; empty: none
  /// Digests (content_digest.h) of the model as it was read, and of the result as it was written. They are taken before
  /// another call can replace the result. Empty: not known.
  std::string model_digest, output_digest;
  std::string program_digest;  // of the task program as it was written (backend::written_digest)
  int error_kind = 0;          // an ErrorKind, for "failed"
  OptimizeReport report;
  double seconds = 0;
  std::int64_t peak_memory_bytes = 0;
};

/// One line of JSON. Between processes, strings may be any bytes.
std::string to_json(const TimingReport& report);
Result<TimingReport> parse_timing(const std::string& text);
std::string to_json(const CostReport& report);
Result<CostReport> parse_costs(const std::string& text);

std::string to_json(const OptimizeRequest& request);
Result<OptimizeRequest> parse_request(const std::string& text);
std::string to_json(const OptimizeAnswer& answer);
Result<OptimizeAnswer> parse_answer(const std::string& text);

}  // namespace lemma
