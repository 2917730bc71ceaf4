#include "engines/onnx_runtime_target.h"

#include "targets/data_files.h"

namespace lemma {

namespace {

class OnnxRuntimeTarget : public Target {
 public:
  std::string name() const override { return "onnxruntime-cpu"; }
  std::string summary() const override {
    return "candidates are run, and the original is kept unless one is faster";
  }
  std::string measured_part() const override {
    return "the nodes that ONNX Runtime makes of models";
  }
  std::optional<CostSource> measured_costs() const override {
    CostSource source;
    source.runtime = "ONNX Runtime ";
    const std::filesystem::path shipped = data_directory() / "profiles" / "x86-64.json";
    if (std::filesystem::exists(shipped)) source.shipped = shipped;
    return source;
  }
  bool runs_models() const override { return true; }
  bool is_onnx_runtime() const override { return true; }
  bool has_runtime_layouts() const override { return true; }
};

}  // namespace

std::unique_ptr<Target> onnx_runtime_target() { return std::make_unique<OnnxRuntimeTarget>(); }

}  // namespace lemma
