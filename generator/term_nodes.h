#pragma once
// Terms and classes of terms, as the table keeps them (generator/terms.h).

#include <array>
#include <cstdint>

#include "generator/blocks.h"
#include "generator/operator_set.h"

namespace lemma::generator {

using ClassId = std::uint32_t;
using TermNodeId = std::uint32_t;
inline constexpr std::uint32_t nothing = 0xffffffffU;
using Operands = std::array<ClassId, most_operands>;  // nothing where there are fewer

/// One output of one operator of the set, applied to classes. `op` is nothing for an input.
struct TermNode {
  std::uint32_t op = nothing;  // operator of the set
  Operands operands = {nothing, nothing, nothing};
  ClassId id = nothing;  // the class that it is in
  std::uint16_t output = 0;
  std::uint16_t cost = 0;
};

struct TermClass {
  std::uint32_t type = 0;
  TermNodeId representative = 0;  // the first node
  TermNodeId last = 0;            // the last one
  std::uint32_t cost = 0;
  std::uint64_t inputs = 0;  // of the representative, a bit each
};

/// The nodes of a class, in the order in which they were added.
class MemberRange {
 public:
  MemberRange(const Blocks<TermNodeId>& next, TermNodeId first) : next_(&next), first_(first) {}
  class Iterator {
   public:
    Iterator(const Blocks<TermNodeId>& next, TermNodeId at) : next_(&next), at_(at) {}
    TermNodeId operator*() const { return at_; }
    Iterator& operator++() {
      at_ = (*next_)[at_];
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const Blocks<TermNodeId>* next_;
    TermNodeId at_;
  };
  Iterator begin() const { return {*next_, first_}; }
  Iterator end() const { return {*next_, nothing}; }

 private:
  const Blocks<TermNodeId>* next_;
  TermNodeId first_;
};

}  // namespace lemma::generator
