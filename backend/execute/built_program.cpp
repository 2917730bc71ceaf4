#include "backend/execute/built_program.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_program.h"
#include "backend/emit/kernel_sources.h"
#include "backend/emit/parts.h"
#include "backend/execute/override_check.h"
#include "base/sha256.h"
#include "outputs/files.h"
#include "outputs/staging.h"
#include "system/processor.h"
#include "system/program.h"

namespace lemma::backend {

namespace {

namespace fs = std::filesystem;

/// The names of functions and files of the programs that are built here.
const ProgramNames built_names = {"task_program", "task program"};

constexpr const char* operator_times_source = "operator_times.cpp";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::string> cpp_compiler() {
  if (const std::string given = variable("CXX"); !given.empty()) return given;
  for (const char* name : {"c++", "g++", "clang++"})
    if (const std::string path = find_program(name); !path.empty()) return path;
  return unsupported("there is no C++ compiler to build the program with; set CXX");
}

const std::vector<std::string> code_options = {
    "-std=c++20",        "-O3",
    "-ffp-contract=off", "-fno-trapping-math",
    "-fno-math-errno",   "-fno-thread-jumps",
    "-fno-split-paths",  "-fno-tree-loop-distribute-patterns",
    "-march=native"};

std::vector<std::string> compile_words(const std::string& compiler) {
  std::vector<std::string> words = {compiler};
  words.insert(words.end(), code_options.begin(), code_options.end());
  // A compiler that is ended leaves no files between its stages with -pipe.
  words.insert(words.end(), {"-pipe", "-pthread", "-fPIC"});
  return words;
}

/// What a library of the program with this name is linked with.
std::vector<std::string> library_words(const std::string& name) {
#ifdef __APPLE__
  (void)name;
  return {"-shared"};
#else
  return {"-shared", fmt::format("-Wl,--version-script={}.map", name)};
#endif
}

/// The sources of kernels in a folder, in the order of their names.
std::vector<std::string> kernel_sources_in(const fs::path& folder) {
  std::vector<std::string> sources;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (std::string name = entry.path().filename().string(); is_kernel_source(name))
      sources.push_back(std::move(name));
  std::sort(sources.begin(), sources.end());
  return sources;
}

Result<std::string> cuda_compiler() {
  if (const std::string given = variable("CUDACXX"); !given.empty()) return given;
  if (const std::string path = find_program("nvcc"); !path.empty()) return path;
  std::error_code ignored;
  const std::string home = variable("CUDA_HOME");
  if (const fs::path nvcc = fs::path(home) / "bin" / "nvcc";
      !home.empty() && fs::exists(nvcc, ignored))
    return nvcc.string();
  return unsupported(
      "there is no CUDA toolkit (nvcc, version 12 or later) to build the program with; set "
      "CUDACXX");
}

/// What the compiler says of itself, in lines. `kind` and `variable` are for the error.
Result<std::string> version_text(const std::string& compiler, std::string_view kind,
                                 std::string_view variable, double seconds) {
  const auto run = run_program({{compiler, "--version"}}, has_passed(seconds));
  if (run && run->was_stopped)
    return unsupported(fmt::format("the {} {} does not say its version within {:.1f} s; set {}",
                                   kind, compiler, seconds, variable));
  if (!run || !run->succeeded() || run->output.empty())
    return unsupported(fmt::format("the {} {} cannot be run; set {}", kind, compiler, variable));
  std::string text = run->output;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

/// Whether a compiler has ended for want of memory: it was killed, or failed where memory is limited and this cannot
/// be told from another failure.
bool has_ended_for_want_of_memory(const ProgramEnd& end) {
  rlimit data{};
  const bool is_limited = getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur < (rlim_t{2} << 30U);
  return end.signal == SIGKILL || is_limited;
}

}  // namespace

std::uint32_t thread_count(int threads) {
  return threads > 0 ? static_cast<std::uint32_t>(threads)
                     : std::max(1U, std::thread::hardware_concurrency());
}

Result<std::string> cuda_compiler_version() {
  LEMMA_ASSIGN_OR_RETURN(const std::string compiler, cuda_compiler());
  LEMMA_ASSIGN_OR_RETURN(
      const std::string version,
      version_text(compiler, "CUDA compiler", "CUDACXX", ProgramBuilder::most_seconds_for_version));
  // nvcc names its release in the last line.
  return version.substr(version.rfind('\n') + 1);
}

Result<fs::path> default_cache_folder() {
  if (const std::string given = variable("LEMMA_CACHE"); !given.empty()) return fs::path(given);
  if (const std::string base = variable("XDG_CACHE_HOME"); !base.empty())
    return fs::path(base) / "lemma";
  const fs::path home = home_folder();
  if (home.empty()) return bad_input("there is no folder for built programs; set LEMMA_CACHE");
  return home / ".cache" / "lemma";
}

Result<ProgramBuilder> ProgramBuilder::create(fs::path cache_folder, double seconds_for_version) {
  ProgramBuilder builder;
  builder.cache_folder_ = cache_folder / "task_programs";
  LEMMA_ASSIGN_OR_RETURN(const std::string compiler, cpp_compiler());
  LEMMA_ASSIGN_OR_RETURN(const std::string version,
                         version_text(compiler, "C++ compiler", "CXX", seconds_for_version));
  builder.identity_ =
      fmt::format("{}, {}", version.substr(0, version.find('\n')), fmt::join(code_options, " "));
  builder.words_ = compile_words(compiler);
  builder.product_ = "program.so";
  return builder;
}

Result<ProgramBuilder> ProgramBuilder::create_for_cuda(fs::path cache_folder,
                                                       const CudaOptions& options) {
  ProgramBuilder builder;
  builder.cache_folder_ = cache_folder / "cuda_programs";
  LEMMA_ASSIGN_OR_RETURN(const std::string compiler, cuda_compiler());
  LEMMA_ASSIGN_OR_RETURN(const std::string version, cuda_compiler_version());
  builder.identity_ = fmt::format("{}, {}", version, options.architecture);
  builder.words_ = {compiler, "-std=c++20", "-O3", "-arch=" + options.architecture,
                    "--expt-relaxed-constexpr"};
  builder.product_ = "runner";
  builder.cuda_ = options;
  return builder;
}

ProgramBuilder ProgramBuilder::with_operator_times() const {
  ProgramBuilder builder = *this;
  builder.has_operator_times_ = true;
  builder.words_.emplace_back("-w");  // of a source that includes another one's types
  return builder;
}

namespace {

/// The number of a folder in its file system; 0 if it is not there.
ino_t number_of(const fs::path& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 ? status.st_ino : 0;
}

/// Takes an entry that is not as it was written out of its place, in one step. Another process may have put a new one there
/// since it was found damaged: that one goes back.
Result<void> remove_damaged(const fs::path& folder, ino_t damaged) {
  if (damaged == 0 || number_of(folder) != damaged) return {};
  LEMMA_ASSIGN_OR_RETURN(const StagedEntry staged, StagedEntry::directory(folder.parent_path()));
  const fs::path taken = staged.path() / "damaged";
  LEMMA_ASSIGN_OR_RETURN(const bool is_taken, rename_new(folder, taken));
  if (is_taken && number_of(taken) != damaged) (void)rename_new(taken, folder);
  return {};
}

/// Beside a product: its digest.
fs::path digest_file(const fs::path& product) { return product.string() + ".sha256"; }

std::string file_contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Whether the product is there as it was compiled.
bool is_built(const fs::path& product) {
  const std::string digest = file_contents(digest_file(product));
  return !digest.empty() && digest == sha256(file_contents(product));
}

}  // namespace

Result<fs::path> ProgramBuilder::write(const TaskProgram& program) const {
  return write(std::span(&program, 1), built_names);
}

Result<fs::path> ProgramBuilder::write(std::span<const TaskProgram> programs,
                                       const ProgramNames& names) const {
  LEMMA_ASSIGN_OR_RETURN(ProgramFiles files, cuda_ ? emit_cuda_program(programs, names, *cuda_)
                                                   : emit_program(programs, names));
  return write_files(programs, std::move(files), names.name);
}

Result<fs::path> ProgramBuilder::write(const FlowProgram& program,
                                       const ProgramNames& names) const {
  LEMMA_ASSIGN_OR_RETURN(ProgramFiles files, emit_flow_program(program, names));
  return write_files(program.segments, std::move(files), names.name);
}

Result<fs::path> ProgramBuilder::write_files(std::span<const TaskProgram> programs,
                                             ProgramFiles files, const std::string& name) const {
  LEMMA_RETURN_IF_ERROR(check_outside_kernels(programs, *this));
  if (has_operator_times_)
    files.emplace_back(operator_times_source, filled_in(parts::operator_times, {{"name", name}}));
  std::string key = identity_ + "\n";
  // -march=native means another processor elsewhere.
  if (!cuda_) key += processor_digest() + "\n";
  for (const std::string& word : words_) key += word + "\n";
  for (const auto& [file, contents] : files) key += fmt::format("{} {}\n", file, sha256(contents));
  fs::path folder = cache_folder_ / sha256(key).substr(0, 32);
  LEMMA_RETURN_IF_ERROR(make_folder(folder.parent_path()));
  // Another process may fill the same entry, which is the same then.
  constexpr int most_attempts = 3;
  for (int attempt = 1;; ++attempt) {
    const ino_t inode = number_of(folder);
    if (holds_program(programs, files, folder)) return folder;
    auto written = remove_damaged(folder, inode);
    if (written) written = write_program(programs, files, {}, folder, false);
    if (!written && attempt == most_attempts) return tl::unexpected(written.error());
  }
}

namespace {

/// Whether the disk of a folder has no room for what a compiler and a linker write.
bool is_full(const fs::path& folder) {
  constexpr std::uintmax_t room = 4 << 20;
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  return !error && space.available < room;
}

}  // namespace

std::vector<std::vector<Program>> ProgramBuilder::compilations(const fs::path& folder,
                                                               const std::string& name,
                                                               const fs::path& product,
                                                               std::size_t at_a_time) const {
  const auto call = [&](std::vector<std::string> more, const fs::path& result) {
    // What the compiler keeps meanwhile is removed with the folder, however it ends.
    Program program{{"env", fmt::format("TMPDIR={}", product.parent_path().string())}, folder};
    program.words.insert(program.words.end(), words_.begin(), words_.end());
    program.words.insert(program.words.end(), more.begin(), more.end());
    program.words.insert(program.words.end(), {"-o", result.string()});
    program.shows_errors = true;
    return program;
  };
  if (cuda_) return {{call({name + ".cu", "runner.cu"}, product)}};
  std::vector<std::string> linked = library_words(name);
  std::vector<std::string> sources = kernel_sources_in(folder);
  if (has_operator_times_ || at_a_time == 1 || sources.empty()) {
    linked.push_back(has_operator_times_ ? operator_times_source : name + ".cpp");
    return {{call(linked, product)}};
  }
  sources.insert(sources.begin(), name + ".cpp");
  std::vector<Program> compiled;
  for (const std::string& source : sources) {
    const fs::path object = product.parent_path() / (source + ".o");
    std::vector<std::string> more = {"-DSEPARATE_KERNELS", "-c", source};
    if (!is_kernel_source(source)) more.emplace_back("-O1");  // no loops: it compiles faster
    compiled.push_back(call(std::move(more), object));
    linked.push_back(object.string());
  }
  return {std::move(compiled), {call(linked, product)}};
}

namespace {

using CompilerCalls = std::vector<std::vector<Program>>;  // the calls of a list can run together

/// What is said of a compiler that failed.
tl::unexpected<Error> failure_of(const ProgramRun& run, const fs::path& folder) {
  if (has_ended_for_want_of_memory(run))
    return unsupported("there is not enough memory to compile the program");
  if (is_full(folder))
    return bad_input(
        fmt::format("{}: there is no space left to compile the program", folder.string()));
  return internal_error(fmt::format("{}: the program cannot be compiled", folder.string()));
}

Result<void> run_compilers(const CompilerCalls& lists, const std::function<bool()>& is_over,
                           std::size_t at_a_time) {
  const auto is_too_late = has_passed(ProgramBuilder::most_seconds_to_compile);
  for (const std::vector<Program>& calls : lists) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ProgramRun> runs, run_programs(calls, at_a_time, [&] {
                             return is_over() || is_too_late();
                           }));
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (!runs[i].succeeded() && !runs[i].was_stopped)
        return failure_of(runs[i], calls[i].directory);
    const auto was_stopped = [](const ProgramRun& run) { return run.was_stopped; };
    if (std::any_of(runs.begin(), runs.end(), was_stopped))
      return is_too_late() ? unsupported(fmt::format("the compiler does not end within {:.0f} s",
                                                     ProgramBuilder::most_seconds_to_compile))
                           : bad_input("there was no time to compile the program");
  }
  return {};
}

/// Of several programs: the first lists together, the second ones, and so on.
void append(CompilerCalls& all, CompilerCalls more) {
  all.resize(std::max(all.size(), more.size()));
  for (std::size_t i = 0; i < more.size(); ++i)
    std::move(more[i].begin(), more[i].end(), std::back_inserter(all[i]));
}

std::size_t compilers_for(std::size_t at_a_time) {
  return at_a_time != 0 ? at_a_time : std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

Result<void> ProgramBuilder::compile(const fs::path& folder, const std::string& name,
                                     const fs::path& product, const std::function<bool()>& is_over,
                                     std::size_t at_a_time) const {
  at_a_time = compilers_for(at_a_time);
  return run_compilers(compilations(folder, name, product, at_a_time), is_over, at_a_time);
}

Result<void> ProgramBuilder::build(const fs::path& folder, const std::function<bool()>& is_over,
                                   std::size_t at_a_time) const {
  return build_all({folder}, is_over, at_a_time);
}

Result<void> ProgramBuilder::build_all(const std::vector<fs::path>& folders,
                                       const std::function<bool()>& is_over,
                                       std::size_t at_a_time) const {
  at_a_time = compilers_for(at_a_time);
  // Sources of a program are compiled apart only where there are fewer programs than compilers: each reads all headers again.
  const std::size_t compilers_of_each = folders.size() < at_a_time ? at_a_time : 1;
  std::vector<StagedEntry> staged;
  std::vector<std::pair<fs::path, fs::path>> products;  // where they are made, and their places
  CompilerCalls calls;
  for (const fs::path& folder : folders) {
    fs::path built = folder / product_;
    if (is_built(built)) continue;
    // The compiler makes its file anew: the lock is on a folder around it.
    LEMMA_ASSIGN_OR_RETURN(StagedEntry entry, StagedEntry::directory(folder));
    staged.push_back(std::move(entry));
    const fs::path partial = fs::absolute(staged.back().path()) / product_;
    append(calls, compilations(folder, built_names.name, partial, compilers_of_each));
    products.emplace_back(partial, std::move(built));
  }
  LEMMA_RETURN_IF_ERROR(run_compilers(calls, is_over, at_a_time));
  for (const auto& [partial, built] : products) {
    // The digest comes first: a product without the right one is compiled again.
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(digest_file(built), sha256(file_contents(partial))));
    LEMMA_RETURN_IF_ERROR(rename_over(partial, built));
  }
  return {};
}

std::vector<interpreter::Tensor> inputs_by_position(
    const TaskProgram& program, std::span<const interpreter::NamedTensor> inputs) {
  std::vector<interpreter::Tensor> ordered;
  for (const BufferNumber number : program.graph.inputs)
    for (const interpreter::NamedTensor& tensor : inputs)
      if (tensor.name == program.graph.buffers[number].name) ordered.push_back(tensor.value);
  return ordered;
}

void ProgramCall::add_copied(std::span<const std::byte> input) {
  inputs_.emplace_back(input.size() / sizeof(double) + 1);
  if (!input.empty()) std::memcpy(inputs_.back().data(), input.data(), input.size());
  input_pointers_.push_back(inputs_.back().data());
  input_bytes_.push_back(input.size());
}

void ProgramCall::add_outputs(const TaskProgram& program) {
  for (const BufferNumber number : program.graph.outputs) {
    const Buffer& buffer = program.graph.buffers[number];
    outputs_.push_back(interpreter::Tensor::uninitialized(buffer.type, buffer.sizes));
  }
  for (interpreter::Tensor& output : outputs_) {
    output_bytes_.push_back(output.bytes().size());
    output_pointers_.push_back(output.writable_bytes().data());
  }
}

ProgramCall::ProgramCall(const TaskProgram& program, std::span<const interpreter::Tensor> inputs) {
  for (const interpreter::Tensor& input : inputs) add_copied(input.bytes());
  add_outputs(program);
}

ProgramCall ProgramCall::in_place(const TaskProgram& program,
                                  std::span<const interpreter::Tensor> inputs) {
  ProgramCall call;
  for (const interpreter::Tensor& input : inputs) {
    const std::span<const std::byte> bytes = input.bytes();
    if (bytes.empty() || reinterpret_cast<std::uintptr_t>(bytes.data()) % sizeof(double) != 0) {
      call.add_copied(bytes);
      continue;
    }
    call.input_pointers_.push_back(bytes.data());
    call.input_bytes_.push_back(bytes.size());
  }
  call.add_outputs(program);
  return call;
}

void BuiltProgram::Close::operator()(void* library) const { dlclose(library); }

template <typename Function>
Function BuiltProgram::function(const std::string& name) const {
  return reinterpret_cast<Function>(  // NOLINT: that is what dlsym is for
      dlsym(library_.get(), (built_names.name + "_" + name).c_str()));
}

Result<BuiltProgram> BuiltProgram::open(const fs::path& folder) {
  BuiltProgram program;
  program.library_.reset(dlopen((folder / "program.so").c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!program.library_) return internal_error(fmt::format("{}", dlerror()));
  const auto create = program.function<Create>("create");
  program.run_ = program.function<Run>("run");
  program.step_count_ = program.function<StepCount>("step_count");
  program.record_ = program.function<Record>("record");
  program.destroy_ = program.function<Destroy>("destroy");
  program.message_ = program.function<Message>("message");
  if (create == nullptr || program.run_ == nullptr || program.step_count_ == nullptr ||
      program.record_ == nullptr || program.destroy_ == nullptr || program.message_ == nullptr)
    return internal_error(fmt::format("{}: not the functions of a program", folder.string()));
  if (create((folder / "weights.bin").c_str(), &program.state_) != 0)
    return internal_error(program.message_());
  return program;
}

BuiltProgram::BuiltProgram(BuiltProgram&& other) noexcept
    : library_(std::move(other.library_)),
      state_(std::exchange(other.state_, nullptr)),
      run_(other.run_),
      step_count_(other.step_count_),
      record_(other.record_),
      destroy_(other.destroy_),
      message_(other.message_) {}

BuiltProgram::~BuiltProgram() {
  if (state_ != nullptr) destroy_(state_);
}

Result<void> BuiltProgram::operator_times(ProgramCall& call, std::span<double> seconds) const {
  const auto times = function<Times>("operator_times");
  if (times == nullptr) return internal_error("the program has no function for operators' times");
  if (times(state_, call.input_pointers_.data(), call.output_pointers_.data(), seconds.data()) != 0)
    return internal_error("operators are timed in programs for one unit");
  return {};
}

Result<void> BuiltProgram::run(ProgramCall& call) const {
  if (run_(state_, call.input_pointers_.data(), call.input_bytes_.data(),
           call.input_pointers_.size(), call.output_pointers_.data(), call.output_bytes_.data(),
           call.output_pointers_.size()) != 0)
    return internal_error(message_());
  return {};
}

Result<std::vector<double>> BuiltProgram::run_recorded(ProgramCall& call) const {
  std::vector<double> times(2 * step_count_());
  if (record_(state_, times.data()) != 0) return internal_error(message_());
  const Result<void> ran = run(call);
  record_(state_, nullptr);
  LEMMA_RETURN_IF_ERROR(ran);
  return times;
}

}  // namespace lemma::backend
