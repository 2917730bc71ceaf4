#pragma once
// A file of lines that outlives the process, with which a run that was interrupted goes on. Each line
// has a digest; what follows a line that is torn or damaged is not believed and cut off.

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"

namespace lemma::generator {

class LineJournal {
 public:
  /// The good lines of a journal of the same work (`key`), which is continued; one of other work is
  /// begun anew. The folder is made if there is none.
  Result<std::vector<std::string>> open(const std::filesystem::path& file, std::string_view key);
  bool is_open() const { return stream_.is_open(); }
  /// Without line ends; handed to the system at once.
  void add(std::string_view line);

 private:
  std::ofstream stream_;
};

}  // namespace lemma::generator
