#include "cli/former_names.h"

#include <array>
#include <string_view>

namespace lemma {

namespace {

struct FormerName {
  std::string_view command, former, present;
};

constexpr std::array<FormerName, 17> former_names = {{
    {"emit", "--random", "--seed"},
    {"optimize", "--check", "--samples"},
    {"optimize", "--fp-class", "--rounding-class"},
    {"optimize", "--memory", "--memory-limit"},
    {"optimize", "--outputs", "--keep-output"},
    {"profile", "--seconds", "--time-limit"},
    {"rules build", "--memory", "--memory-limit"},
    {"rules generate", "--memory", "--memory-limit"},
    {"rules minimize", "--nodes", "--node-limit"},
    {"rules verify", "--certificates", "--write-certificates"},
    {"run", "--random", "--seed"},
    {"run", "--time-limit", "--model-time-limit"},
    {"schedule", "--library-calls", "--call-costs"},
    {"simplify", "--check", "--samples"},
    {"simplify", "--fp-class", "--rounding-class"},
    {"simplify", "--memory", "--memory-limit"},
    {"simplify", "--outputs", "--keep-output"},
}};

/// "optimize", "rules build"; what follows is no part of the name.
std::string command_of(const std::vector<std::string>& words) {
  if (words.empty()) return "";
  return words.front() == "rules" && words.size() > 1 ? "rules " + words[1] : words.front();
}

}  // namespace

std::vector<std::string> with_present_names(std::vector<std::string> words) {
  const std::string command = command_of(words);
  for (std::string& word : words) {
    if (word == "--") break;
    const std::string name = word.substr(0, word.find('='));
    for (const FormerName& known : former_names)
      if (known.command == command && known.former == name) {
        word.replace(0, name.size(), known.present);
        break;
      }
  }
  return words;
}

}  // namespace lemma
