#pragma once
// A journal of records, from which a job that was interrupted is resumed. A process may be killed
// while it writes: each record has a digest, and a damaged record is removed together with
// everything after it.

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lemma {

class Journal {
 public:
  /// `job` says what all records depend on; the journal of another job is emptied. The folder is made if
  /// there is none. Another process that has the file open is an error;
  /// that it lets go is waited for a while, since one that was killed just now may still have it.
  static Result<Journal> open(const std::filesystem::path& file, std::string_view job,
                              std::chrono::milliseconds patience = std::chrono::seconds(15));
  /// One that keeps nothing.
  Journal() = default;
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  bool is_open() const { return descriptor_ >= 0; }
  /// The records that were there when it was opened, in order; they are handed over.
  std::vector<std::string> take_records();
  /// Any bytes. Written at once, so that it outlives the process; to the disk about every two seconds,
  /// so that it outlives the machine's power.
  Result<void> add(std::string_view record);

 private:
  int descriptor_ = -1;
  std::vector<std::string> records_;
  std::chrono::steady_clock::time_point last_sync_{};
};

/// Whether a journal may be opened there: nothing is there, or a journal of any job.
bool may_be_journal(const std::filesystem::path& file);

/// The records of a journal that another process may be writing; none if the file is not one of this job.
std::vector<std::string> read_journal(const std::filesystem::path& file, std::string_view job);

}  // namespace lemma
