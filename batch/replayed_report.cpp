#include "batch/replayed_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "batch/optimize_request.h"
#include "outputs/files.h"

namespace lemma {

Result<ReplayedReport> ReplayedReport::read(const std::string& file) {
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  const auto report = nlohmann::json::parse(contents, nullptr, false);
  if (!report.is_object() || !report.contains("models") || !report["models"].is_array())
    return bad_input(file + ": is no report of `lemma optimize --report`");
  ReplayedReport result;
  result.file_ = file;
  for (const auto& entry : report["models"]) {
    if (!entry.is_object() || !entry.contains("timing")) continue;
    result.entries_.push_back({entry.value("model", ""), entry["timing"].dump(),
                               entry.contains("costs") ? entry["costs"].dump() : ""});
  }
  return result;
}

Result<void> ReplayedReport::take_measured(const std::string& model,
                                           OptimizeOptions& options) const {
  for (const Entry& entry : entries_) {
    if (entry.model != model) continue;
    auto timing = parse_timing(entry.timing);
    if (!timing) return bad_input(fmt::format("{}: what it says of {} is malformed", file_, model));
    options.timing.replay = std::move(*timing);
    if (entry.costs.empty()) return {};
    auto costs = parse_costs(entry.costs);
    if (!costs) return bad_input(fmt::format("{}: what it says of {} is malformed", file_, model));
    options.costs.replay = std::move(costs->recorded);
    return {};
  }
  return bad_input(fmt::format("{}: says nothing of {}", file_, model));
}

}  // namespace lemma
