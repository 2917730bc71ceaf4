#include "generator/range_file.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "base/sha256.h"
#include "outputs/files.h"

namespace lemma::generator {
namespace {

using Word = std::uint64_t;

/// Numbers one after the other; once there are none left, it has failed.
class WordReader {
 public:
  explicit WordReader(std::string_view bytes) : bytes_(bytes) {}
  Word next() {
    Word word = 0;
    failed_ = failed_ || bytes_.size() - at_ < sizeof(Word);
    if (failed_) return 0;
    std::memcpy(&word, bytes_.data() + at_, sizeof(Word));
    at_ += sizeof(Word);
    return word;
  }
  std::size_t left() const { return (bytes_.size() - at_) / sizeof(Word); }
  bool failed() const { return failed_; }
  bool is_done() const { return !failed_ && at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace

std::string bytes_of(const RangeGroups& range_groups) {
  std::vector<Word> words = {range_groups.evaluated, range_groups.collisions,
                             range_groups.groups.size()};
  for (const PackedGroup& group : range_groups.groups) {
    words.insert(words.end(), {group.type, group.known, group.terms.size()});
    words.insert(words.end(), group.terms.begin(), group.terms.end());
  }
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(Word)};
}

std::optional<RangeGroups> parse_range(std::string_view bytes, const LargestTerms& level) {
  WordReader words(bytes);
  RangeGroups range_groups;
  range_groups.evaluated = words.next();
  range_groups.collisions = words.next();
  const Word groups = words.next();
  for (Word i = 0; i < groups && !words.failed(); ++i) {
    PackedGroup& group = range_groups.groups.emplace_back();
    group.type = static_cast<std::uint32_t>(words.next());
    group.known = static_cast<ClassId>(words.next());
    const Word count = words.next();
    if (count > words.left()) return std::nullopt;
    for (Word k = 0; k < count; ++k) group.terms.push_back(words.next());
    if (!level.is_group(group)) return std::nullopt;
  }
  if (!words.is_done()) return std::nullopt;
  return range_groups;
}

std::filesystem::path RangeFiles::file_of(KeyRange range) const {
  return folder_ / fmt::format("range_{}_of_{}.groups", range.number + 1, range.count);
}

std::string RangeFiles::header(std::string_view bytes) const {
  return fmt::format("groups of {} {}\n", sha256(key_), sha256(bytes));
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
  const std::string bytes = bytes_of(range_groups);
  return write_file_atomically(file_of(range), header(bytes) + bytes);
}

}  // namespace lemma::generator
