#pragma once
// What is said of a model that was compiled.

#include <string>

#include <nlohmann/json.hpp>

#include "programs/compilation.h"

namespace lemma {

nlohmann::ordered_json compilation_json(const CompilationRequest& request,
                                        const Compilation& compilation);

/// A line for the library, or for each part.
std::string compilation_text(const CompilationRequest& request, const Compilation& compilation);

}  // namespace lemma
