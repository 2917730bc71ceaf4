#include "backend_cuda/emit/emit_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "backend_cuda/emit/parts.h"
#include "backend_cuda/emit/tables_text.h"
#include "ir/files.h"
#include "ir/sha256.h"

namespace lemma::backend {

namespace {

namespace fs = std::filesystem;
constexpr std::size_t header_bytes = 64, digest_length = 48;

std::string_view bytes_of(const Buffer& buffer) {
  const std::span<const std::byte> bytes = buffer.contents->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};  // NOLINT: bytes as text
}

std::string list_of(const TaskProgram& program, const std::vector<BufferNumber>& buffers) {
  std::string list;
  for (const BufferNumber number : buffers)
    list += fmt::format("- `{}`: `{}`\n", program.graph.buffers[number].name,
                        type_text(program.graph.buffers[number]));
  return list;
}

/// What elements may differ by in the self-check, as a part of the element and of the largest one. Results agree but for
/// products and sums that the compiler contracts; where they are rounded to 16 bits, that may move them by a step.
std::pair<double, double> allowed_differences(const TaskProgram& program) {
  constexpr double units_of_roundoff = 32;  // as search/tolerance.h allows
  const auto half = half_type(program);
  if (!half) return {1e-4, 0.0};
  const double part = units_of_roundoff * (*half == DataType::bf16 ? 0x1p-8 : 0x1p-11);
  return {part, part};
}

}  // namespace

std::string filled_in(std::string_view part, const Words& words) {
  std::string result;
  while (true) {
    const std::size_t open = part.find("{{");
    if (open == std::string_view::npos) return result + std::string(part);
    const std::size_t close = part.find("}}", open);
    result += part.substr(0, open);
    result += words.at(std::string(part.substr(open + 2, close - open - 2)));
    part.remove_prefix(close + 2);
  }
}

std::optional<DataType> half_type(const TaskProgram& program) {
  bool has_f16 = false, has_bf16 = false;
  const auto look_at = [&](DataType type) {
    has_f16 = has_f16 || type == DataType::f16;
    has_bf16 = has_bf16 || type == DataType::bf16;
  };
  for (const Buffer& buffer : program.graph.buffers) look_at(buffer.type);
  for (const TaskOperator& op : program.graph.operators)
    for (const Phase& phase : op.body.phases)
      for (lowering::TermNumber id = 0; id < phase.nest.graph.size(); ++id)
        look_at(phase.nest.graph.term(id).type);
  if (has_bf16) return DataType::bf16;
  return has_f16 ? std::optional(DataType::f16) : std::nullopt;
}

std::string weight_digest(const TaskProgram& program) {
  std::string all;
  for (const Buffer& buffer : program.graph.buffers)
    if (buffer.memory == Memory::weights)
      all += fmt::format("{} {}\n", buffer.offset, sha256(bytes_of(buffer)));
  return sha256(all).substr(0, digest_length);
}

Words program_words(const TaskProgram& program, const ProgramNames& names, std::size_t kernels) {
  std::uint64_t unshared = 0;
  for (const Buffer& buffer : program.graph.buffers)
    if (buffer.memory == Memory::arena) unshared += buffer.bytes();
  const std::size_t units = program.units.size();
  const auto [of_element, of_largest] = allowed_differences(program);
  return {{"name", names.name},
          {"title", names.title},
          {"units", units == 1 ? "one thread" : fmt::format("{} threads", units)},
          {"inputs", list_of(program, program.graph.inputs)},
          {"outputs", list_of(program, program.graph.outputs)},
          {"operators", fmt::format("{}", program.graph.operators.size())},
          {"tasks", fmt::format("{}", program.task_count())},
          {"of_element", fmt::format("{}", of_element)},
          {"of_largest", fmt::format("{}", of_largest)},
          {"kernels", fmt::format("{}", kernels)},
          {"waits", fmt::format("{}", wait_count(program))},
          {"arena_bytes", fmt::format("{}", program.arena_bytes)},
          {"unshared_bytes", fmt::format("{}", unshared)},
          {"weight_bytes", fmt::format("{}", program.weight_bytes)}};
}

namespace {

std::string kernels_header(const KernelTexts& kernels) {
  return "#pragma once\n"
         "// One function for each distinct kernel: a part of a tensor from its operands.\n\n"
         "#include <cstdint>\n#include <limits>\n\n#include \"fast_functions.h\"\n#include "
         "\"half_types.h\"\n#include \"scalar_operations.h\"\n#include \"vectors.h\"\n\n"
         "namespace {\n\nusing namespace lemma::lowering;\n\n"
         "[[maybe_unused]] inline bool is_inside(std::int64_t index, std::int64_t size) {\n"
         "  return 0 <= index && index < size;\n}\n\n" +
         kernels.text + "}  // namespace\n";
}

Result<void> write_weights(const TaskProgram& program, const fs::path& file) {
  LEMMA_ASSIGN_OR_RETURN(AtomicFile out, AtomicFile::create(file));
  std::string header = "TASKPROG";
  const std::uint64_t bytes = program.weight_bytes;
  header.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));  // NOLINT: bytes as text
  header += weight_digest(program);
  LEMMA_RETURN_IF_ERROR(out.write(std::as_bytes(std::span(header))));
  for (const Buffer& buffer : program.graph.buffers) {
    if (buffer.memory != Memory::weights) continue;
    LEMMA_RETURN_IF_ERROR(out.pad_to(header_bytes + buffer.offset));
    LEMMA_RETURN_IF_ERROR(out.write(buffer.contents->bytes()));
  }
  LEMMA_RETURN_IF_ERROR(out.pad_to(header_bytes + program.weight_bytes));
  LEMMA_RETURN_IF_ERROR(out.finish());
  return out.publish();
}

Result<void> write_recorded(const RecordedTensors& recorded, const fs::path& file) {
  LEMMA_ASSIGN_OR_RETURN(AtomicFile out, AtomicFile::create(file));
  for (const std::span<const std::byte> tensor : recorded) LEMMA_RETURN_IF_ERROR(out.write(tensor));
  LEMMA_RETURN_IF_ERROR(out.finish());
  return out.publish();
}

/// Beside the directory, so that it can be renamed to it; removed unless that has happened.
class PartialDirectory {
 public:
  explicit PartialDirectory(const fs::path& target)
      : path_(target.string() + fmt::format(".partial-{}", getpid())) {}
  ~PartialDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PartialDirectory(const PartialDirectory&) = delete;
  PartialDirectory& operator=(const PartialDirectory&) = delete;

  const fs::path& path() const { return path_; }

  Result<void> publish(const fs::path& target, bool replaces) const {
    std::error_code error;
    const fs::path old = target.string() + fmt::format(".old-{}", getpid());
    const bool moves = replaces && fs::exists(target);
    if (moves) fs::rename(target, old, error);
    if (!error) fs::rename(path_, target, error);
    if (error)
      return bad_input(fmt::format("{}: cannot be written: {}", target.string(), error.message()));
    if (moves) fs::remove_all(old, error);
    return {};
  }

 private:
  fs::path path_;
};

}  // namespace

std::string identifier_of(std::string_view text) {
  std::string result;
  for (const char each : text) {
    const bool is_plain = (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
                          (each >= '0' && each <= '9');
    result += is_plain ? each : '_';
  }
  if (result.empty() || (result[0] >= '0' && result[0] <= '9') || result[0] == '_')
    result.insert(0, "model_");
  return result;
}

Result<ProgramFiles> emit_program(const TaskProgram& program, const ProgramNames& names) {
  LEMMA_ASSIGN_OR_RETURN(const KernelTexts kernels, kernel_texts(program));
  const Words words = program_words(program, names, kernels.count);
  return ProgramFiles{{"CMakeLists.txt", filled_in(parts::cmake, words)},
                      {"README.md", filled_in(parts::readme, words)},
                      {"fast_functions.h", std::string(parts::fast_functions)},
                      {"half_precision.h", std::string(parts::half_precision)},
                      {"half_types.h", std::string(parts::half_types)},
                      {"kernels.h", kernels_header(kernels)},
                      {names.name + ".cpp", filled_in(parts::interface_source, words)},
                      {names.name + ".h", filled_in(parts::interface_header, words)},
                      {"run_time.h", std::string(parts::run_time)},
                      {"scalar_operations.h", std::string(parts::scalar_operations)},
                      {"schedule.h", tables_text(program, kernels, weight_digest(program))},
                      {"selfcheck.cpp", filled_in(parts::selfcheck, words)},
                      {"vectors.h", std::string(parts::vectors)}};
}

Result<void> write_program(const TaskProgram& program, const ProgramNames& names,
                           const RecordedTensors& recorded, const fs::path& directory,
                           bool replaces) {
  LEMMA_ASSIGN_OR_RETURN(const ProgramFiles files, emit_program(program, names));
  return write_program(program, files, recorded, directory, replaces);
}

Result<void> write_program(const TaskProgram& program, const ProgramFiles& files,
                           const RecordedTensors& recorded, const fs::path& directory,
                           bool replaces) {
  const fs::path target = directory.has_filename() ? directory : fs::path(directory).parent_path();
  std::error_code error;
  if (!replaces && fs::exists(target, error) && !fs::is_empty(target, error))
    return bad_input(fmt::format("{}: is there already", target.string()));
  const PartialDirectory partial(target);
  LEMMA_RETURN_IF_ERROR(make_folder(partial.path()));
  LEMMA_RETURN_IF_ERROR(write_files_atomically(partial.path(), files));
  LEMMA_RETURN_IF_ERROR(write_weights(program, partial.path() / "weights.bin"));
  LEMMA_RETURN_IF_ERROR(write_recorded(recorded, partial.path() / "selfcheck.bin"));
  return partial.publish(target, replaces);
}

}  // namespace lemma::backend
