#include "outputs/output_target.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace lemma {

namespace fs = std::filesystem;

namespace {

/// The number of a descriptor of this process that the path stands for, as /dev/fd/3 and /proc/self/fd/3 do.
std::optional<int> own_descriptor(const fs::path& path) {
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (problem != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  std::error_code error;
  const fs::path folder = fs::canonical(path.parent_path(), error);
  if (error || folder != fmt::format("/proc/{}/fd", ::getpid())) return std::nullopt;
  return number;
}

}  // namespace

Result<OutputTarget> output_target(const fs::path& path) {
  constexpr int most_links = 40;  // as the kernel
  if (path.empty()) return bad_input("an output has an empty name");
  if (!path.has_filename())
    return bad_input(fmt::format("{}: is the name of a folder, not of a file", path.string()));
  OutputTarget target{OutputTarget::Kind::file, path};
  struct stat status {};
  for (int links = 0;; ++links) {
    if (const auto number = own_descriptor(target.path)) {
      if (::fcntl(*number, F_GETFL) < 0) break;
      return OutputTarget{OutputTarget::Kind::descriptor, path, *number};
    }
    if (::lstat(target.path.c_str(), &status) != 0) return target;
    if (!S_ISLNK(status.st_mode)) break;
    std::error_code error;
    const fs::path next = fs::read_symlink(target.path, error);
    if (error || links == most_links)
      return bad_input(fmt::format("{}: {}", path.string(), std::strerror(error ? errno : ELOOP)));
    target.path = next.is_absolute() ? next : target.path.parent_path() / next;
  }
  if (::stat(target.path.c_str(), &status) != 0)
    return bad_input(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
  if (S_ISDIR(status.st_mode))
    return bad_input(fmt::format("{}: is a folder, not a file", path.string()));
  if (S_ISSOCK(status.st_mode))
    return bad_input(fmt::format("{}: is a socket, which cannot be written to", path.string()));
  if (!S_ISREG(status.st_mode)) target.kind = OutputTarget::Kind::device;
  return target;
}

bool is_stream(const fs::path& path) {
  const auto target = output_target(path);
  return target && target->is_stream();
}

}  // namespace lemma
