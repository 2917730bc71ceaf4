#pragma once
// A task program as a directory of source that needs nothing but a C++ compiler.

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend_cuda/program.h"

namespace lemma::backend {

struct ProgramNames {
  std::string name;   // an identifier of C: of functions and files
  std::string title;  // for people
};

/// Letters, digits and underscores, beginning with a letter.
std::string identifier_of(std::string_view text);

/// Contents by name of file: all of the directory but the weights and the recorded tensors. The same program gives
/// the same bytes. Errors are `unsupported`: element types that are not emitted yet.
Result<std::vector<std::pair<std::string, std::string>>> emit_program(const TaskProgram& program,
                                                                      const ProgramNames& names);

/// The tensors that the self-check compares with: all inputs, then all outputs.
using RecordedTensors = std::vector<std::span<const std::byte>>;

/// Sources, weights and recorded tensors in a new directory, which appears complete or not at all. One that is there
/// already is replaced only if `replaces`.
Result<void> write_program(const TaskProgram& program, const ProgramNames& names,
                           const RecordedTensors& recorded, const std::filesystem::path& directory,
                           bool replaces);

}  // namespace lemma::backend
