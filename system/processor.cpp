#include "system/processor.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include "base/sha256.h"

namespace lemma {

std::string processor_digest() {
  // Names of Linux, for x86 and for ARM.
  constexpr std::array<std::string_view, 8> telling = {
      "vendor_id", "cpu family",      "model",    "model name",
      "flags",     "CPU implementer", "CPU part", "Features"};
  std::ifstream file("/proc/cpuinfo");
  std::string all;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::string_view name =
        std::string_view(line).substr(0, line.find_last_not_of("\t :", line.find(':')) + 1);
    if (std::find(telling.begin(), telling.end(), name) != telling.end()) all += line + "\n";
  }
  return all.empty() ? "" : sha256(all).substr(0, 16);
}

}  // namespace lemma
