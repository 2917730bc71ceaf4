#pragma once
// Terms of a level as numbers of 64 bits.

#include <vector>

#include <absl/container/flat_hash_map.h>

#include "generator/applications.h"

namespace lemma::generator {

/// Set in the two entries of a term whose key lies close to another bucket.
inline constexpr std::uint64_t twin = std::uint64_t{1} << 63U;

/// Plan and output in 16 bits from the top, then 48 bits of operands. Numbers below 2^32 are free for
/// classes. The numbers depend on the set, the limit and the seed alone.
class Packing {
 public:
  explicit Packing(const Level& level) {
    for (const Piece& piece : level.pieces())
      if (numbers_.try_emplace(piece.plan, plans_.size()).second) plans_.push_back(piece.plan);
  }

  /// Whether all fits.
  Result<void> check(std::size_t classes) const {
    for (const Plan* plan : plans_) {
      const unsigned bits = operand_bits(*plan);
      if (classes >= (std::size_t{1} << bits))
        return unsupported("there are too many classes for operators of three operands");
    }
    if (plans_.size() * 8 >= (1U << 15U) - 16)
      return unsupported("there are too many combinations of operators and types");
    return {};
  }

  std::uint64_t pack(const Plan& plan, std::uint32_t output, const Operands& operands) const {
    const unsigned bits = operand_bits(plan);
    std::uint64_t result = (numbers_.at(&plan) + 1) * 8 + output;
    result <<= 48U;
    for (std::size_t i = 0; i < most_operands; ++i)
      if (operands[i] != nothing) result |= std::uint64_t{operands[i]} << (i * bits);
    return result;
  }

  static bool is_class(std::uint64_t packed) { return packed >> 48U == 0; }

  struct Unpacked {
    const Plan* plan = nullptr;
    std::uint32_t output = 0;
    Operands operands = {nothing, nothing, nothing};
  };
  Unpacked unpack(std::uint64_t packed) const {
    Unpacked result;
    const std::uint64_t head = (packed & ~twin) >> 48U;
    result.plan = plans_[head / 8 - 1];
    result.output = static_cast<std::uint32_t>(head % 8);
    const unsigned bits = operand_bits(*result.plan);
    for (std::size_t i = 0; i < result.plan->tape.operands.size(); ++i)
      result.operands[i] =
          static_cast<std::uint32_t>((packed >> (i * bits)) & ((std::uint64_t{1} << bits) - 1));
    return result;
  }
  /// Whether it can have been made by pack().
  bool is_term(std::uint64_t packed, std::size_t classes) const {
    const std::uint64_t head = (packed & ~twin) >> 48U;
    if (head < 8 || head / 8 > plans_.size()) return false;
    const Unpacked term = unpack(packed);
    if (term.output >= term.plan->output_types.size()) return false;
    for (std::size_t i = 0; i < term.plan->tape.operands.size(); ++i)
      if (term.operands[i] >= classes) return false;
    return true;
  }

 private:
  static unsigned operand_bits(const Plan& plan) {
    return plan.tape.operands.size() <= 2 ? 24 : 16;
  }
  std::vector<const Plan*> plans_;
  absl::flat_hash_map<const Plan*, std::size_t> numbers_;
};

}  // namespace lemma::generator
