#include "traced_call.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>

namespace {

enum Effect : unsigned {
  change = 1,   // of files, or a program is started
  space = 2,    // it may need space on the file system
  brief = 4,    // it needs space only where a folder grows, which a full file system seldom shows
  opening = 8,  // a new descriptor
  reading = 16,
};

/// Where the file of a call is found.
enum class Place {
  path,         // the first argument is a path
  path_at,      // a folder's descriptor, then a path
  second_path,  // the first argument is no path: symlink, whose second is what is made
  path_at_1,    // symlinkat: the folder's descriptor is the second argument
  descriptor,   // the first argument
  mapping,      // mmap
  none,
};

struct KnownCall {
  long number;
  std::string_view name;
  unsigned effects;
  Place place;
};

constexpr auto calls = std::to_array<KnownCall>({
    // Their effects depend on flags: effects_of().
    {SYS_open, "open", opening, Place::path},
    {SYS_openat, "openat", opening, Place::path_at},
    {SYS_openat2, "openat2", opening, Place::path_at},
    {SYS_fcntl, "fcntl", opening, Place::none},
    {SYS_mmap, "mmap", change | space, Place::mapping},

    {SYS_creat, "creat", change | space | opening, Place::path},
    {SYS_write, "write", change | space, Place::descriptor},
    {SYS_pwrite64, "pwrite64", change | space, Place::descriptor},
    {SYS_writev, "writev", change | space, Place::descriptor},
    {SYS_pwritev, "pwritev", change | space, Place::descriptor},
    {SYS_pwritev2, "pwritev2", change | space, Place::descriptor},
    {SYS_sendfile, "sendfile", change | space, Place::descriptor},
    {SYS_copy_file_range, "copy_file_range", change | space, Place::descriptor},
    {SYS_ftruncate, "ftruncate", change | space, Place::descriptor},
    {SYS_truncate, "truncate", change | space, Place::path},
    {SYS_fallocate, "fallocate", change | space, Place::descriptor},
    {SYS_fsync, "fsync", change | space, Place::descriptor},
    {SYS_fdatasync, "fdatasync", change | space, Place::descriptor},
    {SYS_syncfs, "syncfs", change | space, Place::descriptor},
    {SYS_msync, "msync", change, Place::none},
    {SYS_rename, "rename", change | brief, Place::path},
    {SYS_renameat, "renameat", change | brief, Place::path_at},
    {SYS_renameat2, "renameat2", change | brief, Place::path_at},
    {SYS_link, "link", change | space, Place::path},
    {SYS_linkat, "linkat", change | space, Place::path_at},
    {SYS_symlink, "symlink", change | space, Place::second_path},
    {SYS_symlinkat, "symlinkat", change | space, Place::path_at_1},
    {SYS_unlink, "unlink", change, Place::path},
    {SYS_unlinkat, "unlinkat", change, Place::path_at},
    {SYS_rmdir, "rmdir", change, Place::path},
    {SYS_mkdir, "mkdir", change | space, Place::path},
    {SYS_mkdirat, "mkdirat", change | space, Place::path_at},
    {SYS_mknod, "mknod", change | space, Place::path},
    {SYS_mknodat, "mknodat", change | space, Place::path_at},
    {SYS_chmod, "chmod", change, Place::path},
    {SYS_fchmod, "fchmod", change, Place::descriptor},
    {SYS_fchmodat, "fchmodat", change, Place::path_at},
    {SYS_fchown, "fchown", change, Place::descriptor},
    {SYS_utimensat, "utimensat", change, Place::path_at},
    {SYS_execve, "execve", change, Place::path},
    {SYS_execveat, "execveat", change, Place::path_at},

    {SYS_read, "read", reading, Place::descriptor},
    {SYS_pread64, "pread64", reading, Place::descriptor},
    {SYS_readv, "readv", reading, Place::descriptor},
    {SYS_getdents64, "getdents64", reading, Place::descriptor},

    {SYS_pipe, "pipe", opening, Place::none},
    {SYS_pipe2, "pipe2", opening, Place::none},
    {SYS_dup, "dup", opening, Place::none},
    {SYS_socket, "socket", opening, Place::none},
    {SYS_memfd_create, "memfd_create", opening, Place::none},
    {SYS_eventfd2, "eventfd2", opening, Place::none},
    {SYS_epoll_create1, "epoll_create1", opening, Place::none},
    {SYS_inotify_init1, "inotify_init1", opening, Place::none},
    {SYS_timerfd_create, "timerfd_create", opening, Place::none},
    {SYS_signalfd4, "signalfd4", opening, Place::none},
    {SYS_pidfd_open, "pidfd_open", opening, Place::none},
});

const KnownCall* known_call(long number) {
  for (const KnownCall& call : calls)
    if (call.number == number) return &call;
  return nullptr;
}

/// The string at an address of another process, up to the end of what can be read.
std::string text_at(pid_t thread, unsigned long long address) {
  std::string text;
  while (text.size() < PATH_MAX) {
    std::array<char, 256> part{};
    // Up to the end of a page: the next one may not be there.
    const std::size_t wanted = part.size() - address % part.size();
    iovec here{part.data(), wanted};
    iovec there{reinterpret_cast<void*>(address), wanted};  // NOLINT(performance-no-int-to-ptr)
    const ssize_t count = process_vm_readv(thread, &here, 1, &there, 1, 0);
    if (count <= 0) break;
    const std::string_view read(part.data(), static_cast<std::size_t>(count));
    const std::size_t end = read.find('\0');
    text += read.substr(0, end);
    if (end != std::string_view::npos) break;
    address += read.size();
  }
  return text;
}

std::string link_of(pid_t thread, const std::string& name) {
  std::array<char, PATH_MAX> target{};
  const std::string link = "/proc/" + std::to_string(thread) + "/" + name;
  const ssize_t count = readlink(link.c_str(), target.data(), target.size());
  return count > 0 ? std::string(target.data(), static_cast<std::size_t>(count)) : std::string();
}

std::string file_of(pid_t thread, long long descriptor) {
  return link_of(thread, "fd/" + std::to_string(static_cast<int>(descriptor)));
}

std::string path_of(pid_t thread, int folder, unsigned long long address) {
  std::string path = text_at(thread, address);
  if (path.starts_with('/')) return path;
  const std::string base = folder == AT_FDCWD ? link_of(thread, "cwd") : file_of(thread, folder);
  return path.empty() ? base : base + "/" + path;
}

std::string place_of(const KnownCall& call, pid_t thread, const user_regs_struct& registers) {
  const auto folder = static_cast<int>(registers.rdi);
  switch (call.place) {
    case Place::path: return path_of(thread, AT_FDCWD, registers.rdi);
    case Place::path_at: return path_of(thread, folder, registers.rsi);
    case Place::second_path: return path_of(thread, AT_FDCWD, registers.rsi);
    case Place::path_at_1: return path_of(thread, static_cast<int>(registers.rsi), registers.rdx);
    case Place::descriptor: return file_of(thread, static_cast<long long>(registers.rdi));
    case Place::mapping: return file_of(thread, static_cast<long long>(registers.r8));
    case Place::none: return {};
  }
  return {};
}

unsigned effects_of(const KnownCall& call, pid_t thread, const user_regs_struct& registers) {
  const auto writes = [](unsigned long long flags) {
    return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) != 0 ? change | space : 0U;
  };
  switch (call.number) {
    case SYS_open: return opening | writes(registers.rsi);
    case SYS_openat: return opening | writes(registers.rdx);
    case SYS_openat2: {
      unsigned long long flags = 0;  // the first field of open_how
      iovec here{&flags, sizeof flags};
      iovec there{reinterpret_cast<void*>(registers.rdx),  // NOLINT(performance-no-int-to-ptr)
                  sizeof flags};
      process_vm_readv(thread, &here, 1, &there, 1, 0);
      return opening | writes(flags);
    }
    case SYS_fcntl:
      return registers.rsi == F_DUPFD || registers.rsi == F_DUPFD_CLOEXEC ? opening : 0U;
    case SYS_mmap: {
      const bool reaches_file = (registers.r10 & MAP_SHARED) != 0 &&
                                (registers.r10 & MAP_ANONYMOUS) == 0 &&
                                (registers.rdx & PROT_WRITE) != 0;
      return reaches_file ? call.effects : 0U;
    }
    default: return call.effects;
  }
}

/// Not a pipe, a socket, memory or a device.
bool is_on_disk(std::string_view path) {
  if (!path.starts_with('/')) return false;
  for (const std::string_view other : {"/dev/", "/proc/", "/sys/", "/memfd:"})
    if (path.starts_with(other)) return false;
  return true;
}

/// The dynamic loader reads them before a program begins, and a program that is not loaded tells nothing.
bool is_library(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name == "ld.so.cache" || name.ends_with(".so") ||
         name.find(".so.") != std::string_view::npos;
}

unsigned effects_counted(PointKind kind) {
  switch (kind) {
    case PointKind::changes: return change;
    case PointKind::no_space: return space | brief;
    case PointKind::input_output: return change | opening | reading;
    case PointKind::descriptors: return opening;
  }
  return 0;
}

}  // namespace

std::optional<PointKind> point_kind_named(std::string_view name) {
  if (name == "changes") return PointKind::changes;
  if (name == "ENOSPC") return PointKind::no_space;
  if (name == "EIO") return PointKind::input_output;
  if (name == "EMFILE") return PointKind::descriptors;
  return std::nullopt;
}

int error_of(PointKind kind) {
  switch (kind) {
    case PointKind::changes: return 0;
    case PointKind::no_space: return ENOSPC;
    case PointKind::input_output: return EIO;
    case PointKind::descriptors: return EMFILE;
  }
  return 0;
}

std::vector<sock_filter> call_filter() {
  std::vector<sock_filter> filter;
  const auto add = [&](int code, std::size_t value, std::size_t if_true = 0,
                       std::size_t if_false = 0) {
    filter.push_back({static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true),
                      static_cast<std::uint8_t>(if_false), static_cast<std::uint32_t>(value)});
  };
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  add(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (std::size_t i = 0; i < calls.size(); ++i)
    add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::size_t>(calls[i].number), calls.size() - i, 0);
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  add(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
  return filter;
}

std::optional<TracedCall> point_at(pid_t thread, const user_regs_struct& registers,
                                   PointKind kind) {
  const KnownCall* call = known_call(static_cast<long>(registers.orig_rax));
  if (call == nullptr) return std::nullopt;
  const unsigned effects = effects_of(*call, thread, registers);
  if ((effects & effects_counted(kind)) == 0) return std::nullopt;
  TracedCall traced{call->name, place_of(*call, thread, registers), (effects & brief) == 0};
  const bool runs = call->number == SYS_execve || call->number == SYS_execveat;
  // A missing disk has no programs to run, but then nothing at all is tested.
  if (runs && kind == PointKind::input_output) return std::nullopt;
  // Devices need descriptors too, and a program is started as /proc/self/exe.
  if (call->place != Place::none && !runs && kind != PointKind::descriptors &&
      !is_on_disk(traced.path))
    return std::nullopt;
  if (kind != PointKind::changes && is_library(traced.path)) return std::nullopt;
  return traced;
}
