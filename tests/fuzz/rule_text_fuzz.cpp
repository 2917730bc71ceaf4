// What reads as rules prints as a text that reads back and prints the same.
//   build/fuzz/bin/rule_text_fuzz -max_total_time=60 FOLDER rules/substitutions

#include <cstdio>
#include <cstdlib>

#include "rule_language/substitution.h"

namespace {

void require(bool condition, const std::string& what) {
  if (condition) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const auto rules = lemma::parse_substitutions(content, "fuzz.rules");
  if (!rules) {
    require(!rules.error().message.empty(), "an error without words");
    require(rules.error().kind != lemma::ErrorKind::internal, rules.error().message);
    return 0;
  }
  for (const lemma::Substitution& rule : *rules) {
    const std::string printed = text(rule);
    const auto again = lemma::parse_substitutions(printed, "printed.rules");
    require(again.has_value(), again ? "" : again.error().message + "\n" + printed);
    require(again->size() == 1 && text(again->front()) == printed, printed);
  }
  return 0;
}
