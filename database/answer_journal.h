#pragma once
// The memo table of a job: answers to queries, kept in a file so that an interrupted job can be
// resumed.
//
// A query is the text of everything that an answer depends on. A job asks the same queries in every
// run, so a resumed job finds the answers in the journal. No other state has to be saved.

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "system/journal.h"

namespace lemma::database {

class AnswerJournal {
 public:
  /// `job` says what all answers depend on (versions, axioms, limits). Otherwise like Journal::open().
  static Result<AnswerJournal> open(const std::filesystem::path& file, std::string_view job);
  /// One that forgets everything.
  AnswerJournal() = default;
  AnswerJournal(AnswerJournal&& other) noexcept;
  AnswerJournal& operator=(AnswerJournal&& other) noexcept;

  /// What queries are known by: a digest.
  static std::string key(std::string_view query);

  std::size_t answers() const { return answers_.size(); }
  /// All answers by key. Not to be called while others add to them.
  const std::unordered_map<std::string, std::string>& all() const { return answers_; }
  bool knows(const std::string& key) const;
  std::optional<std::string> find(const std::string& key) const;
  /// Threads may call knows(), find() and add() at the same time.
  Result<void> add(const std::string& key, const std::string& answer);

 private:
  Journal journal_;
  std::unordered_map<std::string, std::string> answers_;  // by key
  mutable std::mutex mutex_;
};

}  // namespace lemma::database
