#include "system/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.h"
#include "outputs/files.h"

namespace lemma {
namespace {

constexpr std::size_t digest_length = 16;

/// One line: the digest of the rest, and the record with its line ends escaped.
std::string line_of(std::string_view record) {
  std::string escaped;
  for (const char c : record) {
    if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else
      escaped += c;
  }
  return sha256(escaped).substr(0, digest_length) + " " + escaped + "\n";
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

/// The record of a line; nothing if it is damaged.
std::optional<std::string> record_of(std::string_view line) {
  if (line.size() <= digest_length || line[digest_length] != ' ') return std::nullopt;
  const std::string_view escaped = line.substr(digest_length + 1);
  if (line.substr(0, digest_length) != sha256(escaped).substr(0, digest_length))
    return std::nullopt;
  return unescaped(escaped);
}

/// The line that begins at `begin`, without its end; nothing if it is torn.
std::optional<std::string_view> line_at(std::string_view contents, std::size_t begin) {
  const std::size_t end = contents.find('\n', begin);
  if (end == std::string_view::npos) return std::nullopt;
  return contents.substr(begin, end - begin);
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

/// Whether a file may be cut and written to: it is a journal, of any version, also torn or with a damaged byte.
bool is_journal(std::string_view contents) {
  constexpr std::string_view head = "lemma journal ";
  std::size_t changed = 0;
  for (std::size_t i = 0; i < std::min(head.size(), contents.size()); ++i)
    changed += contents[i] == head[i] ? 0 : 1;
  return changed <= 1;
}

bool lock(int descriptor, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::string first_line(std::string_view job) { return "lemma journal 2 " + sha256(job); }

struct Contents {
  std::vector<std::string> records;
  std::size_t good = 0;  // bytes up to the first that is damaged; 0: it is not a journal of the job
  bool is_foreign = false;  // it is no journal at all
};

Contents contents_of(const std::filesystem::path& file, std::string_view job) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  Contents contents;
  contents.is_foreign = !is_journal(text);
  const std::string first = first_line(job);
  if (line_at(text, 0) != first) return contents;
  contents.good = first.size() + 1;
  while (const auto line = line_at(text, contents.good)) {
    auto record = record_of(*line);
    if (!record) break;
    contents.records.push_back(std::move(*record));
    contents.good += line->size() + 1;
  }
  return contents;
}

}  // namespace

Journal::Journal(Journal&& other) noexcept { *this = std::move(other); }

Journal& Journal::operator=(Journal&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(records_, other.records_);
  std::swap(last_sync_, other.last_sync_);
  return *this;
}

Journal::~Journal() {
  if (is_open()) ::close(descriptor_);
}

Result<Journal> Journal::open(const std::filesystem::path& file, std::string_view job,
                              std::chrono::milliseconds patience) {
  if (file.has_parent_path()) LEMMA_RETURN_IF_ERROR(make_folder(file.parent_path()));
  Journal journal;
  journal.descriptor_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (!journal.is_open())
    return bad_input(fmt::format("cannot open '{}': {}", file.string(), std::strerror(errno)));
  if (!lock(journal.descriptor_, patience))
    return bad_input(fmt::format("'{}' is in use by another process", file.string()));
  Contents contents = contents_of(file, job);
  if (contents.is_foreign)
    return bad_input(fmt::format("'{}' is no journal of Lemma", file.string()));
  journal.records_ = std::move(contents.records);
  const std::size_t good = contents.good;
  if (::ftruncate(journal.descriptor_, static_cast<off_t>(good)) != 0)
    return bad_input(fmt::format("cannot cut '{}': {}", file.string(), std::strerror(errno)));
  if (good == 0) LEMMA_RETURN_IF_ERROR(write_all(journal.descriptor_, first_line(job) + "\n"));
  return journal;
}

bool may_be_journal(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (status.type() == std::filesystem::file_type::not_found) return true;
  return std::filesystem::is_regular_file(status) && !contents_of(file, "").is_foreign;
}

std::vector<std::string> read_journal(const std::filesystem::path& file, std::string_view job) {
  return contents_of(file, job).records;
}

std::vector<std::string> Journal::take_records() { return std::exchange(records_, {}); }

Result<void> Journal::add(std::string_view record) {
  if (!is_open()) return {};
  LEMMA_RETURN_IF_ERROR(write_all(descriptor_, line_of(record)));
  const auto now = std::chrono::steady_clock::now();
  if (now - last_sync_ > std::chrono::seconds(2)) {
    ::fdatasync(descriptor_);
    last_sync_ = now;
  }
  return {};
}

}  // namespace lemma
