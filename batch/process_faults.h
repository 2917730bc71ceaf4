#pragma once
// What the system does to this process that is no fault of the program: too little memory, no more threads, a file that
// is cut while it is mapped, a file or a disk that is full. Each is told as an error.

#include <exception>
#include <string_view>

#include "base/result.h"

namespace lemma {

/// Prepares the process for faults. To be called first. Writing beyond the largest file (RLIMIT_FSIZE) fails from now
/// on and does not end the process. Memory that the machine or the container does not have is refused when it is asked
/// for, not when it is used. Reading a mapped file behind its end ends the process with a line and ExitCode::bad_input
/// (see tell_cut_files).
void prepare_for_faults();

/// The variable that holds the number of the process that started this one, if this process is to end with it.
inline constexpr const char* parent_variable = "LEMMA_PARENT";
/// Lets this process end when the one that parent_variable names has ended, however that ended. Processes that this one
/// starts are not concerned.
void end_with_parent();

/// Sets where the line on a cut file goes, and what it begins with; by default "lemma: " on standard error. `prefix`
/// stays where it is.
void tell_cut_files(int descriptor, const char* prefix);

/// An exception that left a command. One that says that the system gives no more memory or threads is `unsupported`,
/// any other `internal`.
Error error_of(const std::exception& fault);

}  // namespace lemma
