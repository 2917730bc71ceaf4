#include "cli/optimize_request.h"

#include <nlohmann/json.hpp>

namespace lemma {

using Json = nlohmann::json;

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CheckOptions, samples, relative_tolerance, absolute_tolerance,
                                   seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizeRequest, model, output, device_file, rules_directory,
                                   explanation, strategy, rounding_class, only_rules, shapes,
                                   time_limit_seconds, memory_bytes, alpha, budget,
                                   exact_extraction_seconds, node_limit, iterations, threads,
                                   external_data, second_judge, check)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Figures, operators, parameters, flops, bytes, cost_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RuleCount, rule, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizeAnswer, model, output, status, message, warning,
                                   error_kind, before, after, opaque_operators, samples_compared,
                                   adversarial_compared, max_error, check_seconds, second_judge,
                                   second_judge_message, second_judge_sets, smallest_passing_scale,
                                   rules_used, strategy, stop_reason, rules_considered, rounds,
                                   passes, parts, graphs, egraph_nodes, search_seconds,
                                   extraction_bounded, extraction_optimal, extraction_cost,
                                   extraction_lower_bound, seconds, peak_memory_bytes)

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

std::string to_json(const OptimizeRequest& request) { return one_line(request); }
std::string to_json(const OptimizeAnswer& answer) { return one_line(answer); }
Result<OptimizeRequest> parse_request(const std::string& text) {
  return parse_line<OptimizeRequest>(text);
}
Result<OptimizeAnswer> parse_answer(const std::string& text) {
  return parse_line<OptimizeAnswer>(text);
}

}  // namespace lemma
