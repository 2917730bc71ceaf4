#pragma once
// Who touched which bytes of one memory: the last write of each byte, and who read each buffer.

#include <map>
#include <string>

#include "backend/program.h"
#include "backend/prove/execution_order.h"

namespace lemma::backend {

class MemoryHistory {
 public:
  explicit MemoryHistory(std::uint64_t bytes);

  /// The bytes [begin, end) are written for a buffer. The error says with which access that collides.
  Result<void> write(const OrderedStep& step, BufferNumber buffer, std::uint64_t begin,
                     std::uint64_t end);
  /// Whether all of the buffer's bytes have been written, by tasks that have ended, and are still there.
  bool holds_all(const OrderedStep& step, BufferNumber buffer, std::uint64_t bytes) const;
  /// Whether to read the bytes as the contents of a buffer is an error.
  Result<void> check_read(const OrderedStep& step, BufferNumber buffer, std::uint64_t begin,
                          std::uint64_t end) const;
  /// A region of a buffer, which begins at `start` and lives longer than this history, is read.
  void add_reader(const OrderedStep& step, const Region& region, std::uint64_t start,
                  std::uint64_t element_bytes);
  /// All bytes were last written for the buffer.
  bool holds(BufferNumber buffer, std::uint64_t begin, std::uint64_t end) const;

 private:
  struct Access {
    UnitNumber unit = 0;
    std::uint32_t index = 0;
  };
  /// Bytes with the same history, up to where the next ones begin.
  struct Cell {
    std::uint64_t end = 0;
    std::optional<BufferNumber> buffer;  // that it was last written for
    Access writer;
  };
  using Cells = std::map<std::uint64_t, Cell>;
  struct Reading {
    Access reader;
    const Region* region = nullptr;
    std::uint64_t start = 0, element_bytes = 0;
  };
  /// The use of a buffer: by unit, how many of its tasks there are up to the last that writes or
  /// reads it.
  struct Use {
    std::vector<std::uint32_t> writers, readers;
    std::vector<Reading> readings;
    std::uint64_t written = 0;  // bytes
    bool is_overwritten = false;
  };

  void split(std::uint64_t at);
  Result<void> check_readers(const OrderedStep& step, const Use& use, std::uint64_t begin,
                             std::uint64_t end) const;

  Cells cells_;
  std::map<BufferNumber, Use> uses_;
};

}  // namespace lemma::backend
