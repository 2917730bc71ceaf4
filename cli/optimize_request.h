#pragma once
// What the parent asks of the process that optimizes one model, and what it answers. Both travel
// as one line of JSON.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/result.h"

namespace lemma {

struct CheckOptions {
  int samples = 1;  // comparisons on random inputs before a model is written
  /// Below 0: by the model's types, search/sampled_check.h.
  double relative_tolerance = -1;
  double absolute_tolerance = -1;
  std::uint64_t seed = 0;
};

struct OptimizeRequest {
  std::string model;   // file
  std::string output;  // file
  std::string device_file;
  std::string rules_directory;
  std::string explanation;        // file to write why the result is equal; empty: none
  std::string strategy = "auto";  // of search/optimize.h, or "none": import and export only
  std::string rounding_class = "rounding";  // the worst that rules may be: rule_language/rounding.h
  std::string only_rules;           // a regular expression that their names contain; empty: all
  std::vector<std::string> shapes;  // NAME:1,3,224,224
  double time_limit_seconds = 20;   // from reading to writing
  std::int64_t memory_bytes = 0;    // of the process; 0: no limit
  double alpha = 1.05;              // of backtracking
  std::int64_t budget = 1000;
  double exact_extraction_seconds = 0;
  std::int64_t node_limit = 0;  // of the e-graph; 0: the default
  int iterations = 0;           // of saturation; 0: the default
  int threads = 0;
  bool external_data = false;
  bool second_judge = true;  // ONNX Runtime, where it is installed
  CheckOptions check;
};

struct Figures {  // of one graph
  std::int64_t operators = 0;
  std::int64_t parameters = 0;
  double flops = 0, bytes = 0, cost_seconds = 0;
};

struct RuleCount {
  std::string rule;
  std::int64_t count = 0;
};

/// status: "optimized" (written, cheaper), "unchanged" (written as it was: nothing cheaper found),
/// "mismatch" (every result failed its check; written as it was), "failed" (bad input; nothing
/// written), "crashed" or "timed out" (nothing written).
struct OptimizeAnswer {
  std::string model, output, status, message;
  std::string warning;  // a result that was refused; what is written is another one
  int error_kind = 0;   // an ErrorKind, for "failed"
  Figures before, after;
  std::int64_t opaque_operators = 0;
  int samples_compared = 0;
  int adversarial_compared = 0;
  double max_error = 0;               // largest absolute difference seen by the check
  double smallest_passing_scale = 0;  // multiple of the tolerance that would have passed
  double check_seconds = 0;           // of all that looks at results, reading back included
  /// "agrees", "differs", "not available", "too late", "not asked" (nothing new was to be written) or
  /// "off"; the message says why not.
  std::string second_judge, second_judge_message;
  int second_judge_sets = 0;  // of inputs
  std::vector<RuleCount> rules_used;
  std::string strategy;     // the one taken
  std::string stop_reason;  // of the search
  std::int64_t rules_considered = 0, rounds = 0, passes = 0, parts = 0, graphs = 0;
  std::int64_t egraph_nodes = 0;
  double search_seconds = 0;
  /// Of the choice among the nodes of the e-graph, if a proof was asked for.
  bool extraction_bounded = false, extraction_optimal = false;
  double extraction_cost = 0, extraction_lower_bound = 0;
  double seconds = 0;
  std::int64_t peak_memory_bytes = 0;
};

std::string to_json(const OptimizeRequest& request);
Result<OptimizeRequest> parse_request(const std::string& text);
std::string to_json(const OptimizeAnswer& answer);
Result<OptimizeAnswer> parse_answer(const std::string& text);

}  // namespace lemma
