#include "database/answer_journal.h"

#include <utility>

#include "base/sha256.h"

namespace lemma::database {

namespace {

constexpr std::size_t key_length = 64;

}  // namespace

AnswerJournal::AnswerJournal(AnswerJournal&& other) noexcept { *this = std::move(other); }

AnswerJournal& AnswerJournal::operator=(AnswerJournal&& other) noexcept {
  journal_ = std::move(other.journal_);
  answers_ = std::move(other.answers_);
  return *this;
}

Result<AnswerJournal> AnswerJournal::open(const std::filesystem::path& file, std::string_view job) {
  AnswerJournal result;
  LEMMA_ASSIGN_OR_RETURN(result.journal_, Journal::open(file, job));
  for (const std::string& record : result.journal_.take_records())
    if (record.size() >= key_length)
      result.answers_[record.substr(0, key_length)] = record.substr(key_length);
  return result;
}

std::string AnswerJournal::key(std::string_view query) { return sha256(query); }

bool AnswerJournal::knows(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  return answers_.contains(key);
}

std::optional<std::string> AnswerJournal::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto entry = answers_.find(key);
  return entry != answers_.end() ? std::optional(entry->second) : std::nullopt;
}

Result<void> AnswerJournal::add(const std::string& key, const std::string& answer) {
  const std::lock_guard lock(mutex_);
  if (!answers_.emplace(key, answer).second) return {};
  return journal_.add(key + answer);
}

}  // namespace lemma::database
