#pragma once
// Task programs as shared libraries: compiled once, kept, and run in this process.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/emit/emit_program.h"
#include "backend/program.h"
#include "backend_cuda/emit_cuda/emit_cuda.h"
#include "base/result.h"
#include "interpreter/run.h"
#include "interpreter/tensor.h"
#include "system/program.h"

namespace lemma::backend {

/// Number of threads for 0: all processors.
std::uint32_t thread_count(int threads);

/// $LEMMA_CACHE, else lemma's folder below $XDG_CACHE_HOME or ~/.cache.
Result<std::filesystem::path> default_cache_folder();

/// The last line of what nvcc says of itself ($CUDACXX, else that of the search path or of $CUDA_HOME). An error (`unsupported`):
/// there is no CUDA toolkit.
Result<std::string> cuda_compiler_version();

/// The compiler of programs, and where they are kept.
class ProgramBuilder {
 public:
  /// The compiler is $CXX, else c++, g++ or clang++. An error (`unsupported`): there is none, or it does not say its
  /// version within so many seconds.
  static Result<ProgramBuilder> create(std::filesystem::path cache_folder,
                                       double seconds_for_version = most_seconds_for_version);
  static constexpr double most_seconds_for_version = 30;
  static constexpr double most_seconds_to_compile = 3600;

  /// A builder for programs of an NVIDIA device, compiled by nvcc ($CUDACXX, else that of the search path or of
  /// $CUDA_HOME). An error (`unsupported`): there is no CUDA toolkit.
  static Result<ProgramBuilder> create_for_cuda(std::filesystem::path cache_folder,
                                                const CudaOptions& options);

  /// The same for processors, of programs that also say how long each operator takes (BuiltProgram::operator_times).
  ProgramBuilder with_operator_times() const;

  /// What code is compiled with: "c++ 13.3.0 ..., -std=c++20 -O3 -march=native".
  const std::string& identity() const { return identity_; }

  /// Sources, written to a folder that is named by what they are and by the compiler; it follows that a program that
  /// is there needs not be built again.
  Result<std::filesystem::path> write(const TaskProgram& program) const;
  /// The same for several sizes, under another name.
  Result<std::filesystem::path> write(std::span<const TaskProgram> programs,
                                      const ProgramNames& names) const;
  /// The same of a program with control flow, for processors.
  Result<std::filesystem::path> write(const FlowProgram& program, const ProgramNames& names) const;
  /// Compiles what write() wrote, unless that was done. To be called from several threads. `is_over`: asked from time
  /// to time, ends the compiler, which also ends after the most seconds; then, and where the compiler fails, there is an
  /// error. `at_a_time`: so many compilers run at the same time at most (0: one for each processor).
  Result<void> build(const std::filesystem::path& folder, const std::function<bool()>& is_over,
                     std::size_t at_a_time = 1) const;
  /// The same for several programs together.
  Result<void> build_all(const std::vector<std::filesystem::path>& folders,
                         const std::function<bool()>& is_over, std::size_t at_a_time) const;
  /// Compiles the sources of the program of this name in a folder. What is made meanwhile is beside the product.
  Result<void> compile(const std::filesystem::path& folder, const std::string& name,
                       const std::filesystem::path& product, const std::function<bool()>& is_over,
                       std::size_t at_a_time) const;

 private:
  ProgramBuilder() = default;
  /// Writes these sources to a folder, with the weights of the programs.
  Result<std::filesystem::path> write_files(std::span<const TaskProgram> programs,
                                            ProgramFiles files, const std::string& name) const;
  /// Calls of compilers: those of a list can run at the same time, and the lists follow each other.
  std::vector<std::vector<Program>> compilations(const std::filesystem::path& folder,
                                                 const std::string& name,
                                                 const std::filesystem::path& product,
                                                 std::size_t at_a_time) const;
  std::filesystem::path cache_folder_;  // of programs of this kind
  std::string identity_;
  std::vector<std::string> words_;  // the compiler and its options
  std::string product_;             // its name
  std::optional<CudaOptions> cuda_;
  bool has_operator_times_ = false;
};

/// The tensors of the program's inputs, in its order. Others are left out, and so is an input that has none.
std::vector<interpreter::Tensor> inputs_by_position(
    const TaskProgram& program, std::span<const interpreter::NamedTensor> inputs);

/// Inputs and outputs in memory that programs accept.
class ProgramCall {
 public:
  /// Inputs by position, copied; outputs have the types of the program.
  ProgramCall(const TaskProgram& program, std::span<const interpreter::Tensor> inputs);
  /// Inputs are read where they are, and live until the run; those that are not aligned are copied.
  static ProgramCall in_place(const TaskProgram& program,
                              std::span<const interpreter::Tensor> inputs);
  ProgramCall(ProgramCall&&) noexcept = default;
  ProgramCall& operator=(ProgramCall&&) noexcept = default;
  ProgramCall(const ProgramCall&) = delete;
  ProgramCall& operator=(const ProgramCall&) = delete;
  ~ProgramCall() = default;

  /// What the last run has computed.
  const std::vector<interpreter::Tensor>& outputs() const { return outputs_; }

 private:
  friend class BuiltProgram;
  ProgramCall() = default;
  void add_copied(std::span<const std::byte> input);
  void add_outputs(const TaskProgram& program);

  std::vector<std::vector<double>> inputs_;  // for their alignment
  std::vector<interpreter::Tensor> outputs_;
  std::vector<const void*> input_pointers_;
  std::vector<void*> output_pointers_;
  std::vector<std::size_t> input_bytes_, output_bytes_;
};

/// A program that runs, with its own memory, weights and threads.
class BuiltProgram {
 public:
  static Result<BuiltProgram> open(const std::filesystem::path& folder);
  BuiltProgram(BuiltProgram&& other) noexcept;
  BuiltProgram& operator=(BuiltProgram&&) = delete;
  ~BuiltProgram();

  Result<void> run(ProgramCall& call) const;
  /// When each step began and ended, in seconds since the run began: two numbers for each, unit after unit.
  Result<std::vector<double>> run_recorded(ProgramCall& call) const;
  /// Runs the only unit, and adds the processor's seconds of each operator, by number. The program is of a builder
  /// with_operator_times().
  Result<void> operator_times(ProgramCall& call, std::span<double> seconds) const;

 private:
  using Create = int (*)(const char*, void**);
  using Run = int (*)(void*, const void* const*, const std::size_t*, std::size_t, void* const*,
                      const std::size_t*, std::size_t);
  using StepCount = std::size_t (*)();
  using Record = int (*)(void*, double*);
  using Times = int (*)(void*, const void* const*, void* const*, double*);
  using Destroy = void (*)(void*);
  using Message = const char* (*)();
  struct Close {
    void operator()(void* library) const;
  };

  BuiltProgram() = default;
  template <typename Function>
  Function function(const std::string& name) const;

  std::unique_ptr<void, Close> library_;
  void* state_ = nullptr;
  Run run_ = nullptr;
  StepCount step_count_ = nullptr;
  Record record_ = nullptr;
  Destroy destroy_ = nullptr;
  Message message_ = nullptr;
};

}  // namespace lemma::backend
