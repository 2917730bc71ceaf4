#pragma once
// How much larger than the original's the file of a result may be.

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.h"
#include "pipeline/optimize_model.h"

namespace lemma {

/// Lets a search do nothing that makes a file larger by more than so many bytes.
void limit_growth(SearchOptions& search, double bytes);

class FileGrowth {
 public:
  /// `original`: a model file. `written_out`: by how many nodes loops that import has written out have enlarged it.
  static Result<FileGrowth> of(const std::filesystem::path& original,
                               const OptimizeOptions& options, std::int64_t written_out = 0);

  /// Whether the size of the file decides. Otherwise what is faster when it is run may be of any size.
  bool is_limited() const { return is_limited_; }
  double allowed_bytes() const { return allowed_bytes_; }  // beside those of the original
  /// Why a result may not be written for its size; empty if it may.
  Result<std::string> objection_to(const std::filesystem::path& result) const;

 private:
  FileGrowth(std::uintmax_t original_bytes, double allowed_bytes, bool is_limited)
      : original_bytes_(original_bytes), allowed_bytes_(allowed_bytes), is_limited_(is_limited) {}

  std::uintmax_t original_bytes_;
  double allowed_bytes_;
  bool is_limited_;
};

}  // namespace lemma
