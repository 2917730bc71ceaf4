#pragma once
// What nvcc made of functions of CUDA source (scripts/cuda_resources): registers, spills, shared memory and occupancy.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"

namespace lemma {

/// The compiler that made code of a source, for which devices. Facts of different ones are not mixed.
struct CompiledSource {
  std::string architecture;  // "sm_90"
  std::string compiler;      // the last line of what `nvcc --version` says
  std::string headers;       // digest of what the functions include
  std::int64_t block_threads = 0;

  friend auto operator<=>(const CompiledSource&, const CompiledSource&) = default;
};

struct FunctionResources {
  std::string digest;       // of its text; of the persistent kernel: of all texts
  std::string description;  // for people
  std::uint64_t stack_bytes = 0, spilled_bytes = 0;  // spilled: stores and loads
  // Of the persistent kernel that was compiled with it; its registers are those of all functions.
  std::uint64_t registers = 0, shared_bytes = 0, blocks = 0;  // blocks that fit on a multiprocessor

  friend bool operator==(const FunctionResources&, const FunctionResources&) = default;
};

struct ResourceFacts {
  CompiledSource source;
  std::vector<FunctionResources> functions;
};

/// What scripts/cuda_resources wrote, or what `lemma profile --export` has of it.
Result<ResourceFacts> parse_resources(std::string_view text);
Result<ResourceFacts> resources_of(const nlohmann::ordered_json& json);
nlohmann::ordered_json resources_json(const ResourceFacts& facts);

}  // namespace lemma
