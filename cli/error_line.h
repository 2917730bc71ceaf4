#pragma once
// Reporting of errors: one line on standard error and an exit code.

#include <string>
#include <string_view>

#include "cli/exit_code.h"
#include "ir/result.h"

namespace lemma {

/// As it can be shown in a line of a terminal (ir/shown_text.h), and of bounded length.
std::string printable(std::string_view text);
/// "lemma: MODEL: MESSAGE", with the name of the model once.
std::string error_line(std::string_view model, std::string_view message);
ExitCode exit_code_of(ErrorKind kind);
/// The error on standard error; its exit code.
ExitCode report_error(const Error& error);

}  // namespace lemma
