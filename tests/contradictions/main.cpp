// contradictions [--rules DIR] [--nodes N] [--seeds N] [--seconds S]: the search at length, a line a
// seed, over the axioms and then over the rules. Exit code 4 if it finds one.

#include <iostream>
#include <string>

#include <fmt/format.h>

#include "contradictions.h"
#include "rule_language/rule_database.h"

int main(int count, char** words) {
  using namespace lemma;  // NOLINT: one file
  std::string rules = "rules";
  std::size_t seeds = 3;
  contradictions::Options options;
  options.nodes = 1'000'000;
  options.seconds = 600;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = words[i], value = words[i + 1];
    if (name == "--rules") rules = value;
    if (name == "--nodes") options.nodes = std::stoul(value);
    if (name == "--seeds") seeds = std::stoul(value);
    if (name == "--seconds") options.seconds = std::stod(value);
  }
  bool found = false;
  for (const auto& [folder, extension] :
       {std::pair{"axioms", ".axioms"}, std::pair{"substitutions", ".rules"}}) {
    const auto claims = read_substitutions(std::filesystem::path(rules) / folder, extension);
    if (!claims) {
      std::cerr << claims.error().message << "\n";
      return 2;
    }
    for (options.seed = 1; options.seed <= seeds; ++options.seed) {
      const auto result = contradictions::search(*claims, options);
      std::cout << fmt::format(
                       "{:<14} seed {}: {} nodes, {} classes, {} rules, {} rounds, {}: {}\n",
                       folder, options.seed, result.nodes, result.classes, result.rules,
                       result.iterations, result.stopped,
                       result.contradictions.empty() ? "no contradiction"
                                                     : result.contradictions.front())
                << std::flush;
      found = found || !result.contradictions.empty();
    }
  }
  return found ? 4 : 0;
}
