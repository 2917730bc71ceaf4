#pragma once

#include <filesystem>
#include <string>

#include "ir/result.h"

namespace lemma {

// The folder that holds the data the program needs, `rules/` above all: $LEMMA_DATA if set, else
// `../share/lemma` seen from the program, which holds both in a build folder and once installed.
std::filesystem::path data_directory();

/// The description that `--device` means: the file, or that of a shipped device. An error lists these.
Result<std::filesystem::path> device_file(const std::string& device);

/// The Python that the checkout's scripts made (.venv), if this program was built in one, else
/// "python3".
std::string python_program();

}  // namespace lemma
