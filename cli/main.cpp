#include <CLI/CLI.hpp>
#include <string>

#include "cli/exit_code.h"
#include "ir/version.h"

int main(int argument_count, char** arguments) {
  CLI::App application("Lemma: makes tensor programs cheaper by substitutions that are proved");
  application.name("lemma");
  application.set_version_flag("--version", "lemma " + std::string(lemma::version()));

  try {
    application.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_text = error.get_exit_code() == 0;
    application.exit(error);
    return static_cast<int>(asked_for_text ? lemma::ExitCode::done : lemma::ExitCode::bad_input);
  }
  application.exit(CLI::CallForHelp());
  return static_cast<int>(lemma::ExitCode::bad_input);
}
