#pragma once
// Models as compiled libraries: what `lemma compile` does (docs/compile.md).

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/dimension.h"
#include "ir/tensor_type.h"
#include "programs/flow_emission.h"

namespace lemma {

struct CompilationRequest {
  std::string model;      // file
  std::string directory;  // that is made; empty: the library stays in the cache
  std::string name;       // of functions and files in the directory; empty: that of the model
  /// The shapes of inputs, for each of the sizes that the library is for.
  std::vector<std::map<std::string, Shape, std::less<>>> shapes = {{}};
  int threads = 0;  // that run a program, at most; 0: all processors
  /// Loop schedules that were measured faster (docs/tune.md); null: none.
  std::shared_ptr<const backend::LoopSchedules> schedules = nullptr;
  bool replaces = false;  // a directory that is there
  std::int64_t most_rows =
      usual_most_rows;  // that loops have room for (docs/rtask.md, "Control flow")
  /// What no program computes is left to ONNX Runtime; otherwise it is an error.
  bool in_parts = false;
  std::function<void(const std::string&)> on_step;  // is told what begins to be done; or none
  std::function<bool()> is_over;                    // ends the compilation; or none
};

struct NamedType {
  std::string name;
  TensorType type;
};

/// A part of a model. Its inputs and outputs are values of the model, by name.
struct CompiledPart {
  bool is_program = false;
  /// Of a program: its library, whose functions begin with "task_program", and its weights. Otherwise a model for ONNX
  /// Runtime.
  std::filesystem::path library, weights, model;
  std::vector<NamedType> inputs, outputs;
  std::size_t units = 0, operators = 0;
};

struct Compilation {
  std::vector<CompiledPart> parts;  // in the order in which they run; of a directory, one
  /// An input has no sizes, so that nothing is compiled. Only of a model that would be compiled in parts.
  bool has_open_sizes = false;
  std::vector<NamedType> inputs;  // of the model
  struct Output {
    NamedType named;
    std::string value;  // the name of what a part gives or the model is given
  };
  std::vector<Output> outputs;
  std::string
      runtime_operators;  // for people: what has no program and runs in ONNX Runtime; empty: nothing
  /// Everything else runs there as well, because programs would have less to do than handing values on takes.
  bool is_left_to_runtime = false;
  std::vector<std::string> files;  // of the directory
  double planning_seconds = 0, compiling_seconds = 0;
};

/// Errors are `unsupported` where a part of the model has no program, unless it is compiled in parts.
Result<Compilation> compile_model(const CompilationRequest& request);

}  // namespace lemma
