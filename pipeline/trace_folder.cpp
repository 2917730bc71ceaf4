#include "pipeline/trace_folder.h"

#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "base/number_text.h"
#include "outputs/files.h"
#include "outputs/plan.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;

/// "saturation round 1" becomes "saturation-round-1".
std::string file_name(int number, std::string_view step) {
  std::string name = fmt::format("{:02}-", number);
  for (const char letter : step) name += is_ascii_letter_or_digit(letter) ? letter : '-';
  return name + ".txt";
}

constexpr std::string_view first_words = "# lemma trace: ";

bool is_of_a_trace(const fs::path& file) {
  std::ifstream stream(file);
  std::string start(first_words.size(), ' ');
  return stream.read(start.data(), static_cast<std::streamsize>(start.size())) &&
         start == first_words;
}

}  // namespace

TraceFolder::TraceFolder(fs::path folder) : folder_(std::move(folder)) {
  if (folder_.empty()) return;
  outcome_ = make_folder(folder_);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored))
    if (entry.is_regular_file(ignored) && is_of_a_trace(entry.path()))
      fs::remove(entry.path(), ignored);
}

void TraceFolder::add(std::string_view step, std::string_view more, std::string_view text) {
  if (folder_.empty() || !outcome_) return;
  outcome_ = write_file_atomically(
      free_path(folder_ / file_name(++count_, step), first_words),
      fmt::format("{}{}{}{}\n{}", first_words, step, more.empty() ? "" : ": ", more, text));
}

}  // namespace lemma
