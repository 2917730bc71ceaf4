#include "cli/resource_options.h"

#include <fmt/format.h>

namespace lemma {

void add_resource_options(CLI::App& command, ResourceChoice& choice, const std::string& condition) {
  command.add_option(
      "--database", choice.database,
      fmt::format("{}: the file in which `lemma profile --resources` keeps what nvcc made of "
                  "functions; those that spilled registers are not chosen again; the default can "
                  "be set by $LEMMA_PROFILE",
                  condition));
  command.add_option("--compiler", choice.compiler,
                     fmt::format("{}: whose code that file tells of, as `nvcc --version` ends "
                                 "(default: the nvcc that is here; without one, nothing is taken)",
                                 condition));
  command.add_flag("--no-resources", choice.is_ignored,
                   fmt::format("{}: take nothing from that file", condition));
}

}  // namespace lemma
