#pragma once
// The largest terms, which are not kept: only groups of equal ones are.
//
// 1. The key of every term is evaluated: entries. If they do not fit into memory, they are divided into ranges of keys,
//    in a file.
// 2. Entries with the same key are compared: groups. Those of each range are found independently of the others.
// 3. A term whose key lies close to another bucket has two entries; the groups in which they are
//    found are one.
//
// Several ranks evaluate a share of the terms each (generator/largest_groups.h).
//
// The result does not depend on how pieces and ranges were divided.

#include <optional>
#include <span>

#include "generator/packing.h"
#include "generator/pieces.h"

namespace lemma::generator {

/// A key and what has it: a class, or a term in few bits.
struct Entry {
  std::uint64_t bucket = 0;
  std::uint64_t packed = 0;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.bucket != b.bucket ? a.bucket < b.bucket : a.packed < b.packed;
  }
};

/// One of several ranges of keys.
struct KeyRange {
  std::size_t number = 0, count = 1;
};
inline std::size_t range_of(std::uint64_t bucket, std::size_t count) {
  return count == 1 ? 0 : static_cast<std::size_t>((bucket >> 32U) % count);
}

/// What is found in a range of keys.
struct RangeGroups {
  std::vector<std::uint64_t> words;  // of groups (PackedGroup), in order of keys
  // Groups that rules of smaller terms join, which are not among the words, and the terms in them.
  std::uint64_t joined_groups = 0, joined_terms = 0;
  std::uint64_t evaluated = 0;   // terms of the level, whatever their keys
  std::uint64_t collisions = 0;  // keys that were equal for different values
};

/// Terms of one value whose keys are in one bucket, and the class of smaller terms that have it. As words: type, class or
/// nothing, number of terms, terms.
struct PackedGroup {
  std::uint32_t type = 0;
  ClassId known = nothing;
  std::span<const std::uint64_t> terms;
  static constexpr std::size_t head_size = 3;
  std::size_t size() const { return head_size + terms.size(); }
};

/// The group that begins there, of which so many words are left; nothing if it has more.
std::optional<PackedGroup> packed_group(const std::uint64_t* words, std::size_t left);

class LargestTerms {
 public:
  using Options = TermTable::Options;
  static Result<LargestTerms> of(TermTable& table, std::size_t cost, const Options& options);

  /// How many ranges there must be so that the entries of one, from all ranks, have at most so many bytes.
  std::size_t range_count(std::size_t range_bytes) const;

  /// Evaluates the terms of this rank, once: calls take(entry) for the entries of each. `counted`: the number of terms.
  using Take = std::function<Result<void>(const Entry&)>;
  Result<void> evaluate(const Take& take, std::uint64_t& counted);
  /// That of a class of smaller terms.
  Entry entry_of(ClassId id) const { return {table_->keys_[id], id}; }

  /// The groups among the entries of a range.
  Result<RangeGroups> find_groups(std::vector<Entry> entries) const;
  /// Whether there can be such a group.
  bool is_group(const PackedGroup& group) const;
  TermNode node_of(std::uint64_t packed) const;

 private:
  friend class BucketReader;
  LargestTerms(TermTable& table, std::size_t cost, const Options& options, Level level)
      : table_(&table),
        cost_(cost),
        options_(options),
        packing_(table, level.plans()),
        level_(std::move(level)) {}
  void evaluate_piece(const Piece& piece, std::vector<Entry>& entries,
                      std::uint64_t& counted) const;

  TermTable* table_;
  std::size_t cost_;
  Options options_;
  Packing packing_;
  std::optional<Level> level_;  // until it is evaluated
};

}  // namespace lemma::generator
