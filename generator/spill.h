#pragma once
// Records that may not fit into memory, divided into ranges.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "outputs/unnamed_file.h"

namespace lemma::generator {

/// Records are added in any order; a range is taken as a whole, in the order in which its records were added. What does
/// not fit into memory is in a file without a name.
template <typename Record>
class Spill {
 public:
  static_assert(std::is_trivially_copyable_v<Record>);
  /// One range is always held in memory. Of several, at most `memory` bytes are.
  Spill(std::size_t ranges, std::size_t memory)
      : buffers_(ranges), parts_(ranges), most_(memory / sizeof(Record)) {}

  std::size_t range_count() const { return buffers_.size(); }

  Result<void> add(std::size_t range, const Record& record) {
    buffers_[range].push_back(record);
    if (++held_ <= most_ || buffers_.size() == 1) return {};
    return write();
  }

  /// Writes all records to the file.
  Result<void> write() {
    for (std::size_t range = 0; range < buffers_.size(); ++range) {
      std::vector<Record>& buffer = buffers_[range];
      if (buffer.empty()) continue;
      LEMMA_ASSIGN_OR_RETURN(const std::uint64_t offset,
                             file_.append(buffer.data(), buffer.size() * sizeof(Record)));
      parts_[range].push_back({offset, buffer.size()});
      buffer.clear();
    }
    held_ = 0;
    return {};
  }

  /// The records of a range, which are not there any more after that.
  Result<std::vector<Record>> take(std::size_t range) {
    std::vector<Record> last = std::move(buffers_[range]);
    buffers_[range] = {};
    held_ -= last.size();
    if (parts_[range].empty()) return last;
    std::size_t count = last.size();
    for (const Part& part : parts_[range]) count += part.count;
    std::vector<Record> result(count);
    Record* at = result.data();
    for (const Part& part : parts_[range]) {
      LEMMA_RETURN_IF_ERROR(file_.read(part.offset, at, part.count * sizeof(Record)));
      at += part.count;
    }
    std::copy(last.begin(), last.end(), at);
    parts_[range] = {};
    return result;
  }

  /// Releases the memory of what was written.
  void release() {
    for (std::vector<Record>& buffer : buffers_)
      if (buffer.empty()) buffer = {};
  }

 private:
  struct Part {
    std::uint64_t offset = 0;
    std::size_t count = 0;
  };
  std::vector<std::vector<Record>> buffers_;
  std::vector<std::vector<Part>> parts_;
  std::size_t most_, held_ = 0;  // records in memory
  UnnamedFile file_;
};

}  // namespace lemma::generator
