#include "report/printable.h"

#include "base/shown_text.h"
#include "base/utf8.h"

namespace lemma {

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 1500;
  return shown(utf8_prefix(text, longest));
}

std::string error_line(std::string_view model, std::string_view message) {
  std::string line = "lemma: ";
  if (!model.empty() && !message.starts_with(model)) line += std::string(model) + ": ";
  return printable(line + std::string(message));
}

}  // namespace lemma
