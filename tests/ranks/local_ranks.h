#pragma once
// Ranks that are threads of one process.

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "ranks/messenger.h"

namespace lemma::testing {

/// Mailboxes of processes that are threads.
struct Post {
  struct Letter {
    std::size_t from = 0;
    std::string bytes;
  };
  explicit Post(std::size_t size) : boxes(size) {}
  std::mutex mutex;
  std::vector<std::deque<Letter>> boxes;
};

class LocalTransport : public ranks::Transport {
 public:
  LocalTransport(Post& post, std::size_t rank) : post_(post), rank_(rank) {}
  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return post_.boxes.size(); }
  void send(std::size_t to, std::string bytes) override {
    const std::lock_guard lock(post_.mutex);
    post_.boxes[to].push_back({rank_, std::move(bytes)});
  }
  bool progress(const std::function<void(std::size_t, std::string)>& arrived) override {
    std::deque<Post::Letter> letters;
    {
      const std::lock_guard lock(post_.mutex);
      letters.swap(post_.boxes[rank_]);
    }
    for (Post::Letter& letter : letters) arrived(letter.from, std::move(letter.bytes));
    return !letters.empty();
  }
  bool is_idle() const override { return true; }
  void close() override {}

 private:
  Post& post_;
  std::size_t rank_;
};

/// Runs body(ranks) as so many ranks.
template <typename Body>
void run_ranks(std::size_t size, const Body& body) {
  Post post(size);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      auto own = ranks::ranks_over([&]() -> Result<std::unique_ptr<ranks::Transport>> {
        return std::make_unique<LocalTransport>(post, rank);
      });
      ASSERT_TRUE(own);
      body(**own);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace lemma::testing
