#include "costmodel/device.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "ir/kernel_override.h"

namespace lemma {

namespace {

using Json = nlohmann::json;

Result<double> positive_number(const Json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_number() || member->get<double>() < 0)
    return bad_input(fmt::format("'{}' is missing or not a non-negative number", key));
  return member->get<double>();
}

Result<std::map<DataType, double>> peaks(const Json& object, const char* key) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_object() || !member->contains("f32"))
    return bad_input(fmt::format("'{}' is missing or has no entry for f32", key));
  std::map<DataType, double> result;
  for (const auto& [type_name, value] : member->items()) {
    const auto type = parse_data_type(type_name);
    if (!type || !value.is_number() || value.get<double>() <= 0)
      return bad_input(fmt::format("'{}' has a malformed entry '{}'", key, type_name));
    result[*type] = value.get<double>();
  }
  return result;
}

/// A number or a list of numbers.
std::optional<std::vector<std::int64_t>> numbers(const Json& value) {
  if (value.is_number_integer()) return std::vector<std::int64_t>{value.get<std::int64_t>()};
  if (!value.is_array()) return std::nullopt;
  std::vector<std::int64_t> result;
  for (const Json& number : value) {
    if (!number.is_number_integer()) return std::nullopt;
    result.push_back(number.get<std::int64_t>());
  }
  return result;
}

/// What narrows a form: its type, kernel and attributes.
Result<void> read_narrower(const Json& entry, SlowForm& form) {
  const std::string where = fmt::format("'slow_forms' has an entry for {} ", form.op);
  if (const auto type = entry.find("type"); type != entry.end()) {
    form.type = type->is_string() ? parse_data_type(type->get<std::string>()) : std::nullopt;
    if (!form.type) return bad_input(where + "whose 'type' is none");
  }
  if (const auto kernel = entry.find("kernel"); kernel != entry.end()) {
    const auto sizes = numbers(*kernel);
    if (!sizes) return bad_input(where + "whose 'kernel' is no list of sizes");
    form.kernel = *sizes;
  }
  const auto attributes = entry.find("attributes");
  if (attributes == entry.end()) return {};
  if (!attributes->is_object()) return bad_input(where + "whose 'attributes' are no object");
  for (const auto& [name, value] : attributes->items()) {
    const auto wanted = numbers(value);
    if (!wanted) return bad_input(where + fmt::format("whose '{}' is no whole number", name));
    form.attributes[name] = *wanted;
  }
  return {};
}

Result<std::vector<SlowForm>> slow_forms(const Json& object) {
  constexpr const char* key = "slow_forms";
  std::vector<SlowForm> result;
  const auto member = object.find(key);
  if (member == object.end()) return result;
  if (!member->is_array()) return bad_input(fmt::format("'{}' is no list", key));
  for (const Json& entry : *member) {
    const bool good = entry.is_object() && entry.contains("operator") &&
                      entry["operator"].is_string() && entry.contains("rank") &&
                      entry["rank"].is_number_unsigned();
    if (!good)
      return bad_input(fmt::format("'{}' has an entry without an operator and a rank", key));
    LEMMA_ASSIGN_OR_RETURN(const double factor, positive_number(entry, "factor"));
    result.push_back({entry["operator"], entry["rank"], factor});
    LEMMA_RETURN_IF_ERROR(read_narrower(entry, result.back()));
  }
  return result;
}

Result<std::vector<std::int64_t>> target_values(const Json& object) {
  constexpr const char* key = "target_values";
  std::vector<std::int64_t> result;
  const auto member = object.find(key);
  if (member == object.end()) return result;
  if (!member->is_array()) return bad_input(fmt::format("'{}' is no list", key));
  for (const Json& entry : *member) {
    if (!entry.is_number_integer() || entry.get<std::int64_t>() < 1)
      return bad_input(
          fmt::format("'{}' has {}, which is no whole number from 1 on", key, entry.dump()));
    result.push_back(entry.get<std::int64_t>());
  }
  return result;
}

Result<Device> from_json(const Json& json) {
  if (!json.is_object()) return bad_input("a device description is one JSON object");
  Device device;
  device.name = json.value("name", "");
  device.source = json.value("source", "");
  if (device.name.empty()) return bad_input("'name' is missing");
  LEMMA_ASSIGN_OR_RETURN(device.contraction_peak, peaks(json, "contraction_flops_per_second"));
  LEMMA_ASSIGN_OR_RETURN(device.elementwise_peak, peaks(json, "elementwise_flops_per_second"));
  LEMMA_ASSIGN_OR_RETURN(device.memory_bandwidth, positive_number(json, "memory_bytes_per_second"));
  LEMMA_ASSIGN_OR_RETURN(device.launch_overhead, positive_number(json, "launch_overhead_seconds"));
  LEMMA_ASSIGN_OR_RETURN(device.view_overhead, positive_number(json, "view_overhead_seconds"));
  LEMMA_ASSIGN_OR_RETURN(device.half_peak_flops, positive_number(json, "half_peak_flops"));
  LEMMA_ASSIGN_OR_RETURN(device.half_peak_bytes, positive_number(json, "half_peak_bytes"));
  if (json.contains("seconds_per_recurrent_step")) {
    LEMMA_ASSIGN_OR_RETURN(device.step_overhead,
                           positive_number(json, "seconds_per_recurrent_step"));
  }
  LEMMA_ASSIGN_OR_RETURN(device.slow_forms, slow_forms(json));
  LEMMA_ASSIGN_OR_RETURN(device.target_values, target_values(json));
  if (const auto partial = json.find("partial_rules"); partial != json.end()) {
    if (!partial->is_boolean()) return bad_input("'partial_rules' is neither true nor false");
    device.takes_partial = partial->get<bool>();
  }
  if (const auto kernels = json.find("own_kernels_of"); kernels != json.end()) {
    if (!kernels->is_string() ||
        std::ranges::find(kernel_targets(), kernels->get<std::string>()) == kernel_targets().end())
      return bad_input(
          fmt::format("'own_kernels_of' is none of {}", fmt::join(kernel_targets(), ", ")));
    device.own_kernels = kernels->get<std::string>();
  }
  if (device.memory_bandwidth <= 0) return bad_input("'memory_bytes_per_second' is 0");
  return device;
}

double peak_of(const std::map<DataType, double>& peaks, DataType type) {
  const auto peak = peaks.find(type);
  return peak != peaks.end() ? peak->second : peaks.at(DataType::f32);
}

}  // namespace

double Device::contraction(DataType type) const { return peak_of(contraction_peak, type); }
double Device::elementwise(DataType type) const { return peak_of(elementwise_peak, type); }

Result<Device> load_device(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return bad_input(fmt::format("{}: cannot be read", file.string()));
  const Json json = Json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return bad_input(fmt::format("{}: not JSON", file.string()));
  // A file may describe the device for schedules as well (backend/virtual_device.h).
  const auto part = json.is_object() ? json.find("operators") : json.end();
  if (json.is_object() && part == json.end() && json.contains("schedule"))
    return bad_input(fmt::format("{}: it has no 'operators': it describes units for schedules only",
                                 file.string()));
  auto device = from_json(json.is_object() && part != json.end() ? *part : json);
  if (!device) return with_context(file.string(), std::move(device.error()));
  return device;
}

}  // namespace lemma
