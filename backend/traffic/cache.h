#pragma once
// A cache of lines, fully associative, that drops the line that was used longest ago.

#include <cstdint>
#include <list>

#include <absl/container/flat_hash_map.h>

namespace lemma::backend {

class Cache {
 public:
  Cache(std::uint64_t lines) : most_lines_(lines) {}

  /// `is_kept_back`: a written line of it need not reach memory when the cache is emptied.
  void access(std::uint64_t line, bool is_write, bool is_kept_back);
  void empty();

  std::uint64_t lines_read() const { return lines_read_; }
  std::uint64_t lines_written() const { return lines_written_; }

 private:
  struct Line {
    std::uint64_t number = 0;
    bool is_written = false, is_kept_back = false;
  };

  std::uint64_t most_lines_, lines_read_ = 0, lines_written_ = 0;
  std::list<Line> lines_;  // the one used last comes first
  absl::flat_hash_map<std::uint64_t, std::list<Line>::iterator> places_;
  absl::flat_hash_map<std::uint64_t, bool>
      dropped_;  // lines that lie in memory although they are new
};

}  // namespace lemma::backend
