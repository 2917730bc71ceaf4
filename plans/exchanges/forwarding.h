#pragma once
// A communicator that leaves to another one what it does not do itself.

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

}  // namespace lemma::plans
