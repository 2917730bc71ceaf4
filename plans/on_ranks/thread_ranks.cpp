#include "plans/on_ranks/thread_ranks.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>

namespace lemma::plans {

namespace {

/// What the threads share: for each group a place where all meet, and the messages that are on their way.
class Meetings {
 public:
  /// Enters what a rank sends, and waits until all of the group have done so. Nothing: an error has ended the run.
  const std::vector<std::span<const std::byte>>* meet(const Group& group, std::size_t rank,
                                                      std::span<const std::byte> sent) {
    std::unique_lock lock(mutex_);
    Meeting& meeting = meetings_[group];
    meeting.sent.resize(group.size());
    meeting.sent[place_in(group, rank)] = sent;
    return wait(lock, meeting, group.size()) ? &meeting.sent : nullptr;
  }

  /// Waits until all of the group have read what they were sent.
  bool leave(const Group& group) {
    std::unique_lock lock(mutex_);
    return wait(lock, meetings_[group], group.size());
  }

  void post(std::size_t from, std::size_t to, std::uint32_t channel,
            std::span<const std::byte> sent) {
    const std::lock_guard lock(mutex_);
    messages_[{from, to, channel}].emplace_back(sent.begin(), sent.end());
    changed_.notify_all();
  }

  /// Waits for a message. Nothing: an error has ended the run before one came.
  std::optional<std::vector<std::byte>> fetch(std::size_t from, std::size_t to,
                                              std::uint32_t channel) {
    std::unique_lock lock(mutex_);
    std::deque<std::vector<std::byte>>& waiting = messages_[{from, to, channel}];
    changed_.wait(lock, [&] { return is_ended_ || !waiting.empty(); });
    if (waiting.empty()) return std::nullopt;
    std::vector<std::byte> message = std::move(waiting.front());
    waiting.pop_front();
    return message;
  }

  bool is_over() const { return is_ended_; }

  void end() {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    changed_.notify_all();
  }

 private:
  struct Meeting {
    std::vector<std::span<const std::byte>> sent;
    std::size_t arrived = 0;
    std::uint64_t round = 0;
  };

  bool wait(std::unique_lock<std::mutex>& lock, Meeting& meeting, std::size_t size) {
    const std::uint64_t round = meeting.round;
    if (++meeting.arrived == size) {
      meeting.arrived = 0;
      ++meeting.round;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return is_ended_ || meeting.round != round; });
    return meeting.round != round;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Group, Meeting> meetings_;
  /// By sender, receiver and channel.
  std::map<std::tuple<std::size_t, std::size_t, std::uint32_t>, std::deque<std::vector<std::byte>>>
      messages_;
  std::atomic<bool> is_ended_ = false;
};

class ThreadRank : public Communicator {
 public:
  ThreadRank(Meetings& meetings, std::size_t rank, std::size_t size)
      : meetings_(meetings), rank_(rank), size_(size) {}

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }
  bool is_over() const override { return meetings_.is_over(); }
  Windows* windows() override {
    if (windows_ == nullptr) windows_ = windows_of_threads(*this);
    return windows_.get();
  }

  Result<void> all_to_all(const Group& group, std::span<const std::byte> parts,
                          std::span<std::byte> received) override {
    const std::size_t part = parts.size() / group.size(), place = place_in(group, rank_);
    count(group.size() - 1, part);
    return exchange(group, parts, [&](const auto& sent) {
      for (std::size_t i = 0; i < group.size(); ++i)
        copy(sent[i].subspan(place * part, part), received.subspan(i * part, part));
    });
  }

  Result<void> all_gather(const Group& group, std::span<const std::byte> part,
                          std::span<std::byte> all) override {
    count(group.size() - 1, part.size());
    return exchange(group, part, [&](const auto& sent) {
      for (std::size_t i = 0; i < group.size(); ++i)
        copy(sent[i], all.subspan(i * part.size(), part.size()));
    });
  }

  Result<void> shift(const Group& group, std::size_t to, std::size_t from,
                     std::span<const std::byte> sent, std::span<std::byte> received) override {
    if (to < size_ && to != rank_) count(1, sent.size());
    return exchange(group, sent, [&](const auto& all) {
      if (from < size_) copy(all[place_in(group, from)], received);
    });
  }

  Result<void> send(std::size_t to, std::uint32_t channel,
                    std::span<const std::byte> sent) override {
    if (to != rank_) count(1, sent.size());
    meetings_.post(rank_, to, channel, sent);
    return {};
  }

  Result<void> receive(std::size_t from, std::uint32_t channel,
                       std::span<std::byte> received) override {
    const auto message = meetings_.fetch(from, rank_, channel);
    if (!message) return left();
    if (message->size() != received.size())
      return internal_error("a message has another size than its receiver expects");
    copy(*message, received);
    return {};
  }

 private:
  static void copy(std::span<const std::byte> from, std::span<std::byte> to) {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  }

  template <typename Take>
  Result<void> exchange(const Group& group, std::span<const std::byte> sent, Take take) {
    const auto* all = meetings_.meet(group, rank_, sent);
    if (all == nullptr) return left();
    take(*all);
    if (!meetings_.leave(group)) return left();
    return {};
  }

  Meetings& meetings_;
  std::size_t rank_, size_;
  std::unique_ptr<Windows> windows_;
};

}  // namespace

Result<void> run_as_threads(std::size_t ranks,
                            const std::function<Result<void>(Communicator& communicator)>& run) {
  Meetings meetings;
  std::vector<std::optional<Error>> errors(ranks);
  // Others may still write to the windows of a rank that has ended.
  std::deque<ThreadRank> communicators;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    communicators.emplace_back(meetings, rank, ranks);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRank& communicator = communicators[rank];
      const Result<void> done = run_guarded(run, communicator);
      if (done) return;
      if (!communicator.was_left()) errors[rank] = ended(communicator, done.error());
      meetings.end();
    });
  for (std::thread& thread : threads) thread.join();
  // The first one by number, so that the same is told where several end alike.
  for (std::optional<Error>& error : errors)
    if (error) return tl::unexpected(std::move(*error));
  return {};
}

}  // namespace lemma::plans
