#include "database/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "ir/sha256.h"

namespace lemma::database {
namespace {

constexpr std::size_t digest_length = 64;

/// One line: digest of the rest, key, answer with its line ends escaped.
std::string record_line(const std::string& key, std::string_view answer) {
  std::string escaped;
  for (const char c : answer) {
    if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  const std::string body = key + " " + escaped;
  return sha256(body).substr(0, 16) + " " + body + "\n";
}

std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size())
      result += text[i];
    else
      result += text[++i] == 'n' ? '\n' : text[i];
  }
  return result;
}

Result<void> write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return bad_input(fmt::format("the journal cannot be written: {}", std::strerror(errno)));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// The line that begins at `begin`, without its end; nothing if it is torn.
std::optional<std::string_view> line_at(std::string_view contents, std::size_t begin) {
  const std::size_t end = contents.find('\n', begin);
  if (end == std::string_view::npos) return std::nullopt;
  return contents.substr(begin, end - begin);
}

}  // namespace

Journal::Journal(Journal&& other) noexcept { *this = std::move(other); }

Journal& Journal::operator=(Journal&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  answers_ = std::move(other.answers_);
  last_sync_ = other.last_sync_;
  return *this;
}

Journal::~Journal() { close(); }

void Journal::close() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

Result<Journal> Journal::open(const std::filesystem::path& file, std::string_view job) {
  Journal journal;
  journal.descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (journal.descriptor_ < 0)
    return bad_input(fmt::format("cannot open '{}': {}", file.string(), std::strerror(errno)));
  if (::flock(journal.descriptor_, LOCK_EX | LOCK_NB) != 0)
    return bad_input(fmt::format("'{}' is in use by another process", file.string()));
  std::ifstream stream(file, std::ios::binary);
  const std::string contents{std::istreambuf_iterator<char>(stream), {}};
  const std::string first = "lemma journal 1 " + sha256(std::string(job));
  std::size_t good = 0;
  if (const auto line = line_at(contents, 0); line && *line == first) {
    good = line->size() + 1;
    while (const auto record = line_at(contents, good)) {
      if (record->size() < 16 + 1 + digest_length + 1 || (*record)[16] != ' ') break;
      const std::string_view body = record->substr(17);
      if (record->substr(0, 16) != sha256(std::string(body)).substr(0, 16)) break;
      journal.answers_[std::string(body.substr(0, digest_length))] =
          unescaped(body.substr(digest_length + 1));
      good += record->size() + 1;
    }
  }
  if (::ftruncate(journal.descriptor_, static_cast<off_t>(good)) != 0)
    return bad_input(fmt::format("cannot cut '{}': {}", file.string(), std::strerror(errno)));
  if (good == 0) LEMMA_RETURN_IF_ERROR(write_all(journal.descriptor_, first + "\n"));
  return journal;
}

std::string Journal::key(std::string_view question) { return sha256(question); }

bool Journal::knows(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return answers_.contains(key);
}

std::optional<std::string> Journal::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = answers_.find(key);
  return found != answers_.end() ? std::optional(found->second) : std::nullopt;
}

Result<void> Journal::add(const std::string& key, const std::string& answer) {
  const std::lock_guard lock(mutex_);
  if (!answers_.emplace(key, answer).second) return {};
  if (descriptor_ < 0) return {};
  LEMMA_RETURN_IF_ERROR(write_all(descriptor_, record_line(key, answer)));
  const auto now = std::chrono::steady_clock::now();
  if (now - last_sync_ > std::chrono::seconds(2)) {
    ::fdatasync(descriptor_);
    last_sync_ = now;
  }
  return {};
}

}  // namespace lemma::database
