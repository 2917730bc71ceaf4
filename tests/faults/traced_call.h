#pragma once
// The system calls that a fault can strike: those that change files, read them, or open descriptors.

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>

#include <linux/filter.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Which calls are counted, and what happens at the chosen one.
enum class PointKind {
  changes,       // calls that change files or start a program: the process is killed
  no_space,      // calls that need space on the file system: ENOSPC
  input_output,  // calls that change, open or read files: EIO
  descriptors,   // calls that open a descriptor: EMFILE
};

/// By its name on the command line: changes, ENOSPC, EIO, EMFILE.
std::optional<PointKind> point_kind_named(std::string_view name);

/// The error number that such a call fails with; 0 for PointKind::changes.
int error_of(PointKind kind);

struct TracedCall {
  std::string_view name;
  std::string path;  // absolute where it is known; the first of two
  /// Whether it fails for as long as the fault lasts. A full file system still renames; a call that only frees space
  /// never fails for lack of it.
  bool fails_on = true;
};

/// Lets through all calls but those of the table, at which the process stops for its tracer.
std::vector<sock_filter> call_filter();

/// The call that the stopped thread is about to make, if it is a point of this kind. Calls on pipes, sockets, devices
/// and /proc are none.
std::optional<TracedCall> point_at(pid_t thread, const user_regs_struct& registers, PointKind kind);
