#pragma once
// `lemma rules import|export`: rules in the formats of others.

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lemma {

void add_rules_exchange(CLI::App& rules_command, ExitCode& exit_code);

}  // namespace lemma
