#include "backend_cuda/emit/emit_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend_cuda/emit/parts.h"
#include "backend_cuda/emit/prime_field.h"
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

/// The weights of all programs by their place; those of several programs share places.
std::map<std::uint64_t, const Buffer*> weights_of(Programs programs) {
  std::map<std::uint64_t, const Buffer*> weights;
  for (const TaskProgram& program : programs)
    for (const Buffer& buffer : program.graph.buffers)
      if (buffer.memory == Memory::weights && buffer.bytes() > 0)
        weights.emplace(buffer.offset, &buffer);
  return weights;
}

std::string list_of(Programs programs, const std::vector<BufferNumber> OperatorGraph::*buffers) {
  std::string list;
  const OperatorGraph& first = programs.front().graph;
  for (std::size_t i = 0; i < (first.*buffers).size(); ++i)
    list += fmt::format("- `{}`: `{}`\n", first.buffers[(first.*buffers)[i]].name,
                        type_text(programs, buffers, i));
  return list;
}

/// "{{16, 8}, {32, 8}}": by program, the bytes of inputs and outputs.
std::string tensor_bytes_text(Programs programs) {
  std::string text;
  for (const TaskProgram& program : programs) {
    std::vector<std::uint64_t> bytes;
    for (const auto* buffers : {&program.graph.inputs, &program.graph.outputs})
      for (const BufferNumber number : *buffers)
        bytes.push_back(program.graph.buffers[number].bytes());
    text += fmt::format("{}{{{}}}", text.empty() ? "" : ", ", fmt::join(bytes, ", "));
  }
  return "{" + text + "}";
}

/// The narrowest 16-bit floating-point type that something is stored in or rounded to; nothing if there is none.
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

/// What elements may differ by in the self-check, as a part of the element and of the largest one. Results agree but for
/// products and sums that the compiler contracts; where they are rounded to 16 bits, that may move them by a step.
std::pair<double, double> allowed_differences(Programs programs) {
  constexpr double units_of_roundoff = 32;        // as search/tolerance.h allows
  const auto half = half_type(programs.front());  // types are the same in all
  if (!half) return {1e-4, 0.0};
  const double part = units_of_roundoff * (*half == DataType::bf16 ? 0x1p-8 : 0x1p-11);
  return {part, part};
}

}  // namespace

Result<void> check_sizes(Programs programs) {
  std::map<std::vector<std::uint64_t>, std::size_t> known;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    std::vector<std::uint64_t> bytes;
    for (const BufferNumber number : programs[i].graph.inputs)
      bytes.push_back(programs[i].graph.buffers[number].bytes());
    const auto [at, is_new] = known.emplace(std::move(bytes), i);
    if (!is_new)
      return bad_input(
          fmt::format("sizes {} and {} of the inputs cannot be told apart: they have as many bytes",
                      at->second + 1, i + 1));
  }
  return {};
}

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

std::string weight_digest(Programs programs) {
  std::string all;
  for (const auto& [offset, buffer] : weights_of(programs))
    all += fmt::format("{} {}\n", offset, sha256(bytes_of(*buffer)));
  return sha256(all).substr(0, digest_length);
}

Words program_words(Programs programs, const ProgramNames& names, std::size_t kernels) {
  std::uint64_t unshared = 0, arena = 0;
  std::size_t operators = 0, tasks = 0, waits = 0;
  for (const TaskProgram& program : programs) {
    std::uint64_t bytes = 0;
    for (const Buffer& buffer : program.graph.buffers)
      if (buffer.memory == Memory::arena) bytes += buffer.bytes();
    unshared = std::max(unshared, bytes);
    arena = std::max(arena, program.arena_bytes);
    operators += program.graph.operators.size();
    tasks += program.task_count();
    waits += wait_count(program);
  }
  const TaskProgram& first = programs.front();
  const auto [of_element, of_largest] = allowed_differences(programs);
  return {
      {"name", names.name},
      {"title", names.title},
      {"units",
       first.units.size() == 1 ? "one thread" : fmt::format("{} threads", first.units.size())},
      {"inputs", list_of(programs, &OperatorGraph::inputs)},
      {"outputs", list_of(programs, &OperatorGraph::outputs)},
      {"size_count", fmt::format("{}", programs.size())},
      {"tensor_count", fmt::format("{}", first.graph.inputs.size() + first.graph.outputs.size())},
      {"tensor_bytes", tensor_bytes_text(programs)},
      {"tensor_tables", tensor_tables(programs, names.dimensions)},
      {"operators", fmt::format("{}", operators)},
      {"tasks", fmt::format("{}", tasks)},
      {"of_element", fmt::format("{}", of_element)},
      {"of_largest", fmt::format("{}", of_largest)},
      {"kernels", fmt::format("{}", kernels)},
      {"waits", fmt::format("{}", waits)},
      {"arena_bytes", fmt::format("{}", arena)},
      {"unshared_bytes", fmt::format("{}", unshared)},
      {"weight_bytes", fmt::format("{}", first.weight_bytes)}};
}

namespace {

/// `text`: of all functions.
std::string kernels_header(const std::string& text, std::string_view more_includes) {
  return "#pragma once\n"
         "// One function for each distinct kernel: a part of a tensor from its operands.\n\n"
         "#include <cstdint>\n#include <limits>\n\n#include \"fast_functions.h\"\n#include "
         "\"half_types.h\"\n#include \"scalar_operations.h\"\n#include \"vectors.h\"\n" +
         std::string(more_includes) +
         "\nnamespace {\n\nusing namespace lemma::lowering;\n\n"
         "[[maybe_unused]] inline bool is_inside(std::int64_t index, std::int64_t size) {\n"
         "  return 0 <= index && index < size;\n}\n\n" +
         text + "}  // namespace\n";
}

Result<void> write_weights(Programs programs, const fs::path& file) {
  LEMMA_ASSIGN_OR_RETURN(AtomicFile out, AtomicFile::create(file));
  std::string header = "TASKPROG";
  const std::uint64_t bytes = programs.front().weight_bytes;
  header.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));  // NOLINT: bytes as text
  header += weight_digest(programs);
  LEMMA_RETURN_IF_ERROR(out.write(std::as_bytes(std::span(header))));
  for (const auto& [offset, buffer] : weights_of(programs)) {
    LEMMA_RETURN_IF_ERROR(out.pad_to(header_bytes + offset));
    LEMMA_RETURN_IF_ERROR(out.write(buffer->contents->bytes()));
  }
  LEMMA_RETURN_IF_ERROR(out.pad_to(header_bytes + bytes));
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

/// Kernels that compute with residues, and what they need.
Result<void> take_residues(const std::string& kernels, ProgramFiles& files) {
  LEMMA_ASSIGN_OR_RETURN(const std::string text, residue_text(kernels));
  for (auto& [name, contents] : files)
    if (name == "kernels.h") contents = kernels_header(text, "#include \"residues.h\"\n");
  files.emplace_back("field.h", parts::field);
  files.emplace_back("residues.h", parts::residues);
  return {};
}

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

ProgramFiles shared_files(const Words& words) {
  return {{"call_checks.h", filled_in(parts::call_checks, words)},
          {"comparison.h", filled_in(parts::comparison, words)},
          {"fast_functions.h", std::string(parts::fast_functions)},
          {"half_precision.h", std::string(parts::half_precision)},
          {"half_types.h", std::string(parts::half_types)},
          {"scalar_operations.h", std::string(parts::scalar_operations)},
          {"tensors.h", filled_in(parts::tensors, words)}};
}

Result<ProgramFiles> emit_program(Programs programs, const ProgramNames& names) {
  LEMMA_RETURN_IF_ERROR(check_sizes(programs));
  LEMMA_ASSIGN_OR_RETURN(const KernelTexts kernels, kernel_texts(programs));
  const Words words = program_words(programs, names, kernels.count);
  ProgramFiles files = shared_files(words);
  files.insert(files.end(),
               {{"CMakeLists.txt", filled_in(parts::cmake, words)},
                {"README.md", filled_in(parts::readme, words)},
                {"kernels.h", kernels_header(kernels.text, "")},
                {names.name + ".cpp", filled_in(parts::interface_source, words)},
                {names.name + ".h", filled_in(parts::interface_header, words)},
                {"run_time.h", std::string(parts::run_time)},
                {"schedule.h", tables_text(programs, kernels, weight_digest(programs))},
                {"selfcheck.cpp", filled_in(parts::selfcheck, words)},
                {"vectors.h", std::string(parts::vectors)}});
  if (programs.front().domain == lowering::Domain::prime_field)
    LEMMA_RETURN_IF_ERROR(take_residues(kernels.text, files));
  return files;
}

Result<void> write_program(Programs programs, const ProgramNames& names,
                           const RecordedTensors& recorded, const fs::path& directory,
                           bool replaces) {
  LEMMA_ASSIGN_OR_RETURN(const ProgramFiles files, emit_program(programs, names));
  return write_program(programs, files, recorded, directory, replaces);
}

Result<void> write_program(Programs programs, const ProgramFiles& files,
                           const RecordedTensors& recorded, const fs::path& directory,
                           bool replaces) {
  const fs::path target = directory.has_filename() ? directory : fs::path(directory).parent_path();
  std::error_code error;
  if (!replaces && fs::exists(target, error) && !fs::is_empty(target, error))
    return bad_input(fmt::format("{}: is there already", target.string()));
  const PartialDirectory partial(target);
  LEMMA_RETURN_IF_ERROR(make_folder(partial.path()));
  LEMMA_RETURN_IF_ERROR(write_files_atomically(partial.path(), files));
  LEMMA_RETURN_IF_ERROR(write_weights(programs, partial.path() / "weights.bin"));
  LEMMA_RETURN_IF_ERROR(write_recorded(recorded, partial.path() / "selfcheck.bin"));
  return partial.publish(target, replaces);
}

}  // namespace lemma::backend
