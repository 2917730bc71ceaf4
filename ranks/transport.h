#pragma once
// Transport of bytes between processes, used by ranks/messenger.h. The module for MPI implements it
// (ranks/mpi/transport.cpp).

#include <cstddef>
#include <functional>
#include <string>

namespace lemma::ranks {

/// All calls come from the thread that made it.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;
  /// Sends bytes of any number to another process. What goes to one process arrives in the order it
  /// was sent.
  virtual void send(std::size_t to, std::string bytes) = 0;
  /// Hands over what has arrived whole, without waiting. Whether anything has moved, so that more may
  /// be expected at once.
  virtual bool progress(
      const std::function<void(std::size_t from, std::string bytes)>& arrived) = 0;
  /// Whether all has been sent.
  virtual bool is_idle() const = 0;
  /// All processes call this at the end, when nothing is on its way.
  virtual void close() = 0;
};

/// What the module for MPI exports under the name connect_name: a Transport, or nothing and the
/// reason in a text of at most `size` bytes.
using ConnectFunction = Transport*(char* reason, std::size_t size);
inline constexpr const char* connect_name = "lemma_connect_mpi";

}  // namespace lemma::ranks
