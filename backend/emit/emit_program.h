#pragma once
// A task program as a directory of source that needs nothing but a C++ compiler.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/flow_program.h"
#include "backend/program.h"

namespace lemma::backend {

/// What an output may differ by from the recorded one: every element by `relative` of itself and by `common`, and so many
/// elements by `jump` in place of `common`.
struct OutputAllowance {
  double relative = 0, common = 0, jump = 0;
  std::int64_t jumps = 0;
};

struct ProgramNames {
  std::string name;   // an identifier of C: of functions and files
  std::string title;  // for people
  /// The names of an input's dimensions, where they have any, by the input's name: for messages.
  std::map<std::string, std::vector<std::string>> dimensions = {};
  /// The allowances of the self-check, for each size and output. None: outputs must be equal.
  std::vector<std::vector<OutputAllowance>> allowances = {};
  /// Of the tensors that the self-check would need and does not have; 0: it has them.
  std::uint64_t missing_bytes = 0;
};

/// Programs for one size of the inputs each (compile_sizes).
using Programs = std::span<const TaskProgram>;

/// Contents by name of file: all of the directory but the weights and the recorded tensors.
using ProgramFiles = std::vector<std::pair<std::string, std::string>>;

/// The same programs give the same bytes. Errors are `unsupported`: element types that are not emitted yet. The bytes of
/// the inputs decide which one of several runs, and must differ (`bad_input`).
Result<ProgramFiles> emit_program(Programs programs, const ProgramNames& names);

/// The same of a program with control flow. Its weights are those of the segments.
Result<ProgramFiles> emit_flow_program(const FlowProgram& program, const ProgramNames& names);

/// Programs for several sizes are told apart by the bytes of their inputs: errors are `bad_input`.
Result<void> check_sizes(Programs programs);

/// The tensors that the self-check compares with, for each program: all inputs, then all outputs.
using RecordedTensors = std::vector<std::span<const std::byte>>;

/// An error: no program can be written there. Something that is no directory has the place, or a directory that is not
/// empty and that write_program did not make; one that it made is accepted only if `replaces`.
Result<void> check_program_directory(const std::filesystem::path& directory, bool replaces);

/// The digest of the files that write_program wrote into the directory, with their names; empty if it did not make the
/// directory.
std::string written_digest(const std::filesystem::path& directory);

/// Is called with a directory that holds all files of a program, before they appear in their place.
using CompleteProgram = std::function<void(const std::filesystem::path& directory)>;

/// Sources, weights and recorded tensors in a directory; they appear together. Of a directory that is there already, and
/// was written by this function, its files are replaced if `replaces`: what else is in it stays.
Result<void> write_program(Programs programs, const ProgramNames& names,
                           const RecordedTensors& recorded, const std::filesystem::path& directory,
                           bool replaces);
/// The same with other sources.
Result<void> write_program(Programs programs, const ProgramFiles& files,
                           const RecordedTensors& recorded, const std::filesystem::path& directory,
                           bool replaces, const CompleteProgram& before_publishing = nullptr);

/// Files by name, and what writes each of them to a place.
using WrittenFiles =
    std::vector<std::pair<std::string, std::function<Result<void>(const std::filesystem::path&)>>>;

/// Texts and other files in a directory, as write_program() writes them.
Result<void> write_program_directory(const ProgramFiles& texts, const WrittenFiles& others,
                                     const std::filesystem::path& directory, bool replaces,
                                     const CompleteProgram& before_publishing = nullptr);

/// The file of weights, which the interface reads.
Result<void> write_weights(Programs programs, const std::filesystem::path& file);

/// Whether the directory holds the sources and the weights, byte by byte.
bool holds_program(Programs programs, const ProgramFiles& files,
                   const std::filesystem::path& directory);

/// What stands for "{{word}}" in the files of parts/.
using Words = std::map<std::string, std::string>;
std::string filled_in(std::string_view part, const Words& words);
/// What sources of all targets say of a program.
Words program_words(Programs programs, const ProgramNames& names, std::size_t kernels);

/// The files that are the same for all targets.
ProgramFiles shared_files(const Words& words);

/// The digest of the contents and places of all weights.
std::string weight_digest(Programs programs);

}  // namespace lemma::backend
