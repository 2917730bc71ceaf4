#pragma once
// What finds nodes and classes: sets of their numbers, which are hashed and compared by what the numbers stand for. A
// number takes five bytes of a slot.

#include <optional>

#include <absl/container/flat_hash_set.h>

#include "generator/term_nodes.h"

namespace lemma::generator {

/// Finds nodes by operator, output and operands.
class NodeIndex {
 public:
  explicit NodeIndex(const Blocks<TermNode>& nodes) : ids_(0, Hash{&nodes}, Equal{&nodes}) {}

  std::optional<TermNodeId> find(std::uint32_t op, std::uint32_t output,
                                 const Operands& operands) const {
    const auto entry = ids_.find(Key{op, output, operands});
    if (entry == ids_.end()) return std::nullopt;
    return *entry;
  }
  void add(TermNodeId id) { ids_.insert(id); }
  std::size_t bytes() const { return ids_.capacity() * (sizeof(TermNodeId) + 1); }

 private:
  struct Key {
    std::uint32_t op = 0, output = 0;
    Operands operands = {};
    friend bool operator==(const Key&, const Key&) = default;
    template <typename H>
    friend H AbslHashValue(H state, const Key& key) {
      return H::combine(std::move(state), key.op, key.output, key.operands);
    }
  };
  static Key key_of(const Blocks<TermNode>& nodes, TermNodeId id) {
    return {nodes[id].op, nodes[id].output, nodes[id].operands};
  }
  struct Hash {
    using is_transparent = void;
    const Blocks<TermNode>* nodes;
    std::size_t operator()(const Key& key) const { return absl::Hash<Key>()(key); }
    std::size_t operator()(TermNodeId id) const { return (*this)(key_of(*nodes, id)); }
  };
  struct Equal {
    using is_transparent = void;
    const Blocks<TermNode>* nodes;
    bool operator()(TermNodeId a, TermNodeId b) const { return a == b; }
    bool operator()(TermNodeId a, const Key& b) const { return key_of(*nodes, a) == b; }
  };

  absl::flat_hash_set<TermNodeId, Hash, Equal> ids_;
};

/// Finds the latest class of a bucket of keys.
class BucketIndex {
 public:
  /// `keys`: the bucket of each class.
  explicit BucketIndex(const Blocks<std::uint64_t>& keys) : ids_(0, Hash{&keys}, Equal{&keys}) {}

  /// Nothing if there is none.
  ClassId find(std::uint64_t bucket) const {
    const auto entry = ids_.find(Key{bucket});
    return entry == ids_.end() ? nothing : *entry;
  }
  /// Puts a class into its bucket; returns the one that was there before it.
  ClassId replace(ClassId id, std::uint64_t bucket) {
    const auto entry = ids_.find(Key{bucket});
    const ClassId before = entry == ids_.end() ? nothing : *entry;
    if (before != nothing) ids_.erase(entry);
    ids_.insert(id);
    return before;
  }
  std::size_t bytes() const { return ids_.capacity() * (sizeof(ClassId) + 1); }

 private:
  struct Key {
    std::uint64_t bucket;
  };
  struct Hash {
    using is_transparent = void;
    const Blocks<std::uint64_t>* keys;
    std::size_t operator()(Key key) const { return absl::Hash<std::uint64_t>()(key.bucket); }
    std::size_t operator()(ClassId id) const { return (*this)(Key{(*keys)[id]}); }
  };
  struct Equal {
    using is_transparent = void;
    const Blocks<std::uint64_t>* keys;
    bool operator()(ClassId a, ClassId b) const { return a == b; }
    bool operator()(ClassId a, Key b) const { return (*keys)[a] == b.bucket; }
  };

  absl::flat_hash_set<ClassId, Hash, Equal> ids_;
};

}  // namespace lemma::generator
