#include "outputs/plan.h"

#include <sys/stat.h>

#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "outputs/files.h"
#include "outputs/output_target.h"

namespace lemma {

namespace fs = std::filesystem;

namespace {

/// ASCII letters, and those of two bytes of UTF-8 whose cases are a bit apart: Latin-1, Greek and Cyrillic. A file system
/// knows more of them; there a second name of a file that exists is found by its number.
std::string lower_case(std::string name) {
  const auto byte = [&name](std::size_t i) { return static_cast<unsigned char>(name[i]); };
  for (std::size_t i = 0; i < name.size(); ++i) {
    if ('A' <= name[i] && name[i] <= 'Z') name[i] = static_cast<char>(name[i] + ('a' - 'A'));
    if (i + 1 >= name.size() || (byte(i) & 0xe0U) != 0xc0U) continue;
    unsigned code = (byte(i) & 0x1fU) << 6U | (byte(i + 1) & 0x3fU);
    const bool is_upper = (0xc0 <= code && code <= 0xde && code != 0xd7) ||
                          (0x391 <= code && code <= 0x3a9) || (0x410 <= code && code <= 0x42f);
    if (is_upper) code += 0x20;
    if (0x400 <= code && code <= 0x40f) code += 0x50;
    name[i] = static_cast<char>(0xc0U | code >> 6U);
    name[i + 1] = static_cast<char>(0x80U | (code & 0x3fU));
  }
  return name;
}

struct Identity {
  std::optional<std::pair<dev_t, ino_t>> number;  // of what is there
  std::string place;                              // folder and name without case
  bool is_shared = false;                         // a character device
};

std::string place_of(const fs::path& file) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(folder_of(file), error);
  struct stat status {};
  const fs::path& known = error ? folder_of(file) : folder;
  const std::string where = ::stat(known.c_str(), &status) == 0
                                ? fmt::format("{}:{}", status.st_dev, status.st_ino)
                                : lower_case(known.string());
  return where + "/" + lower_case(file.filename().string());
}

Identity identity_of(const OutputTarget& target) {
  Identity identity;
  struct stat status {};
  const bool is_there = target.kind == OutputTarget::Kind::descriptor
                            ? ::fstat(target.descriptor, &status) == 0
                            : ::stat(target.path.c_str(), &status) == 0;
  if (is_there) identity.number = {status.st_dev, status.st_ino};
  identity.is_shared = is_there && S_ISCHR(status.st_mode);
  identity.place = place_of(target.path);
  return identity;
}

bool are_one(const Identity& a, const Identity& b) {
  if (a.is_shared || b.is_shared) return false;
  if (a.number && b.number) return *a.number == *b.number;
  return a.place == b.place;
}

}  // namespace

void FilePlan::reads(const fs::path& file, std::string role) {
  if (!file.empty()) read_.push_back({file, std::move(role)});
}

void FilePlan::writes(const fs::path& file, std::string role) {
  if (!file.empty()) written_.push_back({file, std::move(role)});
}

void FilePlan::reads_below(const fs::path& folder, const std::string& role,
                           std::string_view prefix) {
  std::error_code error;
  for (fs::recursive_directory_iterator i(folder, error), end; !error && i != end;
       i.increment(error))
    if (i->is_regular_file(error) && i->path().filename().string().starts_with(prefix))
      reads(i->path(), role);
}

void FilePlan::fills(const fs::path& folder, std::string role) {
  if (folder.empty()) return;
  const fs::path bare = folder.has_filename() ? folder : folder.parent_path();
  written_.push_back({bare, std::move(role), true});
}

Result<void> FilePlan::check() const {
  struct Known {
    const Entry* entry;
    Identity identity;
    bool is_read;
  };
  // Few files share a number or a place: only those are compared.
  std::multimap<std::pair<dev_t, ino_t>, Known> by_number;
  std::multimap<std::string, Known> by_place;
  const auto add = [&](Known known) {
    if (known.identity.number) by_number.emplace(*known.identity.number, known);
    by_place.emplace(known.identity.place, std::move(known));
  };
  for (const Entry& entry : read_) {
    const auto target = output_target(entry.file);  // the same links lead to inputs
    if (target) add({&entry, identity_of(*target), true});
  }
  const auto conflict = [](const Entry& entry, const Known& other) -> Result<void> {
    if (other.is_read)
      return bad_input(fmt::format("{}: {} would replace {}", entry.file.string(), entry.role,
                                   other.entry->role));
    return bad_input(
        entry.role == other.entry->role
            ? fmt::format("{}: two models would be written there; give their folders to "
                          "separate calls",
                          entry.file.string())
            : fmt::format("{}: {} and {} would be one file", entry.file.string(), other.entry->role,
                          entry.role));
  };
  for (const Entry& entry : written_) {
    OutputTarget target{OutputTarget::Kind::file, entry.file};
    if (!entry.is_folder) {
      LEMMA_ASSIGN_OR_RETURN(target, output_target(entry.file));
    }
    Identity identity = identity_of(target);
    if (identity.number)
      for (auto [i, end] = by_number.equal_range(*identity.number); i != end; ++i)
        if (are_one(identity, i->second.identity)) return conflict(entry, i->second);
    for (auto [i, end] = by_place.equal_range(identity.place); i != end; ++i)
      if (are_one(identity, i->second.identity)) return conflict(entry, i->second);
    add({&entry, std::move(identity), false});
  }
  return {};
}

fs::path free_path(const fs::path& wanted,
                   const std::function<bool(const fs::path&)>& may_be_taken) {
  fs::path path = wanted;
  for (int number = 1; !may_be_taken(path); ++number)
    path.replace_filename(
        fmt::format("{}-{}{}", wanted.stem().string(), number, wanted.extension().string()));
  return path;
}

bool is_free(const fs::path& file, std::string_view marker) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error))) return true;
  if (!fs::is_regular_file(file, error)) return false;
  constexpr std::size_t searched = 4096;
  std::array<char, searched> head{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(head.data(), head.size());
  const std::string_view text(head.data(), static_cast<std::size_t>(stream.gcount()));
  return text.find(marker) != std::string_view::npos;
}

fs::path free_path(const fs::path& wanted, std::string_view marker) {
  return free_path(wanted, [marker](const fs::path& path) { return is_free(path, marker); });
}

void limit_permissions_to(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  mode_t hidden = 0;
  if ((status.st_mode & S_IRGRP) == 0) hidden |= S_IRWXG;
  if ((status.st_mode & S_IROTH) == 0) hidden |= S_IRWXO;
  const mode_t current = ::umask(077);
  ::umask(current | hidden);
}

}  // namespace lemma
