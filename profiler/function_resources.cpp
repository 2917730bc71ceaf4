#include "profiler/function_resources.h"

#include <nlohmann/json.hpp>

namespace lemma {

using Json = nlohmann::ordered_json;

namespace {

/// A function of a file of scripts/cuda_resources, where what all functions have in common (`all`)
/// is said once.
FunctionResources function_of(const Json& json, const Json& all) {
  const auto number = [&](const char* key) -> std::uint64_t {
    return json.contains(key) ? json.at(key) : all.at(key);
  };
  FunctionResources result;
  result.digest = json.at("digest");
  result.description = json.value("description", json.value("name", ""));
  result.stack_bytes = json.at("stack_bytes");
  result.spilled_bytes = json.contains("spilled_bytes")
                             ? json.at("spilled_bytes").get<std::uint64_t>()
                             : json.at("spill_store_bytes").get<std::uint64_t>() +
                                   json.at("spill_load_bytes").get<std::uint64_t>();
  result.registers = number("registers");
  result.shared_bytes = number("shared_bytes");
  result.blocks = number("blocks");
  return result;
}

}  // namespace

Json resources_json(const ResourceFacts& facts) {
  Json functions = Json::array();
  for (const FunctionResources& function : facts.functions)
    functions.push_back({{"digest", function.digest},
                         {"description", function.description},
                         {"stack_bytes", function.stack_bytes},
                         {"spilled_bytes", function.spilled_bytes},
                         {"registers", function.registers},
                         {"shared_bytes", function.shared_bytes},
                         {"blocks", function.blocks}});
  return {{"architecture", facts.source.architecture},
          {"compiler", facts.source.compiler},
          {"headers", facts.source.headers},
          {"block_threads", facts.source.block_threads},
          {"functions", std::move(functions)}};
}

Result<ResourceFacts> resources_of(const Json& json) {
  ResourceFacts facts;
  try {
    facts.source = {json.at("architecture"), json.at("compiler"), json.at("headers"),
                    json.at("block_threads")};
    // Functions that are no part of the program have no digest.
    for (const Json& function : json.at("functions"))
      if (function.contains("digest")) facts.functions.push_back(function_of(function, json));
  } catch (const Json::exception& error) {
    return bad_input(std::string("no file of scripts/cuda_resources: ") + error.what());
  }
  return facts;
}

Result<ResourceFacts> parse_resources(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return bad_input("no file of scripts/cuda_resources: not JSON");
  return resources_of(json);
}

}  // namespace lemma
