#pragma once
// The groups of equal terms among the largest ones, as numbers of 64 bits: in memory, or in a file if there are many.

#include <functional>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "generator/joining.h"
#include "generator/largest.h"
#include "outputs/unnamed_file.h"

namespace lemma::generator {

class EqualGroups {
 public:
  /// At most so many bytes of groups are held in memory.
  explicit EqualGroups(std::size_t memory) : most_(memory / sizeof(std::uint64_t)) {}

  /// Adds groups of a range of keys as words.
  Result<void> add(const std::vector<std::uint64_t>& words);
  /// Calls visit(words) for the words of groups as they were added: whole groups, about so many words at once.
  using VisitWords = std::function<Result<void>(std::span<const std::uint64_t>)>;
  Result<void> for_each_batch(std::size_t words, const VisitWords& visit) const;
  /// Unites groups that have a term in common, whose key lies close to another bucket, and puts them in order of their
  /// smallest terms. To be called once, before those below.
  Result<void> unite(LargestTerms level);

  std::size_t size() const { return order_.size(); }
  /// Several threads may ask.
  Result<Group> group(std::size_t number) const;

 private:
  struct Place {
    std::uint64_t smallest = 0;  // term
    std::uint64_t begin = 0;     // word
  };
  /// A term that is in another group as well.
  struct Twin {
    std::uint64_t term = 0;
    std::uint32_t group = 0;
    friend auto operator<=>(const Twin&, const Twin&) = default;
  };
  /// Calls visit(number, begin, group) for the groups as they were added.
  template <typename Visit>
  Result<void> for_each_added(const Visit& visit) const;
  Result<std::vector<std::uint64_t>> read(std::uint64_t begin, std::size_t count) const;

  std::optional<LargestTerms> level_;
  std::size_t most_;
  std::vector<std::uint64_t> words_;
  std::uint64_t in_file_ = 0;  // words in the file, which come before those in memory
  UnnamedFile file_;
  std::vector<Place> order_;
  /// Where the other parts of united groups begin, by that of the first one.
  absl::flat_hash_map<std::uint64_t, std::vector<std::uint64_t>> others_;
};

}  // namespace lemma::generator
