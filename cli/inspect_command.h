#pragma once
// `lemma inspect MODEL`: what a model consists of, what it costs, and what Lemma cannot see into.

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lemma {

/// Adds the subcommand; `exit_code` is set when it has run.
void add_inspect_command(CLI::App& application, ExitCode& exit_code);

}  // namespace lemma
