#include "backend/virtual_device.h"

#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lemma::backend {

VirtualDevice cpu_device(std::uint32_t threads) {
  VirtualDevice device;
  device.name = fmt::format("cpu-{}", threads);
  device.units = threads;
  device.shared_bytes_per_unit = 256U << 10U;
  device.least_task_seconds = 1e-6;
  device.seconds_per_operation = 0.004e-9;
  device.seconds_per_byte = 0.0016e-9;
  device.seconds_per_weight_byte = 0.025e-9;
  device.seconds_per_task = 20e-9;
  device.seconds_per_event = 500e-9;
  device.seconds_per_synchronization = 1e-6;
  device.seconds_to_start_units = 40e-6;
  device.seconds_per_launch = 1e-6;
  return device;
}

namespace {

using Json = nlohmann::json;

Result<void> read_number(const Json& json, const char* key, double& value) {
  const auto member = json.find(key);
  if (member == json.end() || !member->is_number() || member->get<double>() < 0)
    return bad_input(fmt::format("'{}' is missing or not a non-negative number", key));
  value = member->get<double>();
  return {};
}

Result<Multiprocessor> multiprocessor_of(const Json& json) {
  if (!json.is_object() || !json.contains("architecture") || !json["architecture"].is_string())
    return bad_input("'multiprocessor' is no object with an 'architecture'");
  Multiprocessor result;
  result.source.architecture = json["architecture"];
  for (const auto& [key, value] :
       {std::pair{"cycles_per_second", &result.cycles_per_second},
        std::pair{"f32_lanes", &result.f32_lanes}, std::pair{"f64_lanes", &result.f64_lanes},
        std::pair{"matrix_lanes", &result.matrix_lanes}}) {
    LEMMA_RETURN_IF_ERROR(read_number(json, key, *value));
    if (*value == 0) return bad_input(fmt::format("'{}' is 0", key));
  }
  return result;
}

Result<VirtualDevice> device_of(const Json& json, std::uint32_t units) {
  if (!json.is_object()) return bad_input("a device description is one JSON object");
  for (const char* key : {"name", "source"})
    if (!json.contains(key) || !json[key].is_string() || json[key].get<std::string>().empty())
      return bad_input(fmt::format("'{}' is missing", key));
  VirtualDevice device;
  device.name = json["name"];
  double count = 0, shared = 0;
  LEMMA_RETURN_IF_ERROR(read_number(json, "units", count));
  LEMMA_RETURN_IF_ERROR(read_number(json, "shared_bytes_per_unit", shared));
  if (count < 1 || count > most_units || count != std::floor(count))
    return bad_input(fmt::format("'units' is no whole number from 1 to {}", most_units));
  device.units = units > 0 ? units : static_cast<std::uint32_t>(count);
  device.shared_bytes_per_unit = static_cast<std::uint64_t>(shared);
  LEMMA_RETURN_IF_ERROR(read_number(json, "least_task_seconds", device.least_task_seconds));
  LEMMA_RETURN_IF_ERROR(read_number(json, "seconds_per_operation", device.seconds_per_operation));
  LEMMA_RETURN_IF_ERROR(read_number(json, "seconds_per_byte", device.seconds_per_byte));
  LEMMA_RETURN_IF_ERROR(
      read_number(json, "seconds_per_weight_byte", device.seconds_per_weight_byte));
  LEMMA_RETURN_IF_ERROR(read_number(json, "seconds_per_task", device.seconds_per_task));
  LEMMA_RETURN_IF_ERROR(read_number(json, "seconds_per_event", device.seconds_per_event));
  LEMMA_RETURN_IF_ERROR(
      read_number(json, "seconds_per_synchronization", device.seconds_per_synchronization));
  LEMMA_RETURN_IF_ERROR(read_number(json, "seconds_per_launch", device.seconds_per_launch));
  if (json.contains("cache_bytes"))
    LEMMA_RETURN_IF_ERROR(read_number(json, "cache_bytes", device.cache_bytes.emplace()));
  if (json.contains("seconds_to_start_units"))
    LEMMA_RETURN_IF_ERROR(
        read_number(json, "seconds_to_start_units", device.seconds_to_start_units));
  if (json.contains("exchange")) {
    const Json& exchange = json["exchange"];
    if (!exchange.is_object() || json.contains("multiprocessor"))
      return bad_input("'exchange' is no object, or of a device that has a 'multiprocessor'");
    device.exchange.emplace();
    LEMMA_RETURN_IF_ERROR(read_number(exchange, "seconds", device.exchange->seconds));
    LEMMA_RETURN_IF_ERROR(
        read_number(exchange, "seconds_per_byte", device.exchange->seconds_per_byte));
  }
  if (json.contains("multiprocessor")) {
    LEMMA_ASSIGN_OR_RETURN(device.multiprocessor, multiprocessor_of(json["multiprocessor"]));
  }
  return device;
}

}  // namespace

Result<VirtualDevice> load_virtual_device(const std::filesystem::path& file, std::uint32_t units) {
  std::ifstream stream(file);
  if (!stream) return bad_input(fmt::format("{}: cannot be read", file.string()));
  const Json json = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return bad_input(fmt::format("{}: not JSON", file.string()));
  // A file may describe the costs of single operators as well (costmodel/device.h).
  const auto part = json.is_object() ? json.find("schedule") : json.end();
  if (json.is_object() && part == json.end() && json.contains("operators"))
    return bad_input(
        fmt::format("{}: it has no 'schedule': it prices single operators only", file.string()));
  auto device = device_of(json.is_object() && part != json.end() ? *part : json, units);
  if (!device) return with_context(file.string(), std::move(device.error()));
  return device;
}

}  // namespace lemma::backend
