#include "check/second_judge.h"

#include <array>

#include <nlohmann/json.hpp>

#include "base/deadline.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

}  // namespace

std::string_view name(JudgeVerdict verdict) {
  constexpr std::array<std::string_view, 4> names = {"not available", "too late", "agrees",
                                                     "differs"};
  return names[static_cast<std::size_t>(verdict)];
}

namespace {

Json json_of(const std::map<std::string, OutputAllowance>& allowances) {
  Json result = Json::object();
  for (const auto& [name, allowed] : allowances)
    result[name] = {{"relative", allowed.relative},
                    {"common", allowed.common},
                    {"jump", allowed.jump},
                    {"jumps", allowed.jumps}};
  return result;
}

}  // namespace

JudgeAnswer ask_second_judge(OnnxRuntimeWorker& worker, const JudgeRequest& request) {
  if (request.sets.empty()) return {JudgeVerdict::not_available, "there are no inputs", 0, 0, {}};
  const Deadline deadline = Deadline::after(request.time_limit_seconds);
  const fs::path data = request.scratch_folder / "inputs";
  const auto sets = write_inputs(request.sets, data);
  if (!sets) return {JudgeVerdict::not_available, sets.error().message, 0, 0, {}};
  const auto answer = worker.ask({{"action", "compare"},
                                  {"original", request.original.string()},
                                  {"result", request.result.string()},
                                  {"data", data.string()},
                                  {"threads", request.threads},
                                  {"relative", request.tolerance.relative},
                                  {"absolute", request.tolerance.absolute},
                                  {"of_largest", request.tolerance.of_largest},
                                  {"rounding", request.tolerance.rounding},
                                  {"allowances", json_of(request.allowances)},
                                  {"sets", *sets}},
                                 deadline.remaining());
  std::error_code ignored;
  fs::remove(data, ignored);
  if (!answer)
    return {deadline.passed() ? JudgeVerdict::too_late : JudgeVerdict::not_available,
            answer.error().message,
            0,
            0,
            {}};
  try {
    const std::string verdict = answer->at("verdict").get<std::string>();
    return {verdict == "agrees"    ? JudgeVerdict::agrees
            : verdict == "differs" ? JudgeVerdict::differs
                                   : JudgeVerdict::not_available,
            answer->at("message").get<std::string>(), answer->value("sets", 0),
            answer->value("max_error", 0.0),
            answer->value("different", std::vector<std::string>())};
  } catch (const Json::exception& error) {
    return {JudgeVerdict::not_available,
            std::string("its answer is malformed: ") + error.what(),
            0,
            0,
            {}};
  }
}

}  // namespace lemma
