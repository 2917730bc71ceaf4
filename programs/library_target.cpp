#include "programs/library_target.h"

#include "backend_cuda/libraries/library_operators.h"

namespace lemma {

namespace {

/// Beside the data folder, in a build folder and once installed.
std::filesystem::path cuda_module() {
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  return program.parent_path().parent_path() / "lib" / "lemma" / "lemma_cuda.so";
}

class LibraryTarget : public Target {
 public:
  std::string name() const override { return "rtask-cuda"; }
  std::string summary() const override {
    return "predicted; operators as measured with cuBLASLt and cuDNN";
  }
  std::string measured_part() const override { return "operators by calls of cuBLASLt and cuDNN"; }
  std::optional<CostSource> measured_costs() const override {
    CostSource source;
    source.runtime = std::string(backend::library_runtime);
    source.any_device = true;
    source.by_default = true;
    return source;
  }
  bool needs_device() const override { return true; }
  Result<TargetTimers> timers(const TimerRequest& /*request*/) const override {
    return TargetTimers{std::make_unique<backend::LibraryOperators>(cuda_module()), nullptr};
  }
  ProgramSource source() const override { return ProgramSource::cuda; }
};

}  // namespace

std::unique_ptr<Target> library_target() { return std::make_unique<LibraryTarget>(); }

}  // namespace lemma
