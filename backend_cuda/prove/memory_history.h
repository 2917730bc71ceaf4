#pragma once
// Who touched which bytes of one memory: the last write of each byte, and the reads since then.

#include <map>
#include <string>

#include "backend_cuda/program.h"
#include "backend_cuda/prove/execution_order.h"

namespace lemma::backend {

class MemoryHistory {
 public:
  explicit MemoryHistory(std::uint64_t bytes);

  /// The bytes [begin, end) are written for a buffer. The error says with which access that collides.
  Result<void> write(const OrderedStep& step, BufferNumber buffer, std::uint64_t begin,
                     std::uint64_t end);
  /// They are read as the contents of a buffer.
  Result<void> read(const OrderedStep& step, BufferNumber buffer, std::uint64_t begin,
                    std::uint64_t end);
  /// Whether a read would be an error; notes nothing.
  Result<void> check_read(const OrderedStep& step, BufferNumber buffer, std::uint64_t begin,
                          std::uint64_t end) const;
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
    std::vector<Access> readers;  // the last of each unit
  };
  using Cells = std::map<std::uint64_t, Cell>;

  void split(std::uint64_t at);

  Cells cells_;
};

}  // namespace lemma::backend
