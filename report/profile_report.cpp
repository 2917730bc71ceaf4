#include "report/profile_report.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/printable.h"
#include "report/table.h"

namespace lemma {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

/// The nodes as JSON; what takes the most time first.
Json nodes_json(const Profiled& p) {
  std::vector<std::pair<double, const std::pair<const std::string, Profiled::Node>*>> order;
  for (const auto& entry : p.by_key)
    order.emplace_back(entry.second.cost
                           ? entry.second.cost->seconds * static_cast<double>(entry.second.count)
                           : 0,
                       &entry);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  Json result = Json::array();
  for (const auto& [seconds, entry] : order)
    result.push_back({{"key", entry->first},
                      {"count", entry->second.count},
                      {"ms", entry->second.cost ? Json(seconds * 1e3) : Json()},
                      {"provenance", entry->second.cost ? Json(name(entry->second.cost->provenance))
                                                        : Json("unknown")}});
  return result;
}

Json to_json(const Profiled& p) {
  if (!p.failure.empty()) return {{"model", p.model}, {"message", p.failure}};
  Json refused = Json::array();
  for (const auto& [key, why] : p.refused) refused.push_back({{"key", key}, {"message", why}});
  return {{"model", p.model},
          {"nodes", p.nodes},
          {"by_key", nodes_json(p)},
          {"keys", p.keys},
          {"measured_now", p.measured_now},
          {"unknown", p.unknown},
          {"predicted_ms", p.predicted * 1e3},
          {"held_out_ms", p.held_out * 1e3},
          {"latency_ms", p.not_run.empty() ? Json(p.measured * 1e3) : Json()},
          {"latency_spread_ms", p.not_run.empty() ? Json(p.spread * 1e3) : Json()},
          {"message", p.not_run},
          {"refused", refused}};
}

}  // namespace

std::string profile_table(const std::vector<Profiled>& all) {
  using enum Table::Align;
  Table table({"model", "nodes", "distinct", "measured now", "unknown", "sum of nodes", "error",
               "held out", "error", "latency"},
              {left, right, right, right, right, right, right, right, right, right});
  for (const Profiled& p : all) {
    const std::string name = printable(fs::path(p.model).filename().string());
    if (!p.failure.empty()) {
      table.add({name, "failed"});
      continue;
    }
    const auto error = [&p](double seconds) {
      return p.not_run.empty() ? change_text(p.measured, seconds) : "";
    };
    table.add({name, fmt::format("{}", p.nodes), fmt::format("{}", p.keys),
               fmt::format("{}", p.measured_now), fmt::format("{}", p.unknown),
               duration_text(p.predicted), error(p.predicted), duration_text(p.held_out),
               error(p.held_out), p.not_run.empty() ? duration_text(p.measured) : "not run"});
  }
  return table.text();
}

std::string profile_json(const RuntimeIdentity& target, const std::vector<Profiled>& all) {
  Json models = Json::array();
  for (const Profiled& profiled : all) models.push_back(to_json(profiled));
  return Json{{"runtime", target.runtime},
              {"processor", target.processor},
              {"threads", target.threads},
              {"models", models}}
      .dump(2, ' ', true, Json::error_handler_t::replace);
}

}  // namespace lemma
