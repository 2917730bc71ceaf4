#pragma once
// Libraries of operators from outside (docs/outside_operators.md): loading them, and seeing that their records say what records
// have to say.

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "ir/operator.h"

namespace lemma {

/// The variable of the environment that names libraries, separated by colons. Programs that a program starts load
/// what it has loaded.
inline constexpr const char* operator_libraries_variable = "LEMMA_OPERATORS";
/// The option that names a library; it may be repeated.
inline constexpr std::string_view operator_libraries_option = "--operators";

/// Loads libraries, registers their operators and kernels of one's own, and checks each operator on an example. Before any operator is asked for, and
/// once in a process. The libraries of $LEMMA_OPERATORS come with them; a file that is named twice is loaded once. The order
/// makes no difference. An error names the library: there is no such file, it is no library of operators, it is for
/// another version of Lemma, and whatever registration and the check find. Nothing is run of a library that is refused
/// for its kind or version.
Result<void> load_operator_libraries(const std::vector<std::filesystem::path>& files);

/// The files that were loaded, sorted.
std::vector<std::filesystem::path> loaded_operator_libraries();

/// The values of --operators among the words of a command line.
std::vector<std::filesystem::path> operator_libraries_of(const std::vector<std::string>& words);

/// Whether shape rule and definition or composition fit together, on the record's own examples and one that is found:
/// as many outputs, of the same types; reads of operands that there are, with an index for each axis. An error:
/// they do not, or the shape rule accepts no example.
Result<void> check_meaning(const OperatorRecord& record);

}  // namespace lemma
