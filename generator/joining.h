#pragma once
// A group of equal terms, and which of them are connected by rules.

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "generator/terms.h"

namespace lemma::generator {

struct Group {
  ClassId known = nothing;  // smaller terms
  std::uint32_t type = 0;
  std::vector<TermNode> terms;

  /// The number that stands for the smaller terms; behind those of `terms`.
  std::size_t known_number() const { return terms.size(); }
  /// The term that others are compared with first.
  std::size_t base() const { return known == nothing ? 0 : known_number(); }
};

class Joining {
 public:
  explicit Joining(const Group& group);

  bool are_joined(std::size_t a, std::size_t b) const { return root(a) == root(b); }
  /// Whether all are joined.
  bool is_one() const { return parts_ == 1; }
  /// Joins two of them by a rule; nothing happens if they are joined already.
  void join(std::size_t a, std::size_t b, std::size_t rule);
  /// The rules that lead from one term to another.
  std::vector<std::size_t> between(std::size_t from, std::size_t to) const;
  /// The number of a term.
  std::optional<std::size_t> find(const TermNode& node) const;

 private:
  using Key = std::array<std::uint32_t, 2 + most_operands>;
  static Key key(const TermNode& node);
  /// After steps in the logarithm of the number of terms: the smaller part is hung below the larger one. Paths are not made
  /// shorter here, because several threads may ask.
  std::size_t root(std::size_t i) const;

  std::size_t parts_ = 0;
  std::vector<std::size_t> parents_;
  std::vector<std::size_t> sizes_;                                       // by root: of its part
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> edges_;  // other term, rule
  absl::flat_hash_map<Key, std::size_t> numbers_;
};

}  // namespace lemma::generator
