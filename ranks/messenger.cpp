#include "ranks/messenger.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "ranks/claims.h"
#include "ranks/packing.h"

namespace lemma::ranks {
namespace {

constexpr std::chrono::microseconds shortest_pause(30), longest_while_waiting(120),
    longest_pause(500);

enum class Kind : std::uint64_t {
  part,   // of an exchange; the number says of which
  claim,  // to the first rank
  grant,  // its answer, with the number of the claim
  told,
  stop,  // the number is the kind of error
  bye    // nothing follows
};

class Messenger : public Ranks {
 public:
  Result<void> start(const std::function<Result<std::unique_ptr<Transport>>()>& connect) {
    std::optional<Result<void>> connected;
    thread_ = std::thread([this, &connect, &connected] {
      Result<std::unique_ptr<Transport>> transport = connect();
      {
        const std::lock_guard lock(mutex_);
        if (transport) {
          transport_ = std::move(*transport);
          rank_ = transport_->rank();
          size_ = transport_->size();
          connected = Result<void>();
        } else {
          connected = tl::unexpected<Error>(transport.error());
          ended_ = true;
        }
      }
      changed_.notify_all();
      if (transport) serve();
    });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&connected] { return connected.has_value(); });
    return *connected;
  }

  ~Messenger() override {
    if (!thread_.joinable()) return;
    bool left = false;
    {
      const std::lock_guard lock(mutex_);
      left = left_ || ended_;
    }
    if (!left) {  // an exception is on its way
      stop({ErrorKind::internal, "internal fault"});
      (void)finish();
    }
    if (thread_.joinable()) thread_.join();
  }

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }

  Result<std::vector<std::string>> exchange(std::vector<std::string> bytes) override {
    std::unique_lock lock(mutex_);
    const std::uint64_t number = exchanges_++;
    for (std::size_t to = 0; to < size_; ++to)
      if (to != rank_) post(to, Kind::part, number, bytes[to]);
    take_part(rank_, number, std::move(bytes[rank_]));
    LEMMA_RETURN_IF_ERROR(wait(lock, [&] { return parts_[number].count == size_; }));
    std::vector<std::string> result = std::move(parts_[number].bytes);
    parts_.erase(number);
    return result;
  }

  Result<std::vector<std::size_t>> claim(const Claim& claim) override {
    if (rank_ == 0) {
      if (auto error = stopped()) return tl::unexpected<Error>(std::move(*error));
      return claims_.take(claim);
    }
    std::unique_lock lock(mutex_);
    const std::uint64_t number = claimed_++;
    post(0, Kind::claim, number, to_bytes(claim));
    LEMMA_RETURN_IF_ERROR(wait(lock, [&] { return grants_.contains(number); }));
    std::vector<std::size_t> result = std::move(grants_[number]);
    grants_.erase(number);
    return result;
  }

  void tell(const std::string& bytes) override {
    const std::lock_guard lock(mutex_);
    post_to_others(Kind::told, 0, bytes);
  }

  void listen(std::function<void(const std::string&)> listener) override {
    const std::lock_guard lock(listener_mutex_);
    listener_ = std::move(listener);
    if (!listener_) return;
    for (const std::string& bytes : kept_) listener_(bytes);
    kept_.clear();
  }

  void stop(const Error& error) override {
    const std::lock_guard lock(mutex_);
    if (error_) return;
    error_ = error;
    post_to_others(Kind::stop, static_cast<std::uint64_t>(error.kind), error.message);
    changed_.notify_all();
  }

  std::optional<Error> stopped() const override {
    const std::lock_guard lock(mutex_);
    return error_;
  }

  Result<void> finish() override {
    {
      std::unique_lock lock(mutex_);
      left_ = true;
      post_to_others(Kind::bye, 0, "");
      ++waiting_;
      changed_.wait(lock, [this] { return ended_; });
      --waiting_;
    }
    thread_.join();
    if (error_) return tl::unexpected<Error>(*error_);
    return {};
  }

 private:
  struct Message {
    std::size_t to = 0;
    std::string bytes;
  };
  struct Parts {
    std::vector<std::string> bytes;  // by rank
    std::size_t count = 0;
  };

  // ---- With the mutex locked ----------------------------------------------------------------------

  void post(std::size_t to, Kind kind, std::uint64_t number, const std::string& body) {
    std::string bytes;
    bytes.reserve(16 + body.size());
    append(bytes, static_cast<std::uint64_t>(kind));
    append(bytes, number);
    bytes += body;
    outbox_.push_back({to, std::move(bytes)});
    work_.notify_one();
  }

  void post_to_others(Kind kind, std::uint64_t number, const std::string& body) {
    for (std::size_t to = 0; to < size_; ++to)
      if (to != rank_) post(to, kind, number, body);
  }

  template <typename Condition>
  Result<void> wait(std::unique_lock<std::mutex>& lock, const Condition& condition) {
    ++waiting_;
    work_.notify_one();
    changed_.wait(lock, [&] { return error_ || condition(); });
    --waiting_;
    if (error_) return tl::unexpected<Error>(*error_);
    return {};
  }

  void take_part(std::size_t from, std::uint64_t number, std::string bytes) {
    Parts& parts = parts_[number];
    parts.bytes.resize(size_);
    parts.bytes[from] = std::move(bytes);
    ++parts.count;
  }

  // ---- On the thread --------------------------------------------------------------------------------

  /// Until all have said good-bye.
  void serve() {
    std::unique_lock lock(mutex_);
    std::chrono::microseconds pause = shortest_pause;
    while (!left_ || byes_ + 1 < size_ || !outbox_.empty() || !transport_->is_idle()) {
      std::deque<Message> outgoing = std::move(outbox_);
      outbox_.clear();
      lock.unlock();
      for (Message& message : outgoing) transport_->send(message.to, std::move(message.bytes));
      const bool more = transport_->progress(
          [this](std::size_t from, std::string bytes) { take(from, std::move(bytes)); });
      if (more) std::this_thread::yield();
      lock.lock();
      if (more || !outbox_.empty()) {
        pause = shortest_pause;
        continue;
      }
      work_.wait_for(lock, pause, [this] { return !outbox_.empty(); });
      const bool hurry = waiting_ > 0 || !transport_->is_idle();
      pause = std::min(2 * pause, hurry ? longest_while_waiting : longest_pause);
    }
    lock.unlock();
    transport_->close();
    lock.lock();
    ended_ = true;
    changed_.notify_all();
  }

  void take(std::size_t from, std::string bytes) {
    Reader reader(bytes);
    const auto kind = static_cast<Kind>(reader.number());
    const std::uint64_t number = reader.number();
    if (kind == Kind::told) return hand_over(reader.rest());
    const std::lock_guard lock(mutex_);
    switch (kind) {
      case Kind::part: take_part(from, number, reader.rest()); break;
      case Kind::claim:
        post(from, Kind::grant, number, to_bytes(claims_.take(claim_of(reader))));
        break;
      case Kind::grant: grants_[number] = numbers_of(reader); break;
      case Kind::stop:
        if (!error_)
          error_ = Error{static_cast<ErrorKind>(number),
                         "rank " + std::to_string(from) + ": " + reader.rest()};
        break;
      case Kind::bye: ++byes_; break;
      case Kind::told: break;
    }
    changed_.notify_all();
  }

  void hand_over(std::string bytes) {
    const std::lock_guard lock(listener_mutex_);
    if (listener_)
      listener_(bytes);
    else
      kept_.push_back(std::move(bytes));
  }

  std::unique_ptr<Transport> transport_;
  std::size_t rank_ = 0, size_ = 1;
  Claims claims_;  // on the first rank

  mutable std::mutex mutex_;
  std::condition_variable work_;     // for the thread
  std::condition_variable changed_;  // for the others
  std::deque<Message> outbox_;
  std::map<std::uint64_t, Parts> parts_;                      // by exchange
  std::map<std::uint64_t, std::vector<std::size_t>> grants_;  // by claim
  std::uint64_t exchanges_ = 0, claimed_ = 0;
  std::size_t waiting_ = 0;  // threads
  std::size_t byes_ = 0;
  std::optional<Error> error_;
  bool left_ = false, ended_ = false;

  std::mutex listener_mutex_;
  std::function<void(const std::string&)> listener_;
  std::vector<std::string> kept_;  // without a listener
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Ranks>> ranks_over(
    const std::function<Result<std::unique_ptr<Transport>>()>& connect) {
  auto messenger = std::make_unique<Messenger>();
  LEMMA_RETURN_IF_ERROR(messenger->start(connect));
  return messenger;
}

}  // namespace lemma::ranks
