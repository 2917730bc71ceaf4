// Writes the source that defines operator_digests() (rule_language/operator_digests.h). Runs during the build.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "rule_language/operator_meaning.h"

namespace {

/// Computes all of them, on all processors; meaning_digest() remembers them.
void compute_digests() {
  std::atomic<std::size_t> next = 0;
  const auto work = [&next] {
    for (std::size_t i = next++; i < lemma::all_operators().size(); i = next++)
      (void)lemma::meaning_digest(lemma::OperatorId{static_cast<std::uint16_t>(i)});
  };
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) others.emplace_back(work);
  work();
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::fputs("usage: lemma-operator-digests FILE\n", stderr);
    return 2;
  }
  compute_digests();
  std::string text =
      "#include \"rule_language/operator_digests.h\"\n\n#include <array>\n\nnamespace lemma {\n\n"
      "std::span<const std::string_view> operator_digests() {\n"
      "  static constexpr auto digests = std::to_array<std::string_view>({\n";
  for (std::uint16_t i = 0; i < lemma::all_operators().size(); ++i)
    text += fmt::format("      \"{}\",  // {}\n", lemma::meaning_digest(lemma::OperatorId{i}),
                        lemma::all_operators()[i].name);
  text += "  });\n  return digests;\n}\n\n}  // namespace lemma\n";
  std::ofstream file(arguments[1], std::ios::binary);
  file << text;
  file.close();
  if (file) return 0;
  fmt::print(stderr, "lemma-operator-digests: {} cannot be written\n", arguments[1]);
  return 1;
}
