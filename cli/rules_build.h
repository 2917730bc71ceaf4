#pragma once
// `lemma rules build` and `lemma rules minimize`.

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lemma {

void add_rules_build(CLI::App& rules_command, ExitCode& exit_code);

}  // namespace lemma
