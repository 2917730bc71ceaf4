#pragma once
// Options that say where it is known what nvcc made of functions.

#include <string>

#include <CLI/CLI.hpp>

#include "programs/nvidia_device.h"

namespace lemma {

/// --database, --compiler, --no-resources. `condition`: when they mean something, for people.
void add_resource_options(CLI::App& command, ResourceChoice& choice, const std::string& condition);

}  // namespace lemma
