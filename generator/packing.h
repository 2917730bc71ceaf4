#pragma once
// Terms of a level as numbers of 64 bits.

#include <bit>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "generator/terms.h"

namespace lemma::generator {

/// Set in the two entries of a term whose key lies close to another bucket.
inline constexpr std::uint64_t twin = std::uint64_t{1} << 63U;

/// Plan and output in 16 bits from the top, then 48 bits of operands: the number of a class among those of its type, the
/// first operand in the lowest bits. Numbers below 2^32 are free for classes. The numbers depend on the set, the limit and
/// the seed alone.
class Packing {
 public:
  /// `plans`: in order of their numbers.
  Packing(const TermTable& table, const std::vector<const Plan*>& plans)
      : by_type_(table.types().size()) {
    for (ClassId id = 0; id < table.classes().size(); ++id) {
      std::vector<ClassId>& alike = by_type_[table.classes()[id].type];
      in_type_.push_back(static_cast<std::uint32_t>(alike.size()));
      alike.push_back(id);
    }
    for (const Plan* plan : plans) {
      numbers_.emplace(plan, plans_.size());
      Layout& layout = plans_.emplace_back(Layout{plan, {}});
      for (std::size_t i = 0; i < plan->tape.operands.size(); ++i)
        layout.bits[i] =
            static_cast<unsigned>(std::bit_width(by_type_[plan->operand_types[i]].size()));
    }
  }

  /// Whether all fits.
  Result<void> check() const {
    for (const Layout& layout : plans_)
      if (layout.bits[0] + layout.bits[1] + layout.bits[2] > 48)
        return unsupported("there are too many classes for an operator of several operands");
    if (plans_.size() * 8 >= (1U << 15U) - 16)
      return unsupported("there are too many combinations of operators and types");
    return {};
  }

  std::uint64_t pack(const Plan& plan, std::uint32_t output, const Operands& operands) const {
    const std::size_t number = numbers_.at(&plan);
    std::uint64_t result = (number + 1) * 8 + output;
    result <<= 48U;
    unsigned shift = 0;
    for (std::size_t i = 0; i < most_operands && operands[i] != nothing; ++i) {
      result |= std::uint64_t{in_type_[operands[i]]} << shift;
      shift += plans_[number].bits[i];
    }
    return result;
  }

  static bool is_class(std::uint64_t packed) { return packed >> 48U == 0; }

  struct Unpacked {
    const Plan* plan = nullptr;
    std::uint32_t output = 0;
    Operands operands = {nothing, nothing, nothing};
  };
  /// Of what pack() made.
  Unpacked unpack(std::uint64_t packed) const {
    const std::uint64_t head = (packed & ~twin) >> 48U;
    const Layout& layout = plans_[head / 8 - 1];
    Unpacked result;
    result.plan = layout.plan;
    result.output = static_cast<std::uint32_t>(head % 8);
    for (std::size_t i = 0; i < result.plan->tape.operands.size(); ++i) {
      const std::vector<ClassId>& alike = by_type_[result.plan->operand_types[i]];
      const std::uint64_t number = packed & ((std::uint64_t{1} << layout.bits[i]) - 1);
      result.operands[i] = number < alike.size() ? alike[number] : nothing;
      packed >>= layout.bits[i];
    }
    return result;
  }
  /// Whether it can have been made by pack().
  bool is_term(std::uint64_t packed) const {
    const std::uint64_t head = (packed & ~twin) >> 48U;
    if (head < 8 || head / 8 > plans_.size()) return false;
    const Unpacked term = unpack(packed);
    if (term.output >= term.plan->output_types.size()) return false;
    for (std::size_t i = 0; i < term.plan->tape.operands.size(); ++i)
      if (term.operands[i] == nothing) return false;
    return true;
  }

 private:
  struct Layout {
    const Plan* plan = nullptr;
    std::array<unsigned, most_operands> bits = {};  // by operand
  };
  std::vector<std::vector<ClassId>> by_type_;
  std::vector<std::uint32_t> in_type_;  // by class: its number among those of its type
  std::vector<Layout> plans_;
  absl::flat_hash_map<const Plan*, std::size_t> numbers_;
};

}  // namespace lemma::generator
