#include "generator/range_file.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/sha256.h"
#include "outputs/files.h"

namespace lemma::generator {
namespace {

constexpr std::size_t head_size = 4;  // words before the groups

}  // namespace

std::string bytes_of(const RangeGroups& range_groups) {
  std::vector<std::uint64_t> words = {range_groups.evaluated, range_groups.collisions,
                                      range_groups.joined_groups, range_groups.joined_terms};
  words.insert(words.end(), range_groups.words.begin(), range_groups.words.end());
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint64_t)};
}

std::optional<RangeGroups> parse_range(std::string_view bytes, const LargestTerms& level) {
  std::vector<std::uint64_t> words(bytes.size() / sizeof(std::uint64_t));
  if (words.size() < head_size || bytes.size() % sizeof(std::uint64_t) != 0) return std::nullopt;
  std::memcpy(words.data(), bytes.data(), bytes.size());
  for (std::size_t at = head_size; at < words.size();) {
    const auto group = packed_group(words.data() + at, words.size() - at);
    if (!group || !level.is_group(*group)) return std::nullopt;
    at += group->size();
  }
  RangeGroups range_groups;
  range_groups.evaluated = words[0];
  range_groups.collisions = words[1];
  range_groups.joined_groups = words[2];
  range_groups.joined_terms = words[3];
  range_groups.words.assign(words.begin() + head_size, words.end());
  return range_groups;
}

std::filesystem::path RangeFiles::file_of(KeyRange range) const {
  return folder_ / fmt::format("range_{}_of_{}.groups", range.number + 1, range.count);
}

std::string RangeFiles::header(std::string_view bytes) const {
  return fmt::format("groups that are not joined, of {} {}\n", sha256(key_), sha256(bytes));
}

std::optional<RangeGroups> RangeFiles::find(KeyRange range, const LargestTerms& level) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream stream(file_of(range), std::ios::binary);
  if (!stream) return std::nullopt;
  const std::string contents{std::istreambuf_iterator<char>(stream), {}};
  const std::size_t end = std::min(contents.find('\n'), contents.size() - 1) + 1;
  const std::string_view bytes = std::string_view(contents).substr(end);
  if (contents.substr(0, end) != header(bytes)) return std::nullopt;
  return parse_range(bytes, level);
}

Result<void> RangeFiles::keep(KeyRange range, const RangeGroups& range_groups) const {
  if (folder_.empty()) return {};
  std::error_code ignored;  // the file cannot be written then
  std::filesystem::create_directories(folder_, ignored);
  const std::string bytes = bytes_of(range_groups);
  return write_file_atomically(file_of(range), header(bytes) + bytes);
}

}  // namespace lemma::generator
