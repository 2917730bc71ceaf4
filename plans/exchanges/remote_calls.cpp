#include "plans/exchanges/remote_calls.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "frontend_onnx/tensor_file.h"
#include "ir/constant.h"
#include "plans/exchanges/forwarding.h"

namespace lemma::plans {

namespace {

/// Where a rank waits for connections.
struct Address {
  std::array<char, 256> host{};
  std::uint16_t port = 0;
};

/// A connection, closed at the end. Messages are preceded by their size.
class Socket {
 public:
  explicit Socket(int file = -1) : file_(file) {}
  Socket(Socket&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~Socket() {
    if (file_ >= 0) close(file_);
  }

  int file() const { return file_; }
  /// Ends what waits for it, here and at the other end.
  void end() const { shutdown(file_, SHUT_RDWR); }

  bool send(const std::string& message) const {
    const std::uint64_t size = message.size();
    return send_all(reinterpret_cast<const char*>(&size), sizeof size) &&
           send_all(message.data(), message.size());
  }
  bool receive(std::string& message) const {
    std::uint64_t size = 0;
    if (!receive_all(reinterpret_cast<char*>(&size), sizeof size)) return false;
    message.resize(size);
    return receive_all(message.data(), size);
  }

 private:
  bool send_all(const char* bytes, std::size_t size) const {
    while (size > 0) {
      const ssize_t sent = ::send(file_, bytes, size, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes += sent;
      size -= static_cast<std::size_t>(sent);
    }
    return true;
  }
  bool receive_all(char* bytes, std::size_t size) const {
    while (size > 0) {
      const ssize_t received = ::recv(file_, bytes, size, 0);
      if (received <= 0) return false;
      bytes += received;
      size -= static_cast<std::size_t>(received);
    }
    return true;
  }

  int file_;
};

void send_at_once(const Socket& socket) {
  const int yes = 1;
  setsockopt(socket.file(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// A socket that waits for connections, and its address.
Result<std::pair<Socket, Address>> listening() {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof place;
  if (socket.file() < 0 ||
      bind(socket.file(), reinterpret_cast<const sockaddr*>(&place), size) != 0 ||
      listen(socket.file(), SOMAXCONN) != 0 ||
      getsockname(socket.file(), reinterpret_cast<sockaddr*>(&place), &size) != 0)
    return unsupported("no socket can wait for connections");
  Address address;
  const std::string host = host_name();
  std::copy_n(host.begin(), std::min(host.size(), address.host.size() - 1), address.host.begin());
  address.port = ntohs(place.sin_port);
  return std::pair(std::move(socket), address);
}

Result<Socket> connected(const Address& address) {
  const std::string host = address.host.data();
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* known = nullptr;
  if (getaddrinfo(host == host_name() ? "127.0.0.1" : host.c_str(),
                  std::to_string(address.port).c_str(), &hints, &known) != 0)
    return unsupported(fmt::format("the host '{}' is not known", host));
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool is_connected = connect(socket.file(), known->ai_addr, known->ai_addrlen) == 0;
  freeaddrinfo(known);
  if (!is_connected) return unsupported(fmt::format("no connection to the host '{}'", host));
  send_at_once(socket);
  return socket;
}

/// What is asked for: a tensor of the exchanges of two ranks, or of a channel, by number.
std::string request_of(std::uint64_t number) { return fmt::format("receive {}", number); }
std::string request_of(std::uint32_t channel, std::uint64_t number) {
  return fmt::format("receive {} of channel {}", number, channel);
}

Constant as_bytes(std::span<const std::byte> bytes) {
  return *Constant::create({DataType::u8, Shape{static_cast<std::int64_t>(bytes.size())}}, nullptr,
                           bytes);
}

/// What one rank offers to another one, which a thread serves.
class Server {
 public:
  explicit Server(Socket socket) : socket_(std::move(socket)), thread_([this] { serve(); }) {}
  ~Server() {
    {
      const std::lock_guard lock(mutex_);
      is_ended_ = true;
    }
    changed_.notify_all();
    socket_.end();
    thread_.join();
  }

  /// The bytes stay until they are taken.
  void offer(std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    latest_ = request_of(++count_);
    offers_[latest_].bytes = bytes;
    changed_.notify_all();
  }
  /// Waits until the other rank has what was offered last.
  bool is_taken() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !offers_.contains(latest_) || is_ended_; });
    return !offers_.contains(latest_);
  }
  /// Offers a copy, and does not wait for it.
  void post(std::uint32_t channel, std::span<const std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    Offer& offer = offers_[request_of(channel, ++posted_[channel])];
    offer.copy.assign(bytes.begin(), bytes.end());
    offer.bytes = offer.copy;
    changed_.notify_all();
  }

 private:
  void serve() {
    std::string request;
    while (socket_.receive(request)) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return offers_.contains(request) || is_ended_; });
      const auto offer = offers_.find(request);
      if (offer == offers_.end()) break;
      const std::span<const std::byte> bytes = offer->second.bytes;
      lock.unlock();
      if (!socket_.send(serialize_tensor(request, as_bytes(bytes)))) break;
      lock.lock();
      offers_.erase(request);
      changed_.notify_all();
    }
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    changed_.notify_all();
  }

  struct Offer {
    std::span<const std::byte> bytes;
    std::vector<std::byte> copy;  // of a message
  };

  Socket socket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Offer> offers_;  // by request
  std::string latest_;
  std::uint64_t count_ = 0;
  std::map<std::uint32_t, std::uint64_t> posted_;  // by channel
  bool is_ended_ = false;
  std::thread thread_;
};

/// What a rank has with another one: calls of its own, and those that it serves.
struct Link {
  Socket calls;
  std::uint64_t count = 0;
  std::map<std::uint32_t, std::uint64_t> received;  // messages, by channel
  std::unique_ptr<Server> server;
};

class RemoteCalls : public ByParts {
 public:
  using ByParts::ByParts;

  /// Connects each rank with each other one.
  Result<void> begin() {
    LEMMA_ASSIGN_OR_RETURN(const auto own, listening());
    Group all(size());
    std::iota(all.begin(), all.end(), 0U);
    std::vector<Address> addresses(size());
    LEMMA_RETURN_IF_ERROR(base().all_gather(all, std::as_bytes(std::span(&own.second, 1)),
                                            std::as_writable_bytes(std::span(addresses))));
    links_.resize(size());
    for (const std::size_t other : all) {
      if (other == rank()) continue;
      LEMMA_ASSIGN_OR_RETURN(links_[other].calls, connected(addresses[other]));
      if (!links_[other].calls.send(std::to_string(rank()))) return base().left();
    }
    for (std::size_t i = 1; i < size(); ++i) {
      Socket socket(accept(own.first.file(), nullptr, nullptr));
      send_at_once(socket);
      std::string caller;
      if (!socket.receive(caller)) return base().left();
      links_[std::stoul(caller)].server = std::make_unique<Server>(std::move(socket));
    }
    return {};
  }

  Result<void> shift(const Group& /*group*/, std::size_t to, std::size_t from,
                     std::span<const std::byte> sent, std::span<std::byte> received) override {
    if (to == rank()) {
      keep(sent, received);
      return {};
    }
    if (to < size()) {
      count(1, sent.size());
      links_[to].server->offer(sent);
    }
    if (from < size())
      LEMMA_RETURN_IF_ERROR(call(from, request_of(++links_[from].count), received));
    if (to < size() && !links_[to].server->is_taken()) return base().left();
    return {};
  }

  Result<void> send(std::size_t to, std::uint32_t channel,
                    std::span<const std::byte> sent) override {
    if (to == rank()) return ByParts::send(to, channel, sent);
    count(1, sent.size());
    links_[to].server->post(channel, sent);
    return {};
  }

  Result<void> receive(std::size_t from, std::uint32_t channel,
                       std::span<std::byte> received) override {
    if (from == rank()) return ByParts::receive(from, channel, received);
    return call(from, request_of(channel, ++links_[from].received[channel]), received);
  }

 private:
  Result<void> exchange(const Group& group, std::size_t part, const SentTo& sent_to,
                        std::span<std::byte> received) override {
    count(group.size() - 1, part);
    for (std::size_t place = 0; place < group.size(); ++place)
      if (group[place] == rank())
        keep(sent_to(place), received.subspan(place * part, part));
      else
        links_[group[place]].server->offer(sent_to(place));
    for (std::size_t place = 0; place < group.size(); ++place)
      if (group[place] != rank())
        LEMMA_RETURN_IF_ERROR(call(group[place], request_of(++links_[group[place]].count),
                                   received.subspan(place * part, part)));
    for (const std::size_t other : group)
      if (other != rank() && !links_[other].server->is_taken()) return base().left();
    return {};
  }

  /// Asks a rank for a tensor.
  Result<void> call(std::size_t other, const std::string& request, std::span<std::byte> received) {
    const Link& link = links_[other];
    std::string answer;
    if (!link.calls.send(request) || !link.calls.receive(answer)) return base().left();
    LEMMA_ASSIGN_OR_RETURN(const Constant tensor, parse_tensor(answer));
    if (tensor.bytes().size() != received.size())
      return internal_error("a remote call was answered with another size");
    keep(tensor.bytes(), received);
    return {};
  }

  std::vector<Link> links_;  // by rank
};

}  // namespace

Result<std::unique_ptr<Communicator>> remote_calls(Communicator& base) {
  auto result = std::make_unique<RemoteCalls>(base);
  LEMMA_RETURN_IF_ERROR(result->begin());
  return std::unique_ptr<Communicator>(std::move(result));
}

}  // namespace lemma::plans
