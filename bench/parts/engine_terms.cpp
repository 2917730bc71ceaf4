// Saturation of terms by the engine alone: `engine_terms RULES TERM [--iterations N] [--match-limit N]`. RULES is a file of
// rules (engine/terms.h). Prints the nodes, classes and iterations, the milliseconds, and what ended it, as JSON.

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/number_text.h"
#include "engine/egraph.h"
#include "engine/saturation.h"

namespace engine = lemma::engine;

namespace {

struct Plain : engine::Words, engine::NoAnalysis {};
using Terms = engine::EGraph<Plain>;

lemma::Result<engine::RoundLimits> limits_of(int count, char** arguments) {
  engine::RoundLimits limits;
  limits.node_limit = 100'000'000;
  limits.memory_limit_bytes = 8'000'000'000;
  limits.time_limit_seconds = 600;
  limits.iterations = 1000;
  limits.match_limit = 0;
  for (int i = 3; i < count; i += 2) {
    const std::string_view option = arguments[i];
    const auto value =
        i + 1 < count ? lemma::number_of<std::size_t>(arguments[i + 1]) : std::nullopt;
    if (!value) return lemma::bad_input("an option has no number: " + std::string(option));
    if (option == "--iterations")
      limits.iterations = *value;
    else if (option == "--match-limit")
      limits.match_limit = *value;
    else
      return lemma::bad_input("there is no option " + std::string(option));
  }
  return limits;
}

lemma::Result<std::string> run(int count, char** arguments) {
  if (count < 3) return lemma::bad_input("usage: engine_terms RULES TERM [OPTION NUMBER]...");
  std::ifstream file(arguments[1]);
  if (!file) return lemma::bad_input(std::string(arguments[1]) + ": cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  LEMMA_ASSIGN_OR_RETURN(const engine::RoundLimits limits, limits_of(count, arguments));
  Terms terms;
  LEMMA_ASSIGN_OR_RETURN(const auto rules, engine::compile_rules(terms, text.str(), arguments[1]));
  LEMMA_RETURN_IF_ERROR(engine::add_term(terms, arguments[2]));
  const engine::Report report = engine::saturate<Terms>(terms, rules, limits);
  return fmt::format(
      R"({{"nodes": {}, "classes": {}, "iterations": {}, "milliseconds": {:.2f}, "stop": "{}"}})",
      terms.node_count(), terms.class_count(), report.iterations, report.seconds * 1e3,
      engine::name(report.stop));
}

}  // namespace

int main(int count, char** arguments) {
  const auto said = run(count, arguments);
  std::fprintf(said ? stdout : stderr, "%s\n", (said ? *said : said.error().message).c_str());
  return said ? 0 : 2;
}
