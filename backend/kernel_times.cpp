#include "backend/kernel_times.h"

#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace lemma::backend {

namespace {

Result<KernelTimes> times_of(const nlohmann::json& json) {
  KernelTimes times;
  const auto malformed = [](std::string_view what) {
    return bad_input(fmt::format("'{}' is missing or malformed", what));
  };
  if (!json.is_object() || !json.contains("operators") || !json["operators"].is_object())
    return malformed("operators");
  for (const char* key : {"device", "source"})
    if (!json.contains(key) || !json[key].is_string()) return malformed(key);
  times.device = json["device"];
  times.source = json["source"];
  for (const auto& [digest, entry] : json["operators"].items()) {
    if (!entry.is_object() || !entry.contains("operator") || !entry["operator"].is_string() ||
        !entry.contains("seconds") || !entry["seconds"].is_object())
      return malformed(digest);
    KernelTimes::OperatorTimes& times_of_operator = times.by_operator[digest];
    times_of_operator.description = entry["operator"];
    for (const auto& [parts, seconds] : entry["seconds"].items()) {
      if (!seconds.is_number() || seconds.get<double>() <= 0) return malformed(digest);
      times_of_operator.of_parts[parts] = seconds;
    }
  }
  return times;
}

}  // namespace

std::string parts_text(const Kernel& kernel) {
  return kernel.parts.empty() ? "1" : fmt::format("{}", fmt::join(kernel.parts, "x"));
}

std::optional<double> KernelTimes::find(const TaskOperator& op, const Kernel& kernel) const {
  const auto times = by_operator.find(op.digest);
  if (times == by_operator.end()) return std::nullopt;
  const auto entry = times->second.of_parts.find(parts_text(kernel));
  if (entry == times->second.of_parts.end()) return std::nullopt;
  return entry->second;
}

void KernelTimes::add(const TaskOperator& op, const Kernel& kernel, double seconds) {
  OperatorTimes& times = by_operator[op.digest];
  times.description = op.description;
  times.of_parts[parts_text(kernel)] = seconds;
}

KernelCount kernel_count(const OperatorGraph& graph) {
  KernelCount count;
  for (const TaskOperator& op : graph.operators)
    for (const Kernel& kernel : op.kernels) {
      ++count.all;
      count.recorded += kernel.is_recorded ? 1U : 0U;
    }
  return count;
}

Result<KernelTimes> load_kernel_times(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return bad_input(fmt::format("{}: cannot be read", file.string()));
  const auto json = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return bad_input(fmt::format("{}: not JSON", file.string()));
  auto times = times_of(json);
  if (!times) return with_context(file.string(), std::move(times.error()));
  return times;
}

std::string text(const KernelTimes& times) {
  const auto quoted = [](const std::string& word) { return nlohmann::json(word).dump(); };
  std::string result = fmt::format("{{\n\"device\": {},\n\"source\": {},\n\"operators\": {{",
                                   quoted(times.device), quoted(times.source));
  for (const auto& [digest, op] : times.by_operator) {
    std::vector<std::string> entries;
    for (const auto& [parts, seconds] : op.of_parts)
      entries.push_back(fmt::format("{}: {:.4g}", quoted(parts), seconds));
    result += fmt::format("{}\n{}: {{\"operator\": {}, \"seconds\": {{{}}}}}",
                          digest == times.by_operator.begin()->first ? "" : ",", quoted(digest),
                          quoted(op.description), fmt::join(entries, ", "));
  }
  return result + "\n}\n}\n";
}

}  // namespace lemma::backend
