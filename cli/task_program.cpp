#include "cli/task_program.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "backend_cuda/emit/emit_program.h"
#include "ir/files.h"
#include "ir/sha256.h"
#include "ir/specialize.h"
#include "search/fold_constants.h"
#include "system/program.h"

namespace lemma {

namespace {

namespace fs = std::filesystem;
using interpreter::NamedTensor;
using interpreter::Tensor;

/// Of functions and files of the programs that are built here.
const backend::ProgramNames built_names = {"task_program", "task program"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<fs::path> cache_folder() {
  if (const std::string given = variable("LEMMA_CACHE"); !given.empty()) return fs::path(given);
  if (const std::string base = variable("XDG_CACHE_HOME"); !base.empty())
    return fs::path(base) / "lemma";
  const std::string home = variable("HOME");
  if (home.empty()) return bad_input("there is no folder for built programs; set LEMMA_CACHE");
  return fs::path(home) / ".cache" / "lemma";
}

Result<std::string> compiler() {
  if (const std::string given = variable("CXX"); !given.empty()) return given;
  for (const char* name : {"c++", "g++", "clang++"})
    if (const std::string found = find_program(name); !found.empty()) return found;
  return unsupported("there is no C++ compiler to build the program with; set CXX");
}

std::vector<std::string> compile_words(const std::string& compiler) {
  return {compiler,   "-std=c++20", "-O3",   "-march=native",
          "-pthread", "-shared",    "-fPIC", built_names.name + ".cpp"};
}

Result<void> build_library(const fs::path& folder, const std::string& compiler) {
  const fs::path library = folder / "program.so";
  const std::string partial = fmt::format("program.so.{}", getpid());
  Program program{compile_words(compiler), folder};
  program.words.insert(program.words.end(), {"-o", partial});
  program.shows_errors = true;
  LEMMA_ASSIGN_OR_RETURN(const ProgramRun run, run_program(program, [] { return false; }));
  if (!run.succeeded())
    return internal_error(fmt::format("{}: the program cannot be compiled", folder.string()));
  std::error_code error;
  fs::rename(folder / partial, library, error);
  if (error) return bad_input(fmt::format("{}: {}", library.string(), error.message()));
  return {};
}

/// The folder of the built program. Its name follows from the source, which has a digest of the weights.
Result<fs::path> built(const backend::TaskProgram& program) {
  LEMMA_ASSIGN_OR_RETURN(const fs::path cache, cache_folder());
  LEMMA_ASSIGN_OR_RETURN(const std::string with, compiler());
  LEMMA_ASSIGN_OR_RETURN(const auto files, backend::emit_program(program, built_names));
  std::string key;
  for (const std::string& word : compile_words(with)) key += word + "\n";
  for (const auto& [name, contents] : files) key += fmt::format("{} {}\n", name, sha256(contents));
  const fs::path folder = cache / "task_programs" / sha256(key).substr(0, 32);
  std::error_code error;
  if (!fs::exists(folder / "weights.bin", error)) {
    LEMMA_RETURN_IF_ERROR(make_folder(folder.parent_path()));
    LEMMA_RETURN_IF_ERROR(backend::write_program(program, built_names, {}, folder, true));
  }
  if (!fs::exists(folder / "program.so", error)) LEMMA_RETURN_IF_ERROR(build_library(folder, with));
  return folder;
}

/// A program in a shared library, by its C interface.
class BuiltProgram {
 public:
  static Result<BuiltProgram> open(const fs::path& folder) {
    BuiltProgram program;
    program.library_.reset(dlopen((folder / "program.so").c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!program.library_) return internal_error(fmt::format("{}", dlerror()));
    const auto create = program.function<Create>("create");
    program.run_ = program.function<Run>("run");
    program.destroy_ = program.function<Destroy>("destroy");
    program.message_ = program.function<Message>("message");
    if (create == nullptr || program.run_ == nullptr || program.destroy_ == nullptr ||
        program.message_ == nullptr)
      return internal_error(fmt::format("{}: not the functions of a program", folder.string()));
    if (create((folder / "weights.bin").c_str(), &program.state_) != 0)
      return internal_error(program.message_());
    return program;
  }

  BuiltProgram(BuiltProgram&& other) noexcept
      : library_(std::move(other.library_)),
        state_(std::exchange(other.state_, nullptr)),
        run_(other.run_),
        destroy_(other.destroy_),
        message_(other.message_) {}
  BuiltProgram& operator=(BuiltProgram&&) = delete;
  ~BuiltProgram() {
    if (state_ != nullptr) destroy_(state_);
  }

  Result<void> run(std::span<const Tensor> inputs, std::span<Tensor> outputs) const {
    std::vector<const void*> input_pointers;
    std::vector<void*> output_pointers;
    std::vector<std::size_t> input_bytes, output_bytes;
    std::vector<std::vector<double>> copies;  // of inputs that are not aligned
    for (const Tensor& input : inputs) {
      const std::span<const std::byte> bytes = input.bytes();
      copies.emplace_back(bytes.size() / sizeof(double) + 1);
      if (!bytes.empty()) std::memcpy(copies.back().data(), bytes.data(), bytes.size());
      input_pointers.push_back(copies.back().data());
      input_bytes.push_back(bytes.size());
    }
    for (Tensor& output : outputs) {
      output_bytes.push_back(output.bytes().size());
      output_pointers.push_back(output.writable_bytes().data());
    }
    if (run_(state_, input_pointers.data(), input_bytes.data(), inputs.size(),
             output_pointers.data(), output_bytes.data(), outputs.size()) != 0)
      return internal_error(message_());
    return {};
  }

 private:
  using Create = int (*)(const char*, void**);
  using Run = int (*)(void*, const void* const*, const std::size_t*, std::size_t, void* const*,
                      const std::size_t*, std::size_t);
  using Destroy = void (*)(void*);
  using Message = const char* (*)();
  struct Close {
    void operator()(void* library) const { dlclose(library); }
  };

  BuiltProgram() = default;

  template <typename Function>
  Function function(const std::string& name) const {
    return reinterpret_cast<Function>(  // NOLINT: that is what dlsym is for
        dlsym(library_.get(), (built_names.name + "_" + name).c_str()));
  }

  std::unique_ptr<void, Close> library_;
  void* state_ = nullptr;
  Run run_ = nullptr;
  Destroy destroy_ = nullptr;
  Message message_ = nullptr;
};

}  // namespace

std::uint32_t thread_count(int threads) {
  return threads > 0 ? static_cast<std::uint32_t>(threads)
                     : std::max(1U, std::thread::hardware_concurrency());
}

Result<Graph> prepare_for_tasks(const Graph& graph, std::span<const NamedTensor> inputs) {
  std::vector<TensorType> types;
  for (const NodeId id : graph.inputs())
    for (const NamedTensor& tensor : inputs)
      if (tensor.name == graph.input_name(graph.node(id))) types.push_back(tensor.value.type());
  LEMMA_ASSIGN_OR_RETURN(const DimensionBindings bindings, interpreter::bind_symbols(graph, types));
  LEMMA_ASSIGN_OR_RETURN(const Graph concrete, specialize(graph, bindings, types));
  return fold_constants(concrete, {});
}

Result<std::vector<Tensor>> run_as_task_program(const Graph& graph,
                                                std::span<const NamedTensor> inputs, int threads,
                                                double& seconds) {
  LEMMA_ASSIGN_OR_RETURN(const Graph prepared, prepare_for_tasks(graph, inputs));
  backend::CompileOptions options;
  options.device = backend::cpu_device(thread_count(threads));
  LEMMA_ASSIGN_OR_RETURN(const backend::TaskProgram program, backend::compile(prepared, options));
  LEMMA_ASSIGN_OR_RETURN(const fs::path folder, built(program));
  LEMMA_ASSIGN_OR_RETURN(const BuiltProgram executable, BuiltProgram::open(folder));
  std::vector<Tensor> ordered, outputs;
  for (const backend::BufferNumber number : program.graph.inputs)
    for (const NamedTensor& tensor : inputs)
      if (tensor.name == program.graph.buffers[number].name) ordered.push_back(tensor.value);
  for (const backend::BufferNumber number : program.graph.outputs) {
    const backend::Buffer& buffer = program.graph.buffers[number];
    outputs.push_back(Tensor::uninitialized(buffer.type, buffer.sizes));
  }
  const auto begin = std::chrono::steady_clock::now();
  LEMMA_RETURN_IF_ERROR(executable.run(ordered, outputs));
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outputs;
}

}  // namespace lemma
