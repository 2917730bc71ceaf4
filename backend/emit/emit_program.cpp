#include "backend/emit/emit_program.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/flow_text.h"
#include "backend/emit/kernel_sources.h"
#include "backend/emit/parts.h"
#include "backend/emit/parts/weight_checksum.h"
#include "backend/emit/tables_text.h"
#include "base/sha256.h"
#include "base/shown_text.h"
#include "outputs/files.h"
#include "outputs/folder_update.h"

namespace lemma::backend {

namespace {

namespace fs = std::filesystem;
constexpr std::size_t header_bytes = 64, digest_length = 48, checksum_length = 16;

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

/// The checksum of the file of weights behind its header, in digits.
std::string checksum_digits(Programs programs) {
  weight_checksum::Checksum checksum;
  std::uint64_t end = 0;
  for (const auto& [offset, buffer] : weights_of(programs)) {
    const std::span<const std::byte> bytes = buffer->contents->bytes();
    checksum.add_zeros(offset - end);
    checksum.add(bytes.data(), bytes.size());
    end = offset + bytes.size();
  }
  checksum.add_zeros(programs.front().weight_bytes - end);
  std::string digits(checksum_length, '0');
  weight_checksum::write_digits(checksum.value(), digits.data());
  return digits;
}

std::string list_of(Programs programs, const std::vector<BufferNumber> OperatorGraph::*buffers) {
  std::string list;
  const OperatorGraph& first = programs.front().graph;
  for (std::size_t i = 0; i < (first.*buffers).size(); ++i)
    list += fmt::format("- `{}`: `{}`\n",
                        shown(first.buffers[(first.*buffers)[i]].name, ShownIn::markdown),
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

/// "{{{1e-6, 1e-7, 0, 0}, {}}}": by size, what each output may differ by.
std::string allowances_text(const ProgramNames& names, std::size_t sizes) {
  std::string text;
  for (std::size_t i = 0; i < sizes; ++i) {
    text += i == 0 ? "{" : ", {";
    if (i < names.allowances.size())
      for (const OutputAllowance& allowance : names.allowances[i])
        text += fmt::format("{{{}, {}, {}, {}}}, ", allowance.relative, allowance.common,
                            allowance.jump, allowance.jumps);
    text += "{}}";
  }
  return "{" + text + "}";
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
  return sha256(all).substr(0, digest_length - checksum_length) + checksum_digits(programs);
}

/// A paragraph about kernels in place of derived ones, which are listed; empty if there are none.
static std::string own_kernels_text(Programs programs) {
  std::string text;
  for (const std::string& line : own_kernel_lines(programs))
    text += "\n- " + shown(shown(line, ShownIn::comment), ShownIn::markdown);
  if (text.empty()) return "";
  return "\n\nSource that was written for an operator, in place of loops from its definition:\n" +
         text;
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
  return {
      {"name", names.name},
      {"title", shown(shown(names.title, ShownIn::comment), ShownIn::markdown)},
      {"units",
       first.units.size() == 1 ? "one thread" : fmt::format("{} threads", first.units.size())},
      {"inputs", list_of(programs, &OperatorGraph::inputs)},
      {"outputs", list_of(programs, &OperatorGraph::outputs)},
      {"size_count", fmt::format("{}", programs.size())},
      {"tensor_count", fmt::format("{}", first.graph.inputs.size() + first.graph.outputs.size())},
      {"output_count", fmt::format("{}", first.graph.outputs.size())},
      {"tensor_bytes", tensor_bytes_text(programs)},
      {"tensor_tables", tensor_tables(programs, names.dimensions)},
      {"operators", fmt::format("{}", operators)},
      {"tasks", fmt::format("{}", tasks)},
      {"missing_bytes", fmt::format("{}", names.missing_bytes)},
      {"allowances", allowances_text(names, programs.size())},
      {"least_alignment", "1"},
      {"of_element", "0"},
      {"of_largest", "0"},
      {"kernels", fmt::format("{}", kernels)},
      {"waits", fmt::format("{}", waits)},
      {"arena_bytes", fmt::format("{}", arena)},
      {"unshared_bytes", fmt::format("{}", unshared)},
      {"weight_bytes", fmt::format("{}", first.weight_bytes)}};
}

namespace {

std::string weights_header(Programs programs) {
  std::string header = "TASKPROG";
  const std::uint64_t bytes = programs.front().weight_bytes;
  header.append(reinterpret_cast<const char*>(&bytes), sizeof(bytes));  // NOLINT: bytes as text
  return header + weight_digest(programs);
}

Result<void> write_recorded(const RecordedTensors& recorded, const fs::path& file) {
  LEMMA_ASSIGN_OR_RETURN(OutputFile out, OutputFile::create(file));
  for (const std::span<const std::byte> tensor : recorded) LEMMA_RETURN_IF_ERROR(out.write(tensor));
  LEMMA_RETURN_IF_ERROR(out.finish());
  return out.publish();
}

/// The file of an emitted directory that lists what was written into it.
constexpr std::string_view listing = ".lemma-files";
constexpr std::string_view listing_head =
    "# files that lemma emit wrote, which --replace replaces\n";

/// The names that a listing has; nothing if the directory has no listing.
std::optional<std::set<std::string>> listed_files(const fs::path& directory) {
  std::ifstream file(directory / listing);
  std::string line;
  if (!std::getline(file, line) || line + "\n" != listing_head) return std::nullopt;
  std::set<std::string> names = {std::string(listing)};
  while (std::getline(file, line))
    if (fs::path(line).filename() == line) names.insert(line);
  return names;
}

/// Takes what was emitted before out of a copy of the directory. An error: something else has a name that is needed.
Result<void> take_old_files(const fs::path& target, const fs::path& copy,
                            const std::vector<std::string>& names) {
  std::error_code error;
  if (const auto old = listed_files(copy))
    for (const std::string& name : *old) fs::remove(copy / name, error);
  for (const std::string& name : names)
    if (fs::exists(fs::symlink_status(copy / name, error)))
      return bad_input(
          fmt::format("{}: lemma did not write it, and needs its name", (target / name).string()));
  return {};
}

}  // namespace

ProgramFiles shared_files(const Words& words) {
  return {{"call_checks.h", filled_in(parts::call_checks, words)},
          {"comparison.h", filled_in(parts::comparison, words)},
          {"fast_functions.h", std::string(parts::fast_functions)},
          {"half_precision.h", std::string(parts::half_precision)},
          {"half_types.h", std::string(parts::half_types)},
          {"scalar_operations.h", std::string(parts::scalar_operations)},
          {"tensors.h", filled_in(parts::tensors, words)},
          {"weight_checksum.h", std::string(parts::weight_checksum)}};
}

namespace {

/// What sources say of control flow, where there is none.
Words words_without_flow() {
  return {{"has_flow", "false"},  {"flow_include", ""},
          {"flow_functions", ""}, {"flow_declarations", ""},
          {"flow_codes", ""},     {"flow_files", ""},
          {"flow_text", ""},      {"run", "threads.machine.run(size, memories);"}};
}

/// Counts of segments, and what sources say of control flow. `name`: of the program.
void take_flow(const FlowProgram& flow, const std::string& name, Words& words) {
  std::size_t operators = 0, tasks = 0, waits = 0;
  for (const TaskProgram& segment : flow.segments) {
    operators += segment.graph.operators.size();
    tasks += segment.task_count();
    waits += wait_count(segment);
  }
  words["operators"] = fmt::format("{}", operators);
  words["tasks"] = fmt::format("{}", tasks);
  words["waits"] = fmt::format("{}", waits);
  words["unshared_bytes"] = fmt::format("{}", flow.unshared_bytes);
  words["has_flow"] = "true";
  words["flow_include"] = "#include \"flow_tables.h\"\n";
  words["run"] = filled_in(parts::flow_run, {{"name", name}});
  words["flow_functions"] = filled_in(parts::flow_functions, {{"name", name}});
  words["flow_declarations"] = filled_in(parts::flow_declarations, {{"name", name}});
  words["flow_codes"] = fmt::format(
      ",\n  {}_refused = 6 /* a loop takes more steps than its outputs have room for */", name);
  words["flow_files"] =
      "| `flow.h`, `flow_tables.h` | which schedules run in which order, decided in each run |\n";
  words["flow_text"] = fmt::format(
      " There are {} schedules, between which {} instructions branch, loop and hand tensors on; "
      "that each of these "
      "finds what it reads was checked as well.",
      flow.segments.size(), flow.instructions.size());
}

/// Sources with the kernels and schedules of `programs`, and the interface of `described`.
Result<ProgramFiles> emit_files(Programs programs, Programs described, const FlowProgram* flow,
                                const ProgramNames& names) {
  LEMMA_ASSIGN_OR_RETURN(const KernelTexts kernels, kernel_texts(programs));
  const bool has_residues = programs.front().domain == lowering::Domain::prime_field;
  Words words = program_words(described, names, kernels.functions.size());
  words.merge(words_without_flow());
  words["own_kernels"] = own_kernels_text(programs);
  if (flow != nullptr) take_flow(*flow, names.name, words);
  std::uint64_t arena_bytes = 0;
  for (const TaskProgram& program : described)
    arena_bytes = std::max(arena_bytes, program.arena_bytes);
  ProgramFiles kernel_sources = kernel_files(kernels, names.name, has_residues);
  std::string includes, listed;
  for (const auto& [file, text] : kernel_sources)
    if (is_kernel_source(file)) {
      includes += fmt::format("#include \"{}\"\n", file);
      listed += " " + file;
    }
  words.insert({{"kernel_includes", includes}, {"kernel_sources", listed}});
  ProgramFiles files = shared_files(words);
  files.insert(files.end(), {{"CMakeLists.txt", filled_in(parts::cmake, words)},
                             {"README.md", filled_in(parts::readme, words)}});
  files.insert(files.end(), std::make_move_iterator(kernel_sources.begin()),
               std::make_move_iterator(kernel_sources.end()));
  files.insert(files.end(), {{names.name + ".cpp", filled_in(parts::interface_source, words)},
                             {names.name + ".h", filled_in(parts::interface_header, words)},
                             {names.name + ".map", filled_in(parts::symbols, words)},
                             {"program_names.h", filled_in(parts::program_names, words)},
                             {"rank_selection.h", std::string(parts::rank_selection)},
                             {"run_time.h", std::string(parts::run_time)},
                             {"schedule.h", tables_text(programs, kernels, names.name,
                                                        weight_digest(programs), arena_bytes)},
                             {"selfcheck.cpp", filled_in(parts::selfcheck, words)},
                             {"vectors.h", std::string(parts::vectors)}});
  if (flow != nullptr)
    files.insert(files.end(), {{"flow.h", std::string(parts::flow)},
                               {"flow_tables.h", flow_tables_text(*flow)}});
  if (has_residues)
    files.insert(files.end(), {{"field.h", std::string(parts::field)},
                               {"residues.h", std::string(parts::residues)}});
  return files;
}

}  // namespace

Result<ProgramFiles> emit_program(Programs programs, const ProgramNames& names) {
  LEMMA_RETURN_IF_ERROR(check_sizes(programs));
  return emit_files(programs, programs, nullptr, names);
}

Result<ProgramFiles> emit_flow_program(const FlowProgram& program, const ProgramNames& names) {
  const TaskProgram described = described_interface(program);
  return emit_files(program.segments, std::span(&described, 1), &program, names);
}

std::string written_digest(const fs::path& directory) {
  const auto files = listed_files(directory);
  if (!files) return "";
  std::string all, part;
  for (const std::string& name : *files) {
    all += name + "\n";
    // Weights need not fit into memory once more.
    constexpr std::size_t part_bytes = std::size_t{16} << 20U;
    std::ifstream file(directory / name, std::ios::binary);
    do {
      part.resize(part_bytes);
      file.read(part.data(), static_cast<std::streamsize>(part.size()));
      part.resize(static_cast<std::size_t>(file.gcount()));
      all += sha256(part) + "\n";
    } while (file.good());
  }
  return sha256(all);
}

Result<void> write_program(Programs programs, const ProgramNames& names,
                           const RecordedTensors& recorded, const fs::path& directory,
                           bool replaces) {
  LEMMA_ASSIGN_OR_RETURN(const ProgramFiles files, emit_program(programs, names));
  return write_program(programs, files, recorded, directory, replaces);
}

Result<void> write_program(Programs programs, const ProgramFiles& files,
                           const RecordedTensors& recorded, const fs::path& directory,
                           bool replaces, const CompleteProgram& before_publishing) {
  return write_program_directory(
      files,
      {{"selfcheck.bin", [&](const fs::path& file) { return write_recorded(recorded, file); }},
       {"weights.bin", [&](const fs::path& file) { return write_weights(programs, file); }}},
      directory, replaces, before_publishing);
}

Result<void> write_program_directory(const ProgramFiles& texts, const WrittenFiles& others,
                                     const fs::path& directory, bool replaces,
                                     const CompleteProgram& before_publishing) {
  const fs::path target = directory.has_filename() ? directory : fs::path(directory).parent_path();
  LEMMA_RETURN_IF_ERROR(check_program_directory(target, replaces));
  LEMMA_ASSIGN_OR_RETURN(FolderUpdate update, FolderUpdate::begin(target));
  // Another process may have been first.
  LEMMA_RETURN_IF_ERROR(check_program_directory(target, replaces));
  std::vector<std::string> names;
  for (const auto& [name, write] : others) names.push_back(name);
  for (const auto& [name, contents] : texts) names.push_back(name);
  std::sort(names.begin(), names.end());
  LEMMA_RETURN_IF_ERROR(take_old_files(target, update.copy(), names));
  ProgramFiles all = texts;
  all.emplace_back(listing, fmt::format("{}{}\n", listing_head, fmt::join(names, "\n")));
  LEMMA_RETURN_IF_ERROR(write_files_atomically(update.copy(), all));
  for (const auto& [name, write] : others) LEMMA_RETURN_IF_ERROR(write(update.copy() / name));
  if (before_publishing) before_publishing(update.copy());
  return update.publish();
}

Result<void> write_weights(Programs programs, const fs::path& file) {
  LEMMA_ASSIGN_OR_RETURN(OutputFile out, OutputFile::create(file));
  const std::string header = weights_header(programs);
  const std::uint64_t bytes = programs.front().weight_bytes;
  LEMMA_RETURN_IF_ERROR(out.write(std::as_bytes(std::span(header))));
  for (const auto& [offset, buffer] : weights_of(programs)) {
    LEMMA_RETURN_IF_ERROR(out.pad_to(header_bytes + offset));
    LEMMA_RETURN_IF_ERROR(out.write(buffer->contents->bytes()));
  }
  LEMMA_RETURN_IF_ERROR(out.pad_to(header_bytes + bytes));
  LEMMA_RETURN_IF_ERROR(out.finish());
  return out.publish();
}

bool holds_program(Programs programs, const ProgramFiles& files, const fs::path& directory) {
  for (const auto& [name, contents] : files) {
    std::ifstream file(directory / name, std::ios::binary);
    const std::string there{std::istreambuf_iterator<char>(file), {}};
    if (there != contents) return false;
  }
  const fs::path weights = directory / "weights.bin";
  std::error_code error;
  if (fs::file_size(weights, error) != header_bytes + programs.front().weight_bytes || error)
    return false;
  std::ifstream file(weights, std::ios::binary);
  std::string part;
  const auto has = [&](std::uint64_t offset, std::string_view bytes) {
    part.resize(bytes.size());
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    return file.good() && part == bytes;
  };
  if (!has(0, weights_header(programs))) return false;
  for (const auto& [offset, buffer] : weights_of(programs))
    if (!has(header_bytes + offset, bytes_of(*buffer))) return false;
  return true;
}

Result<void> check_program_directory(const fs::path& directory, bool replaces) {
  std::error_code error;
  const auto status = fs::status(directory, error);
  if (!fs::exists(status)) return {};
  if (!fs::is_directory(status))
    return bad_input(fmt::format("{}: is no directory", directory.string()));
  if (fs::is_empty(directory, error)) return {};
  if (!replaces) return bad_input(fmt::format("{}: is there already", directory.string()));
  if (listed_files(directory)) return {};
  return bad_input(fmt::format(
      "{}: is there already and is no task program that lemma wrote: it has no file {}; give "
      "another directory, or remove it yourself",
      directory.string(), listing));
}

}  // namespace lemma::backend
