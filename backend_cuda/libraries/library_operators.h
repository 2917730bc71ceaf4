#pragma once
// The target rtask-cuda: operators by calls of NVIDIA's libraries.

#include <filesystem>
#include <memory>

#include "backend_cuda/libraries/library_device.h"

namespace lemma::backend {

/// What runtimes of this target are called in the profile database; their version follows.
inline constexpr std::string_view library_runtime = "CUDA libraries ";

class LibraryOperators : public DirectTimer {
 public:
  explicit LibraryOperators(std::filesystem::path module) : module_(std::move(module)) {}
  /// Operators on a device that is open already.
  explicit LibraryOperators(std::unique_ptr<LibraryDevice> device) : device_(std::move(device)) {}

  /// The module is loaded at the first call. Errors are `unsupported`: "no CUDA device was found", or there is no
  /// module.
  Result<RuntimeIdentity> identity() override;

 protected:
  Result<OperatorTime> time(const CostKey& key, WeightPlace weights,
                            const MeasurementOptions& options) override;

 private:
  std::filesystem::path module_;
  std::unique_ptr<LibraryDevice> device_;
};

}  // namespace lemma::backend
