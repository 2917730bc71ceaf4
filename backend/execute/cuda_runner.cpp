#include "backend/execute/cuda_runner.h"

#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/number_text.h"
#include "outputs/files.h"
#include "outputs/scratch.h"
#include "system/program.h"

namespace lemma::backend {

namespace {

namespace fs = std::filesystem;
using interpreter::Tensor;

constexpr int no_device_status = 3;  // of the runner
constexpr double most_seconds = 600;

Result<std::vector<Tensor>> read_outputs(const fs::path& file, const TaskProgram& program) {
  std::ifstream stream(file, std::ios::binary);
  std::vector<Tensor> outputs;
  for (const BufferNumber number : program.graph.outputs) {
    const Buffer& buffer = program.graph.buffers[number];
    outputs.push_back(Tensor::uninitialized(buffer.type, buffer.sizes));
    const std::span<std::byte> bytes = outputs.back().writable_bytes();
    stream.read(reinterpret_cast<char*>(bytes.data()),  // NOLINT: how a stream reads bytes
                static_cast<std::streamsize>(bytes.size()));
    if (!stream) return internal_error("the program wrote too few outputs");
  }
  return outputs;
}

}  // namespace

Result<CudaRun> run_on_cuda(const fs::path& folder, const TaskProgram& program,
                            std::span<const Tensor> inputs) {
  const TemporaryDirectory scratch;
  if (!scratch.good()) return bad_input("no temporary folder can be made");
  std::string contents;
  for (const Tensor& input : inputs) {
    const std::span<const std::byte> bytes = input.bytes();
    contents.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());  // NOLINT: the same
  }
  const fs::path given = scratch.path() / "inputs.bin", made = scratch.path() / "outputs.bin";
  LEMMA_RETURN_IF_ERROR(write_file_atomically(given, contents));
  Program process{{(folder / "runner").string(), (folder / "weights.bin").string(), given.string(),
                   made.string()}};
  process.shows_errors = true;
  LEMMA_ASSIGN_OR_RETURN(const ProgramRun run, run_program(process, has_passed(most_seconds)));
  if (run.was_stopped)
    return unsupported(fmt::format("the program does not end within {:.0f} s", most_seconds));
  if (run.exit_status == no_device_status) return CudaRun{};
  constexpr std::string_view before = "seconds ";
  if (!run.succeeded() || run.output.rfind(before, 0) != 0)
    return internal_error("the program failed on the device");
  CudaRun result;
  result.found_device = true;
  std::string_view figures = run.output;
  figures.remove_prefix(before.size());
  result.seconds = take_number<double>(figures).value_or(0);
  LEMMA_ASSIGN_OR_RETURN(result.outputs, read_outputs(made, program));
  return result;
}

}  // namespace lemma::backend
