#include "cli/error_line.h"

#include <iostream>

#include "ir/shown_text.h"
#include "ir/utf8.h"

namespace lemma {

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 1500;
  return shown(utf8_prefix(text, longest));
}

std::string error_line(std::string_view model, std::string_view message) {
  std::string line = "lemma: ";
  if (!model.empty() && !message.starts_with(model)) line += std::string(model) + ": ";
  return printable(line + std::string(message));
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
