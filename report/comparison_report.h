#pragma once
// What is said of two models that were compared, for programs.

#include <nlohmann/json.hpp>

#include "check/compare_files.h"

namespace lemma {

/// Whether they are equal, where they differ, and how that was found.
nlohmann::ordered_json comparison_json(const FileComparison& comparison);

}  // namespace lemma
