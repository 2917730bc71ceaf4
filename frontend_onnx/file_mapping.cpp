#include "frontend_onnx/file_mapping.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace lemma::frontend {

namespace {

/// One place of the list of mappings, which only grows: handlers of signals read it at any time.
struct Place {
  std::atomic<const std::byte*> begin = nullptr, end = nullptr;  // null: free
  std::array<char, 512> path = {};
  Place* next = nullptr;
};
std::atomic<Place*> first_place = nullptr;
std::mutex mutex_of_places;  // of those who write

void note(std::span<const std::byte> bytes, const std::string& path) {
  const std::scoped_lock lock(mutex_of_places);
  Place* place = first_place;
  while (place != nullptr && place->begin != nullptr) place = place->next;
  const bool is_new = place == nullptr;
  if (is_new) {
    place = new Place;  // NOLINT: it stays
    place->next = first_place;
  }
  place->path.fill(0);
  for (std::size_t i = 0; i < std::min(path.size(), place->path.size() - 1); ++i) {
    const auto c = static_cast<unsigned char>(path[i]);
    place->path[i] = c < 0x20 || c == 0x7f ? '?' : path[i];
  }
  place->end = bytes.data() + bytes.size();
  place->begin = bytes.data();
  if (is_new) first_place = place;
}

void forget(std::span<const std::byte> bytes) {
  const std::scoped_lock lock(mutex_of_places);
  for (Place* place = first_place; place != nullptr; place = place->next)
    if (place->begin == bytes.data()) place->begin = nullptr;
}

}  // namespace

const char* mapped_file_at(const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  for (const Place* place = first_place; place != nullptr; place = place->next) {
    const std::byte* begin = place->begin;
    if (begin != nullptr && std::less_equal<>()(begin, byte) &&
        std::less<>()(byte, place->end.load()))
      return place->path.data();
  }
  return nullptr;
}

Result<std::shared_ptr<const FileMapping>> FileMapping::open(const std::filesystem::path& path) {
  // Without O_NONBLOCK opening a pipe would wait for a writer.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return bad_input(fmt::format("cannot be opened: {}", std::strerror(errno)));
  struct stat status {};
  if (::fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(file);
    return bad_input("not a regular file");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  std::span<const std::byte> bytes;
  if (size != 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (address == MAP_FAILED) {
      const int reason = errno;
      ::close(file);
      return bad_input(fmt::format("cannot be mapped: {}", std::strerror(reason)));
    }
    bytes = {static_cast<const std::byte*>(address), size};
  }
  ::close(file);
  return std::shared_ptr<const FileMapping>(new FileMapping(bytes, path));
}

FileMapping::FileMapping(std::span<const std::byte> bytes, const std::filesystem::path& path)
    : bytes_(bytes) {
  if (!bytes_.empty()) note(bytes_, path.string());
}

FileMapping::~FileMapping() {
  if (bytes_.empty()) return;
  forget(bytes_);
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace lemma::frontend
