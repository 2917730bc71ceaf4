// The file of a cluster of one host, written.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "plans/clusters/cluster.h"

namespace lemma::clusters {

namespace {

using OrderedJson = nlohmann::ordered_json;

/// A list with a line for each entry.
std::string lines_of(const OrderedJson& entries) {
  std::string text;
  for (const OrderedJson& entry : entries)
    text += fmt::format("{}\n    {}", text.empty() ? "" : ",", entry.dump());
  return fmt::format("[{}\n  ]", text);
}

OrderedJson end_of(const Cluster& cluster, End end) {
  if (end < cluster.devices.size()) return end;
  return cluster.switches[end - cluster.devices.size()];
}

OrderedJson link_of(const Cluster& cluster, const Link& link) {
  OrderedJson json = {{"ends", {end_of(cluster, link.from), end_of(cluster, link.to)}},
                      {"latency_seconds", link.latency_seconds},
                      {"bytes_per_second", link.bytes_per_second}};
  if (link.is_one_way) json["one_way"] = true;
  return json;
}

OrderedJson axis_of(const Axis& axis) {
  OrderedJson json = {{"name", axis.name},
                      {"size", axis.size},
                      {"latency_seconds", axis.latency_seconds},
                      {"bytes_per_second", axis.bytes_per_second}};
  for (const auto& [collective, ways] : axis.collectives)
    for (const CollectiveTime& way : ways)
      json["collectives"][std::string(name(collective))].push_back(
          {{"latency_seconds", way.latency_seconds}, {"bytes_per_second", way.bytes_per_second}});
  return json;
}

OrderedJson measured_of(const MeasuredTimes& measured) {
  OrderedJson entries = OrderedJson::array();
  for (const auto& [key, times] : measured.all()) {
    OrderedJson pairs = OrderedJson::array();
    for (const MeasuredTime& time : times)
      pairs.push_back(OrderedJson::array({static_cast<std::uint64_t>(time.bytes), time.seconds}));
    entries.push_back({{"what", key.first}, {"ranks", key.second}, {"times", std::move(pairs)}});
  }
  return entries;
}

/// An object with a line for each entry.
std::string operators_text(const std::vector<MeasuredOperator>& operators) {
  std::string text;
  for (const MeasuredOperator& measured : operators)
    text +=
        fmt::format("{}\n    {}: {}", text.empty() ? "" : ",", OrderedJson(measured.text).dump(),
                    OrderedJson::array({measured.seconds, measured.predicted}).dump());
  return fmt::format("{{{}\n  }}", text);
}

}  // namespace

std::string cluster_text(const Cluster& cluster) {
  OrderedJson devices = OrderedJson::array(), links = OrderedJson::array(),
              meshes = OrderedJson::array();
  for (const Member& device : cluster.devices) {
    if (!devices.empty() && devices.back()["device"] == device.description &&
        devices.back()["memory_bytes"] == device.memory_bytes)
      devices.back()["count"] = devices.back()["count"].get<std::size_t>() + 1;
    else
      devices.push_back({{"device", device.description},
                         {"count", std::size_t{1}},
                         {"memory_bytes", device.memory_bytes}});
  }
  for (const Link& link : cluster.links) links.push_back(link_of(cluster, link));
  for (const Mesh& mesh : cluster.meshes) {
    OrderedJson axes = OrderedJson::array();
    for (const Axis& axis : mesh.axes) axes.push_back(axis_of(axis));
    meshes.push_back({{"name", mesh.name}, {"axes", std::move(axes)}});
  }
  std::string text = fmt::format("{{\n  \"name\": {},\n  \"source\": {},\n  \"devices\": {}",
                                 OrderedJson(cluster.name).dump(),
                                 OrderedJson(cluster.source).dump(), lines_of(devices));
  if (!cluster.switches.empty())
    text += fmt::format(",\n  \"switches\": {}", OrderedJson(cluster.switches).dump());
  text += fmt::format(",\n  \"links\": {},\n  \"meshes\": {}", lines_of(links), lines_of(meshes));
  if (!cluster.overlaps) text += ",\n  \"overlap\": false";
  if (cluster.measured != nullptr)
    text += fmt::format(",\n  \"measured\": {}", lines_of(measured_of(*cluster.measured)));
  if (!cluster.operators.empty())
    text += fmt::format(",\n  \"operators\": {}", operators_text(cluster.operators));
  return text + "\n}\n";
}

}  // namespace lemma::clusters
