#include "backend/execute/cuda_driver.h"

#include <dlfcn.h>

#include <memory>

#include <fmt/format.h>

namespace lemma::backend {

namespace {

// Of cuda.h, which is not there where there is no toolkit: CUdevice_attribute.
constexpr int attribute_multiprocessors = 16, attribute_major = 75, attribute_minor = 76;

struct Close {
  void operator()(void* library) const { dlclose(library); }
};

template <typename Function>
Function function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));  // NOLINT: that is what dlsym is for
}

Error not_found(std::string_view why) {
  return {ErrorKind::unsupported, fmt::format("no CUDA device was found ({})", why)};
}

}  // namespace

Result<CudaDriverDevice> first_cuda_device() {
  const std::unique_ptr<void, Close> driver(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
  if (!driver) return tl::unexpected(not_found("there is no driver: libcuda.so.1"));
  const auto initialize = function<int (*)(unsigned)>(driver.get(), "cuInit");
  const auto count_devices = function<int (*)(int*)>(driver.get(), "cuDeviceGetCount");
  const auto get = function<int (*)(int*, int, int)>(driver.get(), "cuDeviceGetAttribute");
  if (initialize == nullptr || count_devices == nullptr || get == nullptr)
    return tl::unexpected(not_found("libcuda.so.1 lacks functions"));
  int count = 0, multiprocessors = 0, major = 0, minor = 0;
  if (const int code = initialize(0); code != 0)
    return tl::unexpected(not_found(fmt::format("cuInit: error {}", code)));
  if (count_devices(&count) != 0 || count == 0)
    return tl::unexpected(not_found("the driver has none"));
  if (get(&multiprocessors, attribute_multiprocessors, 0) != 0 ||
      get(&major, attribute_major, 0) != 0 || get(&minor, attribute_minor, 0) != 0)
    return tl::unexpected(not_found("cuDeviceGetAttribute failed"));
  return CudaDriverDevice{fmt::format("sm_{}{}", major, minor),
                          static_cast<std::uint32_t>(multiprocessors)};
}

}  // namespace lemma::backend
