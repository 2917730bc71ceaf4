#pragma once
// What the tests of outputs share.

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "outputs/scratch.h"

namespace lemma {

namespace fs = std::filesystem;

inline void put(const fs::path& file, const std::string& contents) {
  std::ofstream(file, std::ios::binary) << contents;
}

inline std::string get(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Names of all entries below, also hidden ones.
inline std::set<std::string> names_below(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names.insert(entry.path().lexically_relative(folder).string());
  return names;
}

inline unsigned mode_of(const fs::path& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

}  // namespace lemma
