#include "ranks/module.h"

#include <dlfcn.h>

#include <system_error>

#include <fmt/format.h>

namespace lemma::ranks {

Result<void*> module_function(const std::filesystem::path& module, const char* name,
                              std::size_t ranks) {
  std::error_code error;
  if (!std::filesystem::exists(module, error))
    return unsupported(
        fmt::format("started as {} ranks, but this lemma was built without MPI", ranks));
  // OpenMPI loads parts of its own, which look for its symbols among those of the program.
  void* const library = dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) return unsupported(fmt::format("MPI cannot be loaded: {}", dlerror()));
  void* const function = dlsym(library, name);
  if (function == nullptr)
    return unsupported(fmt::format("{}: not made for lemma", module.string()));
  return function;
}

Error other_launcher(std::size_t started, std::size_t joined) {
  return {ErrorKind::unsupported,
          fmt::format("started as {} ranks, but MPI joins {}: the launcher is of another MPI",
                      started, joined)};
}

}  // namespace lemma::ranks
