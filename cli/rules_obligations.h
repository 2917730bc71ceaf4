#pragma once

#include <CLI/App.hpp>

#include "cli/exit_code.h"

namespace lemma {

/// lemma rules obligations: which relations the index prover proves between the sides of rules.
void add_rules_obligations(CLI::App& rules, ExitCode& exit_code);

}  // namespace lemma
