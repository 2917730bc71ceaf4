#pragma once
// `lemma rules verify|list`: proving the shipped rules anew, and what they are.

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lemma {

void add_rules_command(CLI::App& application, ExitCode& exit_code);

}  // namespace lemma
