#pragma once
// What a limit of memory did: lines, JSON, and a picture of the memory over time before and after.

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "backend/program.h"
#include "base/result.h"

namespace lemma {

/// "memory: 1383872 bytes before, 959168 with the limit of 968710; ...", and a line for each operator that runs again, as often as
/// it does; at most ten of them.
std::string memory_text(const backend::MemoryFigures& memory, std::uint64_t bytes);

nlohmann::ordered_json memory_json(const backend::MemoryFigures& memory);

/// Bytes in use as operators run one after the other: two lines, and the limit.
std::string memory_svg(std::string_view model, const backend::MemoryFigures& memory);
Result<void> write_memory_svg(const std::filesystem::path& file,
                              const std::filesystem::path& model_file,
                              const backend::MemoryFigures& memory);

}  // namespace lemma
