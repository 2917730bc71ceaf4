#include "backend_cuda/libraries/library_operators.h"

#include <dlfcn.h>

#include <array>

#include <fmt/format.h>

namespace lemma::backend {

namespace {

Result<std::unique_ptr<LibraryDevice>> load(const std::filesystem::path& module) {
  std::error_code ignored;
  if (!std::filesystem::exists(module, ignored))
    return unsupported("this lemma was built without the CUDA toolkit");
  void* const library = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return unsupported(fmt::format("the CUDA libraries cannot be loaded: {}", dlerror()));
  auto* const open = reinterpret_cast<OpenLibraryDevice*>(  // NOLINT: that is what dlsym is for
      dlsym(library, open_library_device_name));
  if (open == nullptr) return unsupported(fmt::format("{}: not made for lemma", module.string()));
  std::array<char, 256> reason{};
  std::unique_ptr<LibraryDevice> device(open(reason.data(), reason.size()));
  if (device == nullptr) return unsupported(reason.data());
  return device;
}

}  // namespace

Result<RuntimeIdentity> LibraryOperators::identity() {
  if (!device_) {
    LEMMA_ASSIGN_OR_RETURN(device_, load(module_));
  }
  return device_->identity();
}

Result<OperatorTime> LibraryOperators::time(const CostKey& key, WeightPlace /*weights*/,
                                            const MeasurementOptions& /*options*/) {
  const auto problem = library_problem(key);
  if (!problem)
    return unsupported(fmt::format("no call of cuBLASLt or cuDNN: {}", problem.error().message));
  return device_->time(*problem);
}

}  // namespace lemma::backend
