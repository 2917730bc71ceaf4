#include "generator/line_journal.h"

#include <unistd.h>

#include <fmt/format.h>

#include "ir/sha256.h"

namespace lemma::generator {
namespace {

constexpr std::size_t digest_length = 16;

std::string with_digest(std::string_view line) {
  return fmt::format("{} {}\n", sha256(line).substr(0, digest_length), line);
}

bool is_good(std::string_view line) {
  return line.size() > digest_length && line[digest_length] == ' ' &&
         line.substr(0, digest_length) ==
             sha256(line.substr(digest_length + 1)).substr(0, digest_length);
}

tl::unexpected<Error> not_written(const std::filesystem::path& file) {
  return bad_input(fmt::format("{}: cannot be written", file.string()));
}

}  // namespace

Result<std::vector<std::string>> LineJournal::open(const std::filesystem::path& file,
                                                   std::string_view key) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  const std::string header = with_digest("journal of " + sha256(key));
  std::vector<std::string> lines;
  if (std::ifstream old(file, std::ios::binary); old) {
    std::string line;
    const bool is_ours = std::getline(old, line) && line + "\n" == header;
    // A last line without its end was being written when the process ended.
    while (is_ours && std::getline(old, line) && !old.eof() && is_good(line))
      lines.push_back(line.substr(digest_length + 1));
  }
  // What follows a line that was cut off would not be read: the journal begins with good lines.
  const std::filesystem::path fresh = fmt::format("{}.{}.new", file.string(), getpid());
  stream_.open(fresh, std::ios::binary | std::ios::trunc);
  stream_ << header;
  for (const std::string& line : lines) stream_ << with_digest(line);
  stream_.flush();
  if (!stream_) return not_written(fresh);
  std::filesystem::rename(fresh, file, error);
  if (error) return not_written(file);
  return lines;
}

void LineJournal::add(std::string_view line) {
  stream_ << with_digest(line);
  stream_.flush();
}

}  // namespace lemma::generator
