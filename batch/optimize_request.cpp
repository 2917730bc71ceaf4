#include "batch/optimize_request.h"

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
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchOptions, strategy, alpha, budget, node_limit, runtime,
                                   has_layouts, exact_extraction_seconds, target_values,
                                   takes_partial)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SampledCheckOptions, samples, relative_tolerance,
                                   absolute_tolerance, seed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OnnxRuntimeProgram, python, script)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimeRatio, median, upper_bound)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SideBySide, before_seconds, after_seconds, ratio, rounds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OtherSizes, sizes, times)
// Reports that are replayed may be older than the last fields.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TimingReport, state, message, runtime, choices,
                                                before_seconds, after_seconds, ratio, rounds,
                                                affordable, takes_simplified, other, busy_share,
                                                by_processor_time)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimingOptions, measures, replay)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CostOptions, database, shipped, measures, runtime, any_device,
                                   replay)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExportOptions, external_data, runtime_operators)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizeOptions, rules, searches, cleans, keeps_original, search,
                                   check, onnx_runtime, second_judge, timing, most_growth,
                                   is_only_described, costs, writing, operator_set, explanation,
                                   trace, threads, time_limit_seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizeRequest, model, output, device_file, rules_directories,
                                   unproved, task_program, target, shapes, sample_shapes, outputs,
                                   fixes_defaults, memory_limit_bytes, takes_digests, options)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GraphCost, seconds, flops, bytes, operators, parameters,
                                   parameter_bytes, provenance)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(UsedRule, name, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CheaperGraph, seconds, cost)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ExtractionProof, cost, lower_bound, optimal)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RewrittenPlaces, text, count, predicted_saving, measured_saving)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SearchFigures, strategy, before, after, cheaper_graphs,
                                   rules_used, unproved, rules_considered, left_out, stop_reason,
                                   egraph_nodes, rounds, passes, parts, graphs, candidates, places,
                                   extraction, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SampledCheck, passed, samples, adversarial, max_error,
                                   smallest_passing_scale, difference)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JudgeAnswer, verdict, message, sets, max_error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CheckReport, comparison, seconds, second_judge, second,
                                   whole_run, whole_run_message)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CostReport, message, measured_now, seconds, recorded)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizeReport, status, message, warning, opaque_operators,
                                   before, after, search, check, timing, sizes, sizes_are_guessed,
                                   costs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OptimizeAnswer, model, output, status, message, task_program,
                                   model_digest, output_digest, program_digest, error_kind, report,
                                   seconds, peak_memory_bytes)

namespace {

/// Each byte as the character of that number, in UTF-8: a file name may be any bytes, JSON only UTF-8.
std::string widened(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) text += static_cast<char>(0xc0U | byte >> 6U);
    text += static_cast<char>(byte < 0x80 ? byte : 0x80U | (byte & 0x3fU));
  }
  return text;
}

std::string narrowed(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80 || i + 1 == text.size())
      bytes += text[i];
    else
      bytes +=
          static_cast<char>((byte & 3U) << 6U | (static_cast<unsigned char>(text[++i]) & 0x3fU));
  }
  return bytes;
}

template <typename Change>
void change_strings(Json& json, Change change) {
  if (json.is_string()) json = change(json.get_ref<const std::string&>());
  if (json.is_structured())
    for (Json& element : json) change_strings(element, change);
}

template <typename T>
std::string one_line(const T& value) {
  Json json = value;
  change_strings(json, widened);
  return json.dump();
}

template <typename T>
Result<T> parse_line(const std::string& text) {
  try {
    Json json = Json::parse(text);
    change_strings(json, narrowed);
    return json.get<T>();
  } catch (const Json::exception& error) {
    return internal_error(std::string("malformed message between processes: ") + error.what());
  }
}

}  // namespace

Result<RuleDatabase> requested_rules(const OptimizeRequest& request) {
  const std::vector<std::filesystem::path> folders(request.rules_directories.begin(),
                                                   request.rules_directories.end());
  LEMMA_ASSIGN_OR_RETURN(RuleDatabase rules, load_rules(folders));
  for (const std::string& file : request.unproved) {
    LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
    LEMMA_ASSIGN_OR_RETURN(std::vector<Substitution> given, parse_substitutions(contents, file));
    LEMMA_RETURN_IF_ERROR(rules.add(RuleDatabase::without_proof(std::move(given)), file));
  }
  return rules;
}

std::string to_json(const TimingReport& report) {
  return Json(report).dump(-1, ' ', false, Json::error_handler_t::replace);
}
template <typename T>
static Result<T> parse_part(const std::string& text) {
  try {
    return Json::parse(text).get<T>();
  } catch (const Json::exception& error) {
    return bad_input(error.what());
  }
}
Result<TimingReport> parse_timing(const std::string& text) {
  return parse_part<TimingReport>(text);
}
std::string to_json(const CostReport& report) {
  return Json(report).dump(-1, ' ', false, Json::error_handler_t::replace);
}
Result<CostReport> parse_costs(const std::string& text) { return parse_part<CostReport>(text); }
std::string to_json(const OptimizeRequest& request) { return one_line(request); }
std::string to_json(const OptimizeAnswer& answer) { return one_line(answer); }
Result<OptimizeRequest> parse_request(const std::string& text) {
  return parse_line<OptimizeRequest>(text);
}
Result<OptimizeAnswer> parse_answer(const std::string& text) {
  return parse_line<OptimizeAnswer>(text);
}

}  // namespace lemma
