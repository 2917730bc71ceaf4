#include "batch/process_faults.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "batch/exit_code.h"
#include "frontend_onnx/file_mapping.h"

namespace lemma {

namespace {

std::atomic<int> told_descriptor = STDERR_FILENO;
std::atomic<const char*> told_prefix = "lemma: ";

void write_text(const char* text) { (void)!write(told_descriptor, text, std::strlen(text)); }

/// Calls only what handlers of signals may call.
void on_bus_error(int number, siginfo_t* information, void* /*context*/) {
  const char* file = frontend::mapped_file_at(information->si_addr);
  if (file == nullptr) {  // the instruction is repeated and ends the process
    std::signal(number, SIG_DFL);
    return;
  }
  write_text(told_prefix);
  write_text(file);
  write_text(": was cut while it was read\n");
  _exit(static_cast<int>(ExitCode::bad_input));
}

/// The memory limit of this process's control group, by the interface of either version; the largest number if
/// there is none.
rlim_t container_memory() {
  for (const char* file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::ifstream stream(file);
    rlim_t bytes = 0;
    if (stream >> bytes && bytes > 0) return bytes;
  }
  return RLIM_INFINITY;
}

void refuse_memory_beyond_the_machine() {
#if !defined(__SANITIZE_ADDRESS__)  // whose shadow of all memory counts
  struct sysinfo machine {};
  rlimit data{};
  if (sysinfo(&machine) != 0 || getrlimit(RLIMIT_DATA, &data) != 0) return;
  const rlim_t there = rlim_t{machine.totalram + machine.totalswap} * machine.mem_unit;
  data.rlim_cur = std::min({data.rlim_cur, there, container_memory()});
  setrlimit(RLIMIT_DATA, &data);
#endif
}

}  // namespace

void prepare_for_faults() {
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);  // were it ignored, nobody could wait for children
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
  refuse_memory_beyond_the_machine();
}

void end_with_parent() {
  const char* const given = std::getenv(parent_variable);
  if (given == nullptr) return;
  const long parent = std::strtol(given, nullptr, 10);
  unsetenv(parent_variable);
  // SIGTERM lets it remove what it has not finished. Ignored or blocked, it would be lost.
  struct sigaction action {};
  sigset_t blocked;
  const bool is_heard = sigaction(SIGTERM, nullptr, &action) == 0 && action.sa_handler != SIG_IGN &&
                        sigprocmask(SIG_BLOCK, nullptr, &blocked) == 0 &&
                        sigismember(&blocked, SIGTERM) == 0;
  prctl(PR_SET_PDEATHSIG, is_heard ? SIGTERM : SIGKILL);
  if (getppid() != parent) _exit(static_cast<int>(ExitCode::some_models_failed));
}

void tell_cut_files(int descriptor, const char* prefix) {
  told_descriptor = descriptor;
  told_prefix = prefix;
}

Error error_of(const std::exception& fault) {
  // A size that no container can have is of a tensor that no memory can hold.
  if (dynamic_cast<const std::bad_alloc*>(&fault) != nullptr ||
      dynamic_cast<const std::length_error*>(&fault) != nullptr)
    return {ErrorKind::unsupported, "there is not enough memory for it"};
  const auto* refused = dynamic_cast<const std::system_error*>(&fault);
  if (refused != nullptr && refused->code().value() == EAGAIN)
    return {ErrorKind::unsupported,
            "the system starts no more threads or processes for it (see `ulimit -u`)"};
  return {ErrorKind::internal, std::string("internal fault: ") + fault.what()};
}

}  // namespace lemma
