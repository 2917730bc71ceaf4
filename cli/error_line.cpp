#include "cli/error_line.h"

#include <iostream>

namespace lemma {

void print_notes(std::span<const std::string> notes) {
  for (const std::string& note : notes) std::cerr << printable("note: " + note) << "\n";
}

ExitCode exit_code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input: return ExitCode::bad_input;
    case ErrorKind::unsupported: return ExitCode::some_models_failed;
    case ErrorKind::internal: return ExitCode::internal_fault;
  }
  return ExitCode::internal_fault;
}

ExitCode report_error(const Error& error) {
  std::cerr << printable("lemma: " + error.message) << "\n";
  return exit_code_of(error.kind);
}

}  // namespace lemma
