#pragma once
// `lemma rules verify|list`: proving the shipped rules anew, or deciding those of a file, and what
// they are. Import and export stand in cli/rules_exchange.h.

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lemma {

void add_rules_command(CLI::App& application, ExitCode& exit_code);

}  // namespace lemma
