#include "cli/foreign_options.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace lemma {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 24> foreign_answers = {{
    {"--check-n", "is --samples N here"},
    {"--custom-lib", "has no counterpart: operators without a record stay as they are"},
    {"--dtype", "has no counterpart: types stay as they are"},
    {"--dump-to-disk", "is the command 'lemma inspect' here"},
    {"--enable-fuse-bn", "is what happens anyway"},
    {"--include-subgraph",
     "is what happens anyway: bodies of If, Loop and Scan are models of their own"},
    {"--input-shape", "is --shape NAME:1,3,224,224 here"},
    {"--input-shapes", "is --shape NAME:1,3,224,224 here"},
    {"--inspect", "is the command 'lemma inspect' here"},
    {"--model-check", "is what happens anyway; --samples N sets the number of inputs"},
    {"--model-check-inputs", "is --sample-shape NAME:1,3,224,224 here"},
    {"--no-constant-folding", "has no counterpart; --strategy none only reads and writes"},
    {"--no-large-tensor", "has no counterpart"},
    {"--no-shape-infer", "has no counterpart: types are always inferred"},
    {"--overwrite-input-shape", "is --shape NAME:1,3,224,224 here"},
    {"--save-as-external-data", "is --external-data here"},
    {"--size-threshold", "has no counterpart"},
    {"--skip-constant-folding", "has no counterpart; --strategy none only reads and writes"},
    {"--skip-fuse-bn", "is --only-rules here, which chooses rules by name"},
    {"--skip-fusion-patterns", "is --only-rules here, which chooses rules by name"},
    {"--skip-optimization", "is --only-rules here, which chooses rules by name"},
    {"--skip-optimizations", "is --only-rules here, which chooses rules by name"},
    {"--skip-shape-inference", "has no counterpart: types are always inferred"},
    {"--test-input-shape", "is --sample-shape NAME:1,3,224,224 here"},
}};

}  // namespace

std::string answer_to_foreign_option(std::string_view word) {
  std::string name(word.substr(0, word.find('=')));
  for (char& c : name)
    if (c == '_') c = '-';
  for (const auto& [foreign, answer] : foreign_answers)
    if (foreign == name) return fmt::format("{} {}", foreign, answer);
  return "";
}

}  // namespace lemma
