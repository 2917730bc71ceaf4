#include "cli/operators_option.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "facts/outside_operators.h"

namespace lemma {

namespace {

/// They work on neither models nor rules.
constexpr std::array without_operators = {
    std::string_view("collective"), std::string_view("completion"), std::string_view("extract"),
    std::string_view("help"),       std::string_view("manual"),     std::string_view("replay")};

}  // namespace

void add_operators_option(CLI::App& application) {
  for (CLI::App* command : application.get_subcommands(nullptr)) {
    const auto* end = without_operators.end();
    if (std::find(without_operators.begin(), end, command->get_name()) != end) continue;
    if (!command->get_subcommands(nullptr).empty()) {
      add_operators_option(*command);
      continue;
    }
    auto files = std::make_shared<std::vector<std::string>>();
    command
        ->add_option_function<std::vector<std::string>>(
            std::string(operator_libraries_option),
            [files](const std::vector<std::string>& given) { *files = given; },
            "library of operators from outside (may be repeated); those that $LEMMA_OPERATORS "
            "names are loaded as well")
        ->allow_extra_args(false);
  }
}

}  // namespace lemma
