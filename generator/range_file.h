#pragma once
// Serialization of the groups of a range of keys, for a file.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/largest.h"

namespace lemma::generator {

std::string bytes_of(const RangeGroups& range_groups);
/// Nothing if the bytes are damaged, or not about this level.
std::optional<RangeGroups> parse_range(std::string_view bytes, const LargestTerms& level);

/// Keeps the groups of ranges that are finished. The owner of a range writes and reads its file. Files are written as a whole and have digests; one that
/// is damaged, or of other work (`key`), is not believed.
class RangeFiles {
 public:
  RangeFiles() = default;  // keeps nothing
  RangeFiles(std::filesystem::path folder, std::string key)
      : folder_(std::move(folder)), key_(std::move(key)) {}

  bool are_kept() const { return !folder_.empty(); }
  std::optional<RangeGroups> find(KeyRange range, const LargestTerms& level) const;
  Result<void> keep(KeyRange range, const RangeGroups& range_groups) const;

 private:
  std::filesystem::path file_of(KeyRange range) const;
  std::string header(std::string_view bytes) const;

  std::filesystem::path folder_;
  std::string key_;
};

}  // namespace lemma::generator
