#include "plans/on_ranks/mpi_ranks.h"

#include <dlfcn.h>

#include <array>
#include <system_error>

#include <fmt/format.h>

namespace lemma::plans {

Result<void> run_as_process(const std::filesystem::path& module, std::size_t ranks,
                            const std::function<Result<void>(Communicator& communicator)>& run) {
  std::error_code error;
  if (!std::filesystem::exists(module, error))
    return unsupported(
        fmt::format("started as {} ranks, but this lemma was built without MPI", ranks));
  // OpenMPI loads parts of its own, which look for its symbols among those of the program.
  void* library = dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return unsupported(fmt::format("MPI cannot be loaded: {}", dlerror()));
  auto* connect = reinterpret_cast<ConnectPlansFunction*>(dlsym(library, connect_plans_name));
  auto* end = reinterpret_cast<EndPlansFunction*>(dlsym(library, end_plans_name));
  if (connect == nullptr || end == nullptr)
    return unsupported(fmt::format("{}: not made for lemma", module.string()));
  std::array<char, 256> reason{};
  Communicator* communicator = connect(reason.data(), reason.size());
  if (communicator == nullptr)
    return unsupported(fmt::format("MPI cannot be used: {}", reason.data()));
  if (communicator->size() != ranks) {
    const std::size_t joined = communicator->size();
    end(communicator, 0);
    return unsupported(fmt::format(
        "started as {} ranks, but MPI joins {}: the launcher is of another MPI", ranks, joined));
  }
  const Result<void> done = run(*communicator);
  end(communicator, done ? 0 : 1);
  return done;
}

}  // namespace lemma::plans
