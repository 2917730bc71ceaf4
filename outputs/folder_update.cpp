#include "outputs/folder_update.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "outputs/files.h"

namespace lemma {

namespace fs = std::filesystem;

namespace {

tl::unexpected<Error> cannot_write(const fs::path& path) {
  return bad_input(fmt::format("{}: cannot be written: {}", path.string(), std::strerror(errno)));
}

/// The path of a folder without a slash at its end, and with links followed: what is exchanged is the
/// folder, not a link to it.
fs::path real_folder(const fs::path& folder) {
  std::error_code error;
  const fs::path bare = folder.has_filename() ? folder : folder.parent_path();
  const fs::path canonical = fs::weakly_canonical(bare, error);
  return error ? bare : canonical;
}

bool is_inside(const fs::path& inner, const fs::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

/// The lock on a folder that is there; -1 if it is not. Another update may exchange it while this one waits.
int locked(const fs::path& folder) {
  while (true) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat named {};
    struct stat opened {};
    if (::stat(folder.c_str(), &named) != 0 || ::fstat(descriptor, &opened) != 0 ||
        (named.st_dev == opened.st_dev && named.st_ino == opened.st_ino))
      return descriptor;
    ::close(descriptor);
  }
}

/// The number of an entry in its file system; 0 if it is not there.
ino_t number_of(const fs::path& entry) {
  struct stat status {};
  return ::lstat(entry.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// Whether the folder can change its name with one beside it.
bool may_exchange(const fs::path& folder) {
  struct stat inner {};
  struct stat outer {};
  if (::stat(folder.c_str(), &inner) != 0) return true;
  const fs::path parent = folder_of(folder);
  if (::stat(parent.c_str(), &outer) != 0 || inner.st_dev != outer.st_dev ||
      ::access(parent.c_str(), W_OK | X_OK) != 0)
    return false;
  std::error_code error;
  const fs::path here = fs::current_path(error);
  return error || !is_inside(here, folder);
}

}  // namespace

Result<FolderUpdate> FolderUpdate::begin(const fs::path& folder) {
  const fs::path place = real_folder(folder);
  LEMMA_RETURN_IF_ERROR(make_folder(folder_of(place)));
  struct stat status {};
  int lock = -1;
  bool is_there = false;
  while (lock < 0) {
    is_there = ::stat(place.c_str(), &status) == 0;
    if (is_there && !S_ISDIR(status.st_mode))
      return bad_input(fmt::format("{}: is no folder", folder.string()));
    // Who makes a folder that is not there holds its parent meanwhile. Scratch is held by its process all the time.
    const fs::path parent = folder_of(place);
    if (!is_there && is_staged_name(parent.filename().string())) break;
    lock = locked(is_there ? place : parent);
    if (lock < 0 && !is_there) break;  // a parent that may not be read
    if (lock < 0) return cannot_write(folder);
    struct stat now {};
    if (is_there == (::stat(place.c_str(), &now) == 0)) break;
    ::close(std::exchange(lock, -1));
  }
  const bool exchanges = may_exchange(place);
  auto staged = StagedEntry::directory(exchanges ? folder_of(place) : place);
  if (!staged) {
    if (lock >= 0) ::close(lock);
    return bad_input(
        fmt::format("{}: cannot be written: {}", folder.string(), staged.error().message));
  }
  FolderUpdate update(place, std::move(*staged), lock);
  update.is_in_place_ = !exchanges;
  update.is_new_ = !is_there;
  if (::mkdir(update.copy_.c_str(), 0777) != 0) return cannot_write(folder);
  if (is_there) {
    LEMMA_RETURN_IF_ERROR(update.copy_entries({}));
    (void)::chmod(update.copy_.c_str(), status.st_mode & 07777U);
  }
  return update;
}

FolderUpdate::FolderUpdate(fs::path folder, StagedEntry staged, int lock)
    : folder_(std::move(folder)),
      staged_(std::move(staged)),
      copy_(staged_.path() / "new"),
      lock_(lock) {}

FolderUpdate::FolderUpdate(FolderUpdate&& other) noexcept
    : folder_(std::move(other.folder_)),
      staged_(std::move(other.staged_)),
      copy_(std::move(other.copy_)),
      lock_(std::exchange(other.lock_, -1)),
      is_in_place_(other.is_in_place_),
      is_new_(other.is_new_),
      kept_(std::move(other.kept_)) {}

FolderUpdate::~FolderUpdate() {
  if (lock_ >= 0) ::close(lock_);
}

Result<void> FolderUpdate::copy_entries(const fs::path& below) {
  std::error_code error;
  for (fs::directory_iterator i(folder_ / below, error), end; !error && i != end;
       i.increment(error)) {
    const fs::path name = below / i->path().filename();
    if (is_staged_name(name.filename().string())) continue;
    const fs::path copy = copy_ / name;
    struct stat status {};
    if (::lstat(i->path().c_str(), &status) != 0) return cannot_write(i->path());
    if (S_ISDIR(status.st_mode)) {
      if (::mkdir(copy.c_str(), 0700) != 0) return cannot_write(i->path());
      LEMMA_RETURN_IF_ERROR(copy_entries(name));
      (void)::chmod(copy.c_str(), status.st_mode & 07777U);
    } else if (::linkat(AT_FDCWD, i->path().c_str(), AT_FDCWD, copy.c_str(), 0) != 0) {
      // No hard links here, or not to the files of others.
      fs::copy(i->path(), copy, fs::copy_options::copy_symlinks, error);
      if (error) break;
    }
    struct stat copied {};
    if (::lstat(copy.c_str(), &copied) != 0) return cannot_write(i->path());
    kept_[name] = {status.st_ino, copied.st_ino};
  }
  if (error) return bad_input(fmt::format("{}: {}", (folder_ / below).string(), error.message()));
  return {};
}

/// Whether the update has changed a file or removed it.
bool FolderUpdate::is_changed(const fs::path& name) const {
  const auto entry = kept_.find(name);
  return entry == kept_.end() || number_of(copy_ / name) != entry->second.second;
}

/// False: this file system cannot, and nothing has changed.
bool FolderUpdate::exchange() {
  std::set<fs::path> changed;
  for (const auto& [name, numbers] : kept_)
    if (is_changed(name)) changed.insert(name);
  if (::renameat2(AT_FDCWD, copy_.c_str(), AT_FDCWD, folder_.c_str(), RENAME_EXCHANGE) != 0)
    return false;
  keep_late({}, changed);
  return true;
}

/// What others have put into the old folder, which has the place of the copy now, since it was copied.
void FolderUpdate::keep_late(const fs::path& below, const std::set<fs::path>& changed) {
  std::error_code error;
  for (fs::directory_iterator i(copy_ / below, error), end; !error && i != end;
       i.increment(error)) {
    const fs::path name = below / i->path().filename();
    if (is_staged_name(name.filename().string())) continue;
    const auto known = kept_.find(name);
    const bool is_folder = i->is_directory(error) && !i->is_symlink(error);
    if (known == kept_.end())
      (void)rename_new(i->path(), folder_ / name);
    else if (is_folder)
      keep_late(name, changed);
    else if (known->second.first != number_of(i->path()) && !changed.contains(name))
      (void)rename_over(i->path(), folder_ / name);
  }
}

Result<void> FolderUpdate::rename_each() {
  std::vector<fs::path> added, replaced;
  std::error_code error;
  for (fs::recursive_directory_iterator i(copy_, error), end; !error && i != end;
       i.increment(error)) {
    const fs::path name = i->path().lexically_relative(copy_);
    if (i->is_directory(error) && !i->is_symlink(error))
      LEMMA_RETURN_IF_ERROR(make_folder(folder_ / name));
    else if (is_changed(name))
      (kept_.contains(name) ? replaced : added).push_back(name);
  }
  if (error) return bad_input(fmt::format("{}: {}", folder_.string(), error.message()));
  std::vector<fs::path> removed;  // what a folder holds before the folder
  for (auto i = kept_.rbegin(); i != kept_.rend(); ++i)
    if (number_of(copy_ / i->first) == 0) removed.push_back(i->first);
  for (std::vector<fs::path>* const names : {&added, &replaced}) {
    std::sort(names->begin(), names->end());
    for (const fs::path& name : *names)
      LEMMA_RETURN_IF_ERROR(rename_over(copy_ / name, folder_ / name));
  }
  for (const fs::path& name : removed) fs::remove(folder_ / name, error);
  return {};
}

Result<void> FolderUpdate::publish() {
  const int descriptor = ::open(copy_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::syncfs(descriptor);
    ::close(descriptor);
  }
  if (!is_in_place_ && is_new_) {
    LEMMA_ASSIGN_OR_RETURN(const bool is_new, rename_new(copy_, folder_));
    flush_folder(folder_of(folder_));
    if (is_new) return {};
    return bad_input(fmt::format("{}: has been made by another process", folder_.string()));
  }
  if (is_in_place_ || !exchange()) LEMMA_RETURN_IF_ERROR(rename_each());
  flush_folder(folder_of(folder_));
  return {};
}

}  // namespace lemma
