#pragma once
// Refutation by evaluation: values of sizes and indices for which facts hold and a claim does not. It saves the
// time of a solver on claims that are false. Nothing is ever proved by it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "verifier/index/expression.h"

namespace lemma::verifier::index {

/// Values of sizes and variables. The same facts give the same samples.
class Sample {
 public:
  explicit Sample(std::uint64_t seed) : seed_(seed) {}

  void set(const std::string& name, std::int64_t value) { values_[name] = value; }
  /// A small number, if it was not set.
  std::int64_t value(const std::string& name) const;
  /// Nothing where a divisor is not positive, or a number becomes large.
  std::optional<std::int64_t> value(const Dimension& dimension) const;
  std::optional<bool> holds(const Formula& formula) const;
  std::uint64_t seed() const { return seed_; }

 private:
  std::uint64_t seed_;
  std::unordered_map<std::string, std::int64_t> values_;
};

/// A few samples of small numbers for which the facts hold; none if none was found. Valid until the next call of
/// the same thread.
const std::vector<Sample>& samples_of(const std::vector<Formula>& facts);

/// A sample for which the facts hold and the goal does not.
bool is_refuted_by_sample(const std::vector<Formula>& facts, const Formula& goal);
/// A sample for which the facts hold, and elements for which the values differ.
bool differ_by_sample(const Polynomial& a, const Polynomial& b, const std::vector<Formula>& facts);

}  // namespace lemma::verifier::index
