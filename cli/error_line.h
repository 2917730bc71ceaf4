#pragma once
// Reporting of errors: one line on standard error and an exit code.

#include <span>
#include <string>

#include "base/result.h"
#include "batch/exit_code.h"
#include "report/printable.h"

namespace lemma {

/// On standard error, a line for each.
void print_notes(std::span<const std::string> notes);
ExitCode exit_code_of(ErrorKind kind);
/// The error on standard error; its exit code.
ExitCode report_error(const Error& error);

}  // namespace lemma
