#pragma once
// Hash-consing: finds the e-node with a given content. Holds node numbers only; whoever owns the
// nodes supplies hashes and comparisons.

#include <cstdint>
#include <vector>

namespace lemma {

class NodeTable {
 public:
  static constexpr std::uint32_t absent = 0xffffffffU;

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

  /// The node for which same(node) holds, among those with this hash.
  template <typename Same>
  std::uint32_t find(std::size_t hash, const Same& same) const {
    if (slots_.empty()) return absent;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Slot& slot = slots_[i];
      if (slot.node == absent) return absent;
      if (slot.node != removed && slot.hash == static_cast<std::uint32_t>(hash) && same(slot.node))
        return slot.node;
    }
  }

  /// The node must not be there.
  void insert(std::size_t hash, std::uint32_t node) {
    if (slots_.size() < 2 * (used_ + 1)) grow();
    place({node, static_cast<std::uint32_t>(hash)});
    ++size_;
  }

  /// Nothing happens if the node is not there.
  void erase(std::size_t hash, std::uint32_t node) {
    if (slots_.empty()) return;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask; slots_[i].node != absent; i = (i + 1) & mask) {
      if (slots_[i].node != node) continue;
      slots_[i].node = removed;
      --size_;
      return;
    }
  }

 private:
  static constexpr std::uint32_t removed = 0xfffffffeU;
  struct Slot {
    std::uint32_t node = absent;
    std::uint32_t hash = 0;
  };

  void place(Slot slot) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = slot.hash & mask;
    while (slots_[i].node != absent && slots_[i].node != removed) i = (i + 1) & mask;
    if (slots_[i].node == absent) ++used_;
    slots_[i] = slot;
  }

  void grow() {
    std::vector<Slot> old(size_ < 8 ? 32 : 4 * size_rounded());
    old.swap(slots_);
    used_ = 0;
    for (const Slot& slot : old)
      if (slot.node != absent && slot.node != removed) place(slot);
  }
  std::size_t size_rounded() const {
    std::size_t result = 8;
    while (result < size_) result *= 2;
    return result;
  }

  std::vector<Slot> slots_;  // a power of two
  std::size_t size_ = 0, used_ = 0;
};

}  // namespace lemma
