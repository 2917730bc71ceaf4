#include "cli/optimize_request.h"

#include <nlohmann/json.hpp>

namespace nlohmann {

/// Absent values are null.
template <typename T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& to, const std::optional<T>& value) {
    to = value ? json(*value) : json(nullptr);
  }
  static void from_json(const json& from, std::optional<T>& value) {
    if (from.is_null())
      value.reset();
    else
      value = from.get<T>();
  }
};

}  // namespace nlohmann

namespace lemma {

using Json = nlohmann::json;

// Enumerations travel as numbers: both processes are this program.

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RuleSelection, rounding_class, names)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchOptions, strategy, alpha, budget, node_limit,
                                   exact_extraction_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SampledCheckOptions, samples, relative_tolerance,
                                   absolute_tolerance, seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OnnxRuntimeProgram, python, script)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimeRatio, median, upper_bound)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimingReport, state, message, runtime, candidate_seconds,
                                   before_seconds, after_seconds, ratio, rounds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimingOptions, measures, replay)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExportOptions, external_data)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizeOptions, rules, searches, search, check, onnx_runtime,
                                   second_judge, timing, writing, explanation, trace, threads,
                                   time_limit_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizeRequest, model, output, device_file, rules_directory,
                                   shapes, memory_limit_bytes, options)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GraphCost, seconds, flops, bytes, operators, parameters,
                                   parameter_bytes, provenance)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(UsedRule, name, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExtractionProof, cost, lower_bound, optimal)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchFigures, strategy, before, after, rules_used,
                                   rules_considered, stop_reason, egraph_nodes, rounds, passes,
                                   parts, graphs, candidates, extraction, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SampledCheck, passed, samples, adversarial, max_error,
                                   smallest_passing_scale, difference)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JudgeAnswer, verdict, message, sets, max_error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CheckReport, comparison, seconds, second_judge, second)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizeReport, status, message, warning, opaque_operators,
                                   before, after, search, check, timing)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizeAnswer, model, output, status, message, error_kind,
                                   report, seconds, peak_memory_bytes)

namespace {

/// File names may be any bytes; JSON is UTF-8, so the others are replaced in what is shown.
template <typename T>
std::string one_line(const T& value) {
  return Json(value).dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <typename T>
Result<T> parse_line(const std::string& text) {
  try {
    return Json::parse(text).get<T>();
  } catch (const Json::exception& error) {
    return internal_error(std::string("malformed message between processes: ") + error.what());
  }
}

}  // namespace

std::string to_json(const TimingReport& report) { return one_line(report); }
Result<TimingReport> parse_timing(const std::string& text) {
  return parse_line<TimingReport>(text);
}
std::string to_json(const OptimizeRequest& request) { return one_line(request); }
std::string to_json(const OptimizeAnswer& answer) { return one_line(answer); }
Result<OptimizeRequest> parse_request(const std::string& text) {
  return parse_line<OptimizeRequest>(text);
}
Result<OptimizeAnswer> parse_answer(const std::string& text) {
  return parse_line<OptimizeAnswer>(text);
}

}  // namespace lemma
