#pragma once
// `lemma extract EGRAPH.json`: the cheapest selection from an e-graph in the community's format.

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lemma {

/// Adds the subcommand; `exit_code` is set when it has run.
void add_extract_command(CLI::App& application, ExitCode& exit_code);

}  // namespace lemma
