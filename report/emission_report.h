#pragma once
// What is said of a model that was emitted, or planned to be.

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "programs/emission.h"

namespace lemma {

struct EmissionFigures {
  std::uint64_t cache_bytes = 0;  // of a simulated cache of each unit; 0: none
  bool lists_operators = false;
};

/// An error: the cache cannot be simulated.
Result<nlohmann::ordered_json> emission_json(const EmissionRequest& request,
                                             const Emission& emission,
                                             const EmissionFigures& figures);

/// A line for each program. Of one with calls of libraries that is only planned, also one for each call and kernel.
std::string emission_text(const EmissionRequest& request, const Emission& emission);

/// What was not chosen because of what nvcc made of it before, for people; nothing: all was.
std::optional<std::string> refused_text(const Emission& emission);

}  // namespace lemma
