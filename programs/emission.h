#pragma once
// A model as a directory of source (docs/rtask.md).

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/compile/compile.h"
#include "backend/emit/emit_program.h"
#include "backend/execute/known_resources.h"
#include "backend/flow_program.h"
#include "backend_cuda/emit_cuda/emit_cuda.h"
#include "backend_cuda/regions/plan_regions.h"
#include "costmodel/device.h"
#include "frontend_onnx/model.h"
#include "interpreter/run.h"
#include "ir/dimension.h"
#include "ir/graph.h"
#include "programs/flow_emission.h"

namespace lemma {

/// What source for GPUs is made for, in CUDA or HIP.
struct NvidiaDevice {
  backend::VirtualDevice device;
  backend::CudaOptions options;
  backend::KnownResources known = {};  // of the architecture
};

/// Whether what was planned for a target is known to spill registers or not to fit. The target then has what is not to be
/// chosen again, and is to be planned for once more. An error: there is no other choice.
Result<bool> take_known_resources(backend::Programs programs, NvidiaDevice& target);
/// A program with nothing that is known to spill or not to fit, for the target in place of the options' device.
Result<backend::TaskProgram> compile_for(const Graph& graph, backend::CompileOptions options,
                                         NvidiaDevice& target);

/// Calls of libraries within source for NVIDIA devices.
struct CallRequest {
  Device costs;  // that they are priced by
  backend::CallChoice choice = backend::CallChoice::by_cost;
};

/// The inputs of a model.
struct InputChoice {
  /// Of files input_0.pb, input_1.pb, ...; empty: they are random.
  std::string folder = {};
  std::uint64_t seed = 0;
  /// How many elements of each input are random, and repeated; 0: all are random.
  std::int64_t period = 0;
};

struct EmissionRequest {
  std::string model;      // file
  std::string directory;  // that is made; empty: none
  std::string trace;      // folder for what each pass of the compiler makes; empty: none
  std::string name;       // of functions and files; empty: that of the model
  /// The shapes of inputs, for each of the sizes that the program is for.
  std::vector<std::map<std::string, Shape, std::less<>>> shapes = {{}};
  backend::Policy policy = backend::place_by_best;
  InputChoice inputs;  // of the self-check
  /// Without a self-check where its inputs, its outputs and the tensors of an operator take more.
  std::uint64_t most_check_bytes = std::uint64_t{4} << 30U;
  int threads = 0;  // that run the program, at most; 0: all processors
  /// What a schedule for processors is made for, on exactly so many units; nothing: the threads.
  std::optional<backend::VirtualDevice> device;
  std::optional<backend::KernelTimes> times;  // that are taken in place of modelled ones
  /// Loop schedules that were measured faster (docs/tune.md); null: none. They are for threads, not for a description.
  std::shared_ptr<const backend::LoopSchedules> schedules = nullptr;
  bool replaces = false;          // a directory that is there
  bool fuses = true;              // the thread scheme
  bool takes_own_kernels = true;  // of ir/kernel_override.h, with source for processors
  backend::StitchOptions stitching = {};
  std::optional<std::uint64_t> memory_limit = std::nullopt;  // of the arena, in bytes
  bool takes_least_memory = false;                           // the order that needs the least
  std::int64_t most_rows =
      usual_most_rows;               // that loops have room for (docs/rtask.md, "Control flow")
  bool in_prime_field = false;       // residues for elements of f32, for tests (emit/prime_field.h)
  std::optional<NvidiaDevice> cuda;  // nothing: source for processors
  std::optional<CallRequest> calls;
  backend::PassObserver observer = {};         // or none
  backend::CompleteProgram before_publishing;  // of the directory; none: nothing is called
};

struct PreparedModel {
  Graph graph;  // with constant sizes, and constants folded, without composite operators
  Graph model;  // as the file has it
  std::vector<interpreter::NamedTensor> inputs;
  std::uint64_t missing_bytes = 0;  // of what there are no inputs for; 0: there are
};
/// A model with its inputs, where running it on them takes no more bytes. All sizes must be fixed, by the file or by
/// `shapes`.
Result<PreparedModel> prepare_model(OnnxModel model, const InputChoice& choice = {},
                                    std::optional<std::uint64_t> most_bytes = std::nullopt);
/// The same of a file.
Result<PreparedModel> prepare_model(const std::string& file,
                                    const std::map<std::string, Shape, std::less<>>& shapes,
                                    const InputChoice& choice = {},
                                    std::optional<std::uint64_t> most_bytes = std::nullopt);

/// The dimensions of inputs as the file has them, by the input's name: "N", or nothing where a size is fixed.
Result<std::map<std::string, std::vector<std::string>>> dimension_names(const std::string& file);

struct Emission {
  std::vector<backend::TaskProgram> programs;  // by sizes of the inputs, or segments
  std::optional<backend::FlowProgram> flow;  // of a model with control flow, which has the segments
  std::vector<std::vector<interpreter::NamedTensor>> inputs;  // by sizes
  std::uint64_t missing_bytes =
      0;  // that the self-check would take, where there is none and no inputs are
  double planning_seconds = 0;
  /// What calls of libraries were planned. If it has a program, that is what is emitted, and `programs` are its regions.
  std::optional<backend::RegionPlan> calls;
  /// The options of source for GPUs, with what is known to spill or not to fit, which was
  /// not chosen.
  std::optional<backend::CudaOptions> cuda;
};

/// An error: the directory is there and may not be replaced, or something else is in its place.
Result<void> check_emission_directory(const EmissionRequest& request);

/// Emits the program of a model, which may have control flow. Without a directory, it is only planned. Otherwise the directory appears
/// complete, or not at all.
Result<Emission> emit_model(const EmissionRequest& request);

/// The description of a processor that --device names, with a unit for each thread; nothing for no name.
Result<std::optional<backend::VirtualDevice>> processor_device(const std::string& name,
                                                               int threads);

/// What a program for the processors here is compiled with, for the described device if there is one.
backend::CompileOptions processor_options(int threads,
                                          const std::optional<backend::VirtualDevice>& device);

/// Why no task program can be made of a graph; nothing is written.
Result<void> check_emission(const Graph& graph, int threads);

}  // namespace lemma
