// The module that joins processes by MPI. It is loaded when a launcher has started several.

#include <mpi.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "ranks/mpi/start.h"
#include "ranks/transport.h"

namespace lemma::ranks {
namespace {

constexpr std::size_t longest = std::size_t{1} << 24U;  // of a piece of a message
enum Tag : int { more_follows = 1, last_piece = 2 };

class MpiTransport : public Transport {
 public:
  MpiTransport() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    unfinished_.resize(size());
  }

  std::size_t rank() const override { return static_cast<std::size_t>(rank_); }
  std::size_t size() const override { return static_cast<std::size_t>(size_); }

  void send(std::size_t to, std::string bytes) override {
    Sending& sending = sending_.emplace_back();
    sending.bytes = std::make_unique<std::string>(std::move(bytes));
    const std::string& whole = *sending.bytes;
    std::size_t at = 0;
    do {
      const std::size_t count = std::min(longest, whole.size() - at);
      const bool is_last = at + count == whole.size();
      MPI_Isend(whole.data() + at, static_cast<int>(count), MPI_BYTE, static_cast<int>(to),
                is_last ? last_piece : more_follows, MPI_COMM_WORLD,
                &sending.requests.emplace_back());
      at += count;
    } while (at < whole.size());
  }

  bool progress(const std::function<void(std::size_t from, std::string bytes)>& arrived) override {
    bool moved = false;
    for (int pieces = 0; pieces < 64; ++pieces) {
      int there = 0;
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
      if (there == 0) break;
      moved = true;
      receive(status, arrived);
    }
    while (!sending_.empty() && is_sent(sending_.front())) {
      sending_.pop_front();
      moved = true;
    }
    return moved;
  }

  bool is_idle() const override { return sending_.empty(); }
  void close() override { MPI_Finalize(); }

 private:
  struct Sending {
    std::unique_ptr<std::string> bytes;  // where they are until they have been sent
    std::vector<MPI_Request> requests;
  };

  static bool is_sent(Sending& sending) {
    int all = 0;
    MPI_Testall(static_cast<int>(sending.requests.size()), sending.requests.data(), &all,
                MPI_STATUSES_IGNORE);
    return all != 0;
  }

  void receive(const MPI_Status& status,
               const std::function<void(std::size_t from, std::string bytes)>& arrived) {
    int count = 0;
    MPI_Get_count(&status, MPI_BYTE, &count);
    std::string& whole = unfinished_[static_cast<std::size_t>(status.MPI_SOURCE)];
    const std::size_t before = whole.size();
    whole.resize(before + static_cast<std::size_t>(count));
    MPI_Recv(whole.data() + before, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (status.MPI_TAG != last_piece) return;
    std::string message = std::move(whole);
    whole.clear();
    arrived(static_cast<std::size_t>(status.MPI_SOURCE), std::move(message));
  }

  int rank_ = 0, size_ = 1;
  std::deque<Sending> sending_;
  std::vector<std::string> unfinished_;  // by source
};

}  // namespace
}  // namespace lemma::ranks

// NOLINTNEXTLINE(readability-identifier-naming): the name that is looked up.
extern "C" __attribute__((visibility("default"))) lemma::ranks::Transport* lemma_connect_mpi(
    char* reason, std::size_t size) {
  if (!lemma::ranks::start_mpi(reason, size)) return nullptr;
  return new lemma::ranks::MpiTransport;
}
