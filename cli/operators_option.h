#pragma once
// The option --operators of all commands that work on models or rules (docs/outside_operators.md).

#include <CLI/CLI.hpp>

namespace lemma {

/// Adds it to the commands below this one. The libraries are loaded before words are parsed, so that the option only says
/// that it is there.
void add_operators_option(CLI::App& application);

}  // namespace lemma
