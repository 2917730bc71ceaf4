#pragma once
// `lemma run MODEL`: what a model computes, and whether it is what was expected.

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lemma {

/// Adds the subcommand; `exit_code` is set when it has run.
void add_run_command(CLI::App& application, ExitCode& exit_code);

}  // namespace lemma
