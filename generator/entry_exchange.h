#pragma once
// Entries of the largest terms go to the ranks that own their ranges of keys, in batches.

#include <functional>
#include <vector>

#include "generator/largest.h"
#include "ranks/ranks.h"

namespace lemma::generator {

/// What was sent to other ranks by this one.
struct Traffic {
  /// Exchanges, in each of which every rank sends a message to every other one.
  std::uint64_t rounds = 0;
  std::uint64_t bytes = 0;
};

/// Rounds of exchanges that go on until no rank has more to send, so that all take part in as many.
class Rounds {
 public:
  explicit Rounds(ranks::Ranks& ranks) : ranks_(&ranks) {}

  /// Sends bytes to each rank. What has come from each; `more`: whether any rank has said that it goes on.
  struct Received {
    std::vector<std::string> bytes;
    bool more = false;
  };
  Result<Received> exchange(std::vector<std::string> bytes, bool goes_on);
  const Traffic& traffic() const { return traffic_; }

 private:
  ranks::Ranks* ranks_;
  Traffic traffic_;
};

/// Not for a rank alone.
class EntryExchange {
 public:
  using Receive = std::function<Result<void>(const Entry&)>;
  /// About so many bytes of entries are held until they are sent; `receive` takes those that are for this rank.
  EntryExchange(ranks::Ranks& ranks, Rounds& rounds, std::size_t bytes, Receive receive)
      : rounds_(rounds),
        rank_(ranks.rank()),
        most_(bytes / sizeof(Entry)),
        receive_(std::move(receive)),
        outgoing_(ranks.size()) {}

  Result<void> add(std::size_t to, const Entry& entry) {
    if (to == rank_) return receive_(entry);
    outgoing_[to].push_back(entry);
    return ++held_ < most_ ? Result<void>() : send(true).map([](bool) {});
  }
  /// Sends what is held, and takes part until all ranks have sent what they have.
  Result<void> finish();

 private:
  /// Whether any rank goes on.
  Result<bool> send(bool goes_on);

  Rounds& rounds_;
  std::size_t rank_;
  std::size_t most_, held_ = 0;  // entries
  Receive receive_;
  std::vector<std::vector<Entry>> outgoing_;  // by rank
};

}  // namespace lemma::generator
