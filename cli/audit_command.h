#pragma once
// `lemma audit`: the proofs of rules for people, step by step, and what rests on which axiom.

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"

namespace lemma {

void add_audit_command(CLI::App& application, ExitCode& exit_code);

}  // namespace lemma
