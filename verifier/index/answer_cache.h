#pragma once
// The answers to queries by their text, as far as there is room. An answer depends on its text alone, so that what is forgotten
// is found out again, and nobody sees a difference.

#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace lemma::verifier::index {

/// Several threads may use it.
class AnswerCache {
 public:
  /// `most_bytes`: of the texts that are kept, about.
  explicit AnswerCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  std::optional<bool> find(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (const auto entry = recent_.find(text); entry != recent_.end()) return entry->second;
    const auto entry = older_.find(text);
    if (entry == older_.end()) return std::nullopt;
    const bool answer = entry->second;
    add_recent(text, answer);
    return answer;
  }

  void add(const std::string& text, bool answer) {
    const std::lock_guard lock(mutex_);
    add_recent(text, answer);
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return recent_.size() + older_.size();
  }

 private:
  /// Where half of the room is used up, what was not asked for since the last time goes.
  void add_recent(const std::string& text, bool answer) {
    if (!recent_.emplace(text, answer).second) return;
    bytes_ += text.size();
    if (bytes_ <= most_bytes_ / 2) return;
    older_ = std::exchange(recent_, {});
    bytes_ = 0;
  }

  const std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::size_t bytes_ = 0;  // of recent_
  std::unordered_map<std::string, bool> recent_, older_;
};

}  // namespace lemma::verifier::index
