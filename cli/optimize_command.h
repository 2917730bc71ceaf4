#pragma once
// `lemma optimize MODEL...`: many models, each in a process of its own.

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lemma {

/// Adds the subcommand; `exit_code` is set when it has run.
void add_optimize_command(CLI::App& application, ExitCode& exit_code);

/// The hidden subcommand that the processes of single models run.
void add_optimize_worker_command(CLI::App& application, ExitCode& exit_code);

}  // namespace lemma
