#include "frontend_onnx/file_mapping.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace lemma::frontend {

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
  return std::shared_ptr<const FileMapping>(new FileMapping(bytes));
}

FileMapping::~FileMapping() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace lemma::frontend
