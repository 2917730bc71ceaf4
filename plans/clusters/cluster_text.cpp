// The file of a cluster of one host, written.

#include <nlohmann/json.hpp>

#include "plans/clusters/cluster.h"

namespace lemma::clusters {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string json_text(std::string_view text) {
  return OrderedJson(text).dump(-1, ' ', true, OrderedJson::error_handler_t::replace);
}

/// A list or an object with a line for each entry.
std::string lines(char open, const std::vector<std::string>& entries, char close) {
  std::string text(1, open);
  for (std::size_t i = 0; i < entries.size(); ++i)
    text += (i == 0 ? "\n    " : ",\n    ") + entries[i];
  return text + "\n  " + close;
}

std::string times_text(std::string_view what, std::size_t ranks,
                       const std::vector<MeasuredTime>& times) {
  OrderedJson pairs = OrderedJson::array();
  for (const MeasuredTime& time : times)
    pairs.push_back(OrderedJson::array({static_cast<std::uint64_t>(time.bytes), time.seconds}));
  return OrderedJson{{"what", what}, {"ranks", ranks}, {"times", pairs}}.dump();
}

}  // namespace

std::string cluster_text(const Cluster& cluster) {
  std::vector<std::string> devices, links, meshes, measured, operators;
  for (const Member& device : cluster.devices)
    devices.push_back(OrderedJson{
        {"device", device.description}, {"count", 1}, {"memory_bytes", device.memory_bytes}}
                          .dump());
  for (const Link& link : cluster.links)
    links.push_back(OrderedJson{{"ends", {link.from, link.to}},
                                {"latency_seconds", link.latency_seconds},
                                {"bytes_per_second", link.bytes_per_second}}
                        .dump());
  for (const Mesh& mesh : cluster.meshes) {
    OrderedJson axes = OrderedJson::array();
    for (const Axis& axis : mesh.axes)
      axes.push_back({{"name", axis.name},
                      {"size", axis.size},
                      {"latency_seconds", axis.latency_seconds},
                      {"bytes_per_second", axis.bytes_per_second}});
    meshes.push_back(OrderedJson{{"name", mesh.name}, {"axes", axes}}.dump());
  }
  std::string text = "{\n  \"name\": " + json_text(cluster.name) +
                     ",\n  \"source\": " + json_text(cluster.source) +
                     ",\n  \"devices\": " + lines('[', devices, ']') +
                     ",\n  \"links\": " + lines('[', links, ']') +
                     ",\n  \"meshes\": " + lines('[', meshes, ']');
  if (!cluster.overlaps) text += ",\n  \"overlap\": false";
  if (cluster.measured != nullptr) {
    for (const auto& [key, times] : cluster.measured->all())
      measured.push_back(times_text(key.first, key.second, times));
    text += ",\n  \"measured\": " + lines('[', measured, ']');
  }
  for (const MeasuredOperator& measured_operator : cluster.operators)
    operators.push_back(
        json_text(measured_operator.text) + ": " +
        OrderedJson::array({measured_operator.seconds, measured_operator.predicted}).dump());
  if (!operators.empty()) text += ",\n  \"operators\": " + lines('{', operators, '}');
  return text + "\n}\n";
}

}  // namespace lemma::clusters
