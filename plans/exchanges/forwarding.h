#pragma once
// Communicators that leave to another one what they do not do themselves.

#include <functional>
#include <span>

#include "plans/on_ranks/communicator.h"

namespace lemma::plans {

class Forwarding : public Communicator {
 public:
  explicit Forwarding(Communicator& base) : base_(base) {}

  std::size_t rank() const override { return base_.rank(); }
  std::size_t size() const override { return base_.size(); }
  void enter(std::string_view place) override;
  Result<void> send(std::size_t to, std::uint32_t channel,
                    std::span<const std::byte> sent) override;
  Result<void> receive(std::size_t from, std::uint32_t channel,
                       std::span<std::byte> received) override;
  Windows* windows() override { return base_.windows(); }
  bool is_over() const override { return base_.is_over(); }

 protected:
  Communicator& base() { return base_; }
  /// A rank's own part, which goes nowhere.
  static void keep(std::span<const std::byte> from, std::span<std::byte> to);

 private:
  Communicator& base_;
};

/// A communicator whose collectives are all exchanges of equal parts.
class ByParts : public Forwarding {
 public:
  using Forwarding::Forwarding;

  Result<void> all_to_all(const Group& group, std::span<const std::byte> parts,
                          std::span<std::byte> received) override;
  Result<void> all_gather(const Group& group, std::span<const std::byte> part,
                          std::span<std::byte> all) override;

 protected:
  /// What goes to a rank, by its place in the group.
  using SentTo = std::function<std::span<const std::byte>(std::size_t place)>;
  /// Each rank gets a part of so many bytes from each of the group, in order.
  virtual Result<void> exchange(const Group& group, std::size_t part, const SentTo& sent_to,
                                std::span<std::byte> received) = 0;
};

}  // namespace lemma::plans
