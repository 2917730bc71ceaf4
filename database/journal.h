#pragma once
// Results that a job has so far, kept in a file so that it goes on where it was ended.
//
// The journal remembers what questions were answered with: a question is the text of everything
// that an answer depends on. A job asks the same questions in every run, so one that was
// killed asks them again and has the answers at once; nothing else of it has to be kept. A record is a
// line with a digest; what follows a damaged line is not believed and cut off.

#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ir/result.h"

namespace lemma::database {

class Journal {
 public:
  /// `job` says what all answers depend on (versions, axioms, limits). The journal of another job is
  /// emptied. Another process that has the file open is an error.
  static Result<Journal> open(const std::filesystem::path& file, std::string_view job);
  /// One that forgets everything.
  Journal() = default;
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  /// What questions are known by: a digest.
  static std::string key(std::string_view question);

  std::size_t answers() const { return answers_.size(); }
  /// By key. Not while others add to it.
  const std::unordered_map<std::string, std::string>& all() const { return answers_; }
  bool knows(const std::string& key) const;
  std::optional<std::string> find(const std::string& key) const;
  /// Threads may call knows(), find() and add() at the same time. Written at once, so that it outlives
  /// the process; to the disk about every two seconds, so that it outlives the machine's power.
  Result<void> add(const std::string& key, const std::string& answer);

 private:
  void close();

  int descriptor_ = -1;
  std::unordered_map<std::string, std::string> answers_;  // by key
  std::chrono::steady_clock::time_point last_sync_{};
  mutable std::mutex mutex_;
};

}  // namespace lemma::database
