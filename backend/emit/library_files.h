#pragma once
// A program as a compiled library, with what is needed to call it from C and from Python.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "backend/emit/emit_program.h"

namespace lemma::backend {

/// The wanted name of a library (program_name.h). Python would find some modules under other names no more.
std::string library_identifier(std::string_view text);

/// The name of the program that files were emitted of.
std::string name_of_program(const ProgramFiles& files);

/// libNAME.so, NAME.h, NAME.weights, NAME.py and README.md in a directory, as write_program() writes it; their names.
/// `files`: the sources that the library was compiled from. `described`: the programs, or the interface of one with control
/// flow (described_interface). `title` and `compiler` are for people.
Result<std::vector<std::string>> write_library(Programs programs, Programs described,
                                               const ProgramFiles& files, const std::string& title,
                                               const std::string& compiler,
                                               const std::filesystem::path& library,
                                               const std::filesystem::path& directory,
                                               bool replaces);

}  // namespace lemma::backend
