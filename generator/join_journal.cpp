#include "generator/join_journal.h"

#include <charconv>
#include <optional>

#include <fmt/format.h>

namespace lemma::generator {
namespace {

constexpr auto time_between_writes = std::chrono::milliseconds(200);

/// "PHASE FIRST END", and then " GROUP TERM OTHER" for each attempt.
std::optional<std::vector<std::size_t>> numbers_of(const std::string& line) {
  std::vector<std::size_t> result;
  for (const char *at = line.data(), *end = at + line.size(); at < end; ++at) {
    std::size_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc() || (next != end && *next != ' ')) return std::nullopt;
    result.push_back(number);
    at = next;
  }
  if (result.size() % 3 != 0 || result.empty()) return std::nullopt;
  return result;
}

}  // namespace

Result<void> JoinJournal::open(const std::filesystem::path& directory, std::string_view key) {
  LEMMA_ASSIGN_OR_RETURN(journal_, Journal::open(directory / "joined.journal", key));
  for (const std::string& line : journal_.take_records()) {
    const auto numbers = numbers_of(line);
    if (!numbers) break;
    const std::size_t phase = (*numbers)[0], first = (*numbers)[1], end = (*numbers)[2];
    if (phase > known_.size()) break;
    if (phase == known_.size()) known_.emplace_back();
    Finished& finished = known_[phase];
    if (first != finished.groups || end < first) break;
    finished.groups = end;
    for (std::size_t i = 3; i < numbers->size(); i += 3)
      finished.attempts.push_back({(*numbers)[i], (*numbers)[i + 1], (*numbers)[i + 2]});
  }
  return {};
}

JoinJournal::Finished JoinJournal::begin(std::size_t phase) {
  phase_ = phase;
  attempts_.clear();
  last_write_ = std::chrono::steady_clock::now();
  Finished known = phase < known_.size() ? std::move(known_[phase]) : Finished();
  written_ = finished_ = known.groups;
  return known;
}

void JoinJournal::add(const Attempt& attempt) {
  if (journal_.is_open())
    attempts_ += fmt::format(" {} {} {}", attempt.group, attempt.term, attempt.other);
}

void JoinJournal::finish(std::size_t groups) {
  finished_ = groups;
  if (!journal_.is_open() || std::chrono::steady_clock::now() - last_write_ < time_between_writes)
    return;
  flush();
}

void JoinJournal::flush() {
  if (!journal_.is_open() || finished_ == written_) return;
  // Without it a later run has more to do, no more.
  (void)journal_.add(fmt::format("{} {} {}{}", phase_, written_, finished_, attempts_));
  attempts_.clear();
  written_ = finished_;
  last_write_ = std::chrono::steady_clock::now();
}

}  // namespace lemma::generator
