#include "programs/hip_target.h"

#include "programs/emission.h"

namespace lemma {

namespace {

class HipTarget : public Target {
 public:
  std::string name() const override { return "rtask-hip"; }
  std::string summary() const override {
    return "predicted; `lemma emit --target hip` writes programs for AMD devices";
  }
  ProgramSource source() const override { return ProgramSource::hip; }
  Result<void> admits(const Graph& graph, int threads) const override {
    return check_emission(graph, threads);
  }
};

}  // namespace

std::unique_ptr<Target> hip_target() { return std::make_unique<HipTarget>(); }

}  // namespace lemma
