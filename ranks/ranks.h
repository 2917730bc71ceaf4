#pragma once
// Processes that work on one job together, on one machine or on many.
//
// All ranks run the same program on the same input, and each of them gets all answers. They differ
// only in which answers they compute. So the result of a job does not depend on the number of
// ranks, as long as the use of an answer does not depend on who computed it, or when.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace lemma::ranks {

/// Pieces of work, by names that say what is asked: the same on all ranks.
struct Claim {
  std::vector<std::string> wanted;  // the others wait for these
  std::vector<std::string> ahead;   // these will probably be wanted later
  /// The part of the free wanted pieces that is given at once: one in so many (at least one).
  std::size_t share = 1;
};

/// Any thread may call any function, but gather(), exchange(), broadcast() and finish() are called by
/// one thread at a time, and by all ranks in the same order. Once a rank has called stop(), they and
/// claim() return its error.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;
  /// The one that writes files and speaks.
  bool is_first() const { return rank() == 0; }

  /// Element k goes to rank k; element k of the result has come from rank k.
  virtual Result<std::vector<std::string>> exchange(std::vector<std::string> bytes) = 0;
  /// What each has given, by rank.
  Result<std::vector<std::string>> gather(const std::string& bytes);
  /// What the first rank has given.
  Result<std::string> broadcast(const std::string& bytes);
  /// Element i of the result is find(i), which one of the ranks has called.
  Result<std::vector<std::string>> divide(std::size_t count,
                                          const std::function<std::string(std::size_t)>& find);

  /// Numbers of pieces (those ahead follow those wanted) that are this rank's to do from now on; none
  /// if others have them all. What is claimed must be done.
  virtual Result<std::vector<std::size_t>> claim(const Claim& claim) = 0;
  /// Sends to all others, without waiting. It comes before what is sent by later calls.
  virtual void tell(const std::string& bytes) = 0;
  /// Hands what others tell to the listener, on a thread of its own, one at a time; what comes while
  /// there is none waits for the next one. Returns when the last one is not in use any more.
  virtual void listen(std::function<void(const std::string&)> listener) = 0;

  /// Ends the job on all ranks with this error. Only the first call has an effect.
  virtual void stop(const Error& error) = 0;
  /// The error with which a rank ended the job.
  virtual std::optional<Error> stopped() const = 0;
  /// Waits until all ranks have called it; nothing else is called after it.
  virtual Result<void> finish() = 0;
};

/// This process alone.
std::unique_ptr<Ranks> one_rank();

}  // namespace lemma::ranks
