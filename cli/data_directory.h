#pragma once

#include <filesystem>

namespace lemma {

// The folder that holds the data the program needs, `rules/` above all: $LEMMA_DATA if set, else
// `../share/lemma` seen from the program, which holds both in a build folder and once installed.
std::filesystem::path data_directory();

}  // namespace lemma
