#pragma once
// `lemma rules generate`: candidate substitutions of an operator set.

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lemma {

void add_rules_generate(CLI::App& rules_command, ExitCode& exit_code);

}  // namespace lemma
