// Prints what the provers say of claims, as a table or as JSON lines:
//   attack_table [--json] [--index] [--axioms] [--evaluation] [--reasons] FILE...
// Without one of the three, all are asked. To be run at the top of the source tree.

#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/attack/claims.h"

namespace lemma::attack {
namespace {

struct Options {
  bool json = false, reasons = false, index = false, axioms = false, evaluation = false;
  std::vector<std::string> files;
};

std::string json_text(const std::string& text) {
  std::string result = "\"";
  for (const char c : text)
    if (c == '\n')
      result += "\\n";
    else if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else
      result += c;
  return result + "\"";
}

struct Counts {
  std::size_t claims = 0, unread = 0, index = 0, axioms = 0, either = 0, refuted = 0;
  double index_seconds = 0, axioms_seconds = 0;
};

void show(const Options& options, const std::string& file, const Claim& claim, Counts& counts) {
  ++counts.claims;
  if (!claim.error.empty()) {
    ++counts.unread;
    std::fputs(fmt::format("{}: {}\n", claim.name, claim.error).c_str(), stderr);
    return;
  }
  Answer index, axioms, evaluation;
  if (options.index) index = ask_index(claim.rule);
  if (options.axioms) axioms = ask_axioms(claim.rule);
  if (options.evaluation) evaluation = ask_evaluation(claim.rule);
  counts.index += index.proved ? 1 : 0;
  counts.axioms += axioms.proved ? 1 : 0;
  counts.either += index.proved || axioms.proved ? 1 : 0;
  counts.refuted += evaluation.proved ? 1 : 0;
  counts.index_seconds += index.seconds;
  counts.axioms_seconds += axioms.seconds;
  if (options.json) {
    fmt::print(
        "{{\"file\": {}, \"claim\": {}, \"index\": {}, \"axioms\": {}, \"refuted\": {}, "
        "\"index_seconds\": {:.3f}, \"axioms_seconds\": {:.3f}, \"index_reason\": {}, "
        "\"axioms_reason\": {}}}\n",
        json_text(file), json_text(claim.name), index.proved, axioms.proved, evaluation.proved,
        index.seconds, axioms.seconds, json_text(index.reason), json_text(axioms.reason));
  } else {
    fmt::print("{:44} {:6} {:7} {:8} {:6.1f} {:6.1f}\n", claim.name, index.proved ? "proved" : "-",
               axioms.proved ? "proved" : "-", evaluation.proved ? "refuted" : "-", index.seconds,
               axioms.seconds);
    if (options.reasons)
      fmt::print("    index: {}\n    axioms: {}\n    evaluation: {}\n", index.reason, axioms.reason,
                 evaluation.reason);
  }
  std::fflush(stdout);
}

int run(const Options& options) {
  if (!options.json)
    fmt::print("{:44} {:6} {:7} {:8} {:>6} {:>6}\n", "claim", "index", "axioms", "samples", "s",
               "s");
  for (const std::string& file : options.files) {
    Counts counts;
    for (const Claim& claim : read_claims(file)) show(options, file, claim, counts);
    const std::string line = fmt::format(
        "{}: {} claims, {} not read; proved by index {}, from axioms {}, by either {}; refuted by "
        "evaluation {}; {:.1f} s and {:.1f} s\n",
        file, counts.claims, counts.unread, counts.index, counts.axioms, counts.either,
        counts.refuted, counts.index_seconds, counts.axioms_seconds);
    std::fputs(line.c_str(), options.json ? stderr : stdout);
  }
  return 0;
}

}  // namespace
}  // namespace lemma::attack

int main(int argc, char** argv) {
  lemma::attack::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--json")
      options.json = true;
    else if (argument == "--reasons")
      options.reasons = true;
    else if (argument == "--index")
      options.index = true;
    else if (argument == "--axioms")
      options.axioms = true;
    else if (argument == "--evaluation")
      options.evaluation = true;
    else if (argument == "--none")
      continue;
    else
      options.files.push_back(argument);
  }
  const bool none = argc > 1 && std::string(argv[1]) == "--none";
  if (!none && !options.index && !options.axioms && !options.evaluation)
    options.index = options.axioms = options.evaluation = true;
  return lemma::attack::run(options);
}
