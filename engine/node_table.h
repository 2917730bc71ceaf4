#pragma once
// Hash-consing: finds the node with a given content. Whatever nodes with up to two children are
// compared by stands in the table itself, so that a lookup waits for memory once.

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace lemma::engine {

class NodeTable {
 public:
  static constexpr std::uint32_t absent = 0xffffffffU;

  /// The form of a node and its children (all ones for those it has not); two halves of a hash if it
  /// has more than two.
  struct Key {
    std::uint32_t form = 0;
    std::uint32_t first = absent, second = absent;
    friend bool operator==(const Key&, const Key&) = default;
  };

  std::size_t size() const { return size_; }
  std::size_t bytes() const { return slots_.capacity() * sizeof(Slot); }

  /// The node with this key for which same(node) holds.
  template <typename Same>
  std::uint32_t find(const Key& key, const Same& same) const {
    if (slots_.empty()) return absent;
    for (std::size_t i = place_of(key);; i = (i + 1) & mask()) {
      const Slot& slot = slots_[i];
      if (slot.node == absent) return absent;
      if (slot.key == key && slot.node != removed && same(slot.node)) return slot.node;
    }
  }

  /// Fetches where a lookup will begin, so that several can wait for memory together.
  void prefetch(const Key& key) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[place_of(key)]);
  }

  /// The node must not be there.
  void insert(const Key& key, std::uint32_t node) {
    if (3 * slots_.size() < 4 * (used_ + 1)) grow();
    place({node, key});
    ++size_;
  }

  /// Nothing happens if the node is not there.
  void erase(const Key& key, std::uint32_t node) {
    if (slots_.empty()) return;
    for (std::size_t i = place_of(key); slots_[i].node != absent; i = (i + 1) & mask()) {
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
    Key key;
  };

  std::size_t mask() const { return slots_.size() - 1; }

  std::size_t place_of(const Key& key) const {
    constexpr std::uint64_t factor = 0x9e3779b97f4a7c15U;  // 2^64 over the golden ratio
    std::uint64_t hash = (std::uint64_t{key.first} << 32U | key.second) * factor;
    hash = (hash ^ hash >> 32U ^ key.form) * factor;
    return (hash ^ hash >> 32U) & mask();
  }

  void place(const Slot& slot) {
    std::size_t i = place_of(slot.key);
    while (slots_[i].node != absent && slots_[i].node != removed) i = (i + 1) & mask();
    if (slots_[i].node == absent) ++used_;
    slots_[i] = slot;
  }

  /// Makes room for more, and gets rid of places that erased nodes have left.
  void grow() {
    std::vector<Slot> old(size_ < 8 ? 16 : 2 * std::bit_ceil(size_));
    old.swap(slots_);
    used_ = 0;
    for (const Slot& slot : old)
      if (slot.node != absent && slot.node != removed) place(slot);
  }

  std::vector<Slot> slots_;          // a power of two
  std::size_t size_ = 0, used_ = 0;  // used: with the removed ones
};

}  // namespace lemma::engine
