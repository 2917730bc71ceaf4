#pragma once
// The program supervisor.cpp as a file that this process can execute, wherever it is installed.

#include <span>
#include <string>

#include "base/result.h"

namespace lemma {

/// The bytes of the program.
extern const std::span<const unsigned char> supervisor_image;

/// The path of a file with these bytes, which has no name in any folder and lasts as long as this process: in memory,
/// or in the temporary folder where the system executes nothing from memory. An error says why there is none.
Result<std::string> supervisor_file();

}  // namespace lemma
