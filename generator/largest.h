#pragma once
// The largest terms, which are not kept: only groups of equal ones are.
//
// 1. The key of every term is evaluated: entries.
// 2. Entries with the same key are compared: groups. Keys can be divided into ranges, and the
//    groups of each range are found independently of the others.
// 3. A term whose key lies close to another bucket has two entries; the groups in which they are
//    found are one.
//
// The result does not depend on how pieces and ranges were divided.

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
  std::uint64_t number = 0, count = 1;
  bool contains(std::uint64_t bucket) const {
    return count == 1 || (bucket >> 32U) % count == number;
  }
};

/// Terms of one value whose keys are in one bucket, and the class of smaller terms that have it.
struct PackedGroup {
  std::uint32_t type = 0;
  ClassId known = nothing;
  std::vector<std::uint64_t> terms;
};

/// What is found in a range of keys.
struct RangeGroups {
  std::vector<PackedGroup> groups;  // in order of keys
  std::uint64_t evaluated = 0;      // terms of the level, whatever their keys
  std::uint64_t collisions = 0;     // keys that were equal for different values
};

class LargestTerms {
 public:
  using Options = TermTable::Options;
  static Result<LargestTerms> of(TermTable& table, std::size_t cost, const Options& options);

  /// How many ranges of keys there must be so that the entries of one fit into memory.
  std::uint64_t range_count() const;

  /// The entries of a range, in no particular order. `counted`: the number of terms that were
  /// evaluated, whatever their keys.
  Result<std::vector<Entry>> entries(KeyRange range, std::uint64_t& counted) const;

  /// The groups among the entries of a range.
  Result<RangeGroups> find_groups(std::vector<Entry> entries) const;
  /// Entries and groups.
  Result<RangeGroups> evaluate(KeyRange range) const;
  /// Whether there can be such a group.
  bool is_group(const PackedGroup& group) const;

  /// The united terms in order of their smallest terms.
  std::vector<EqualTerms> united(std::vector<PackedGroup> groups) const;

 private:
  class BucketReader;
  LargestTerms(TermTable& table, std::size_t cost, const Options& options, Level level)
      : table_(&table),
        cost_(cost),
        options_(options),
        level_(std::move(level)),
        packing_(level_) {}
  void evaluate_piece(const Piece& piece, KeyRange range, std::vector<Entry>& entries,
                      std::uint64_t& counted) const;
  ClassValues class_values() const {
    return {&table_->values_, &table_->offsets_, &table_->weights_};
  }
  TermNode node_of(std::uint64_t packed) const;

  TermTable* table_;
  std::size_t cost_;
  Options options_;
  Level level_;
  Packing packing_;
};

}  // namespace lemma::generator
