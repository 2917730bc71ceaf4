#pragma once
// The operators that `lemma tune` searches schedules for: those of a model, or one that is given by its types.

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/single_operator.h"

namespace lemma {

struct TunedOperator {
  /// "MatMul f32[37, 129], constant f32[129, 65]": what its records and trials are kept under.
  std::string name;
  SingleOperator single;
  CostKey key;
};

struct OperatorText {
  std::string op;
  std::vector<std::string>
      operands;  // "f32[37, 129]", "constant f32[129, 65]", or "-" for an absent one
  std::vector<std::string> attributes;  // "strides=[2, 2]", those that are not the defaults
  int outputs = 1;
};
/// Errors name what cannot be read, or what the operator's shape rule refuses.
Result<TunedOperator> tuned_operator(const OperatorText& text);

/// The distinct operators of a model, those first that are modelled to take most. `shapes`: as --shape; `size`: what other open
/// sizes are taken for. Operators that have no time of their own, such as views, are left out.
Result<std::vector<TunedOperator>> tuned_operators(const std::string& file,
                                                   const std::vector<std::string>& shapes,
                                                   std::int64_t size);

}  // namespace lemma
