#pragma once
// Small concrete instances of a rule, drawn at random: sizes, element types and parameters.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rule_language/substitution.h"
#include "rule_language/substitution_use.h"

namespace lemma::verifier {

/// Elements of a value: instances stay quick to evaluate.
constexpr std::int64_t instance_element_limit = 4000;

struct RuleInstance {
  RuleBindings bindings;
  std::vector<TensorType> inputs;
  /// The base-2 logarithm of the magnitude that contents have, if they are integers.
  int magnitude = 2;
  /// The largest distance from 0 of such a logarithm of the real parameters, apart from 0.
  int spread = 0;
};

/// What varies beside the sizes: magnitudes and the element type, or neither.
struct InstanceVariety {
  bool wide = false;
  DataType real = DataType::f32;  // of what has no type
};

/// The same instances for the same rule and seed, on every machine.
class RuleInstances {
 public:
  /// `rule` has to live as long as this.
  RuleInstances(const Substitution& rule, std::uint64_t seed);
  ~RuleInstances();
  RuleInstances(const RuleInstances&) = delete;
  RuleInstances& operator=(const RuleInstances&) = delete;

  /// Nothing if the values drawn contradict the conditions or each other. `only_empty` is the number of a dimension
  /// variable, in the order of the shapes: it is 0, and nothing else is.
  std::optional<RuleInstance> next(std::optional<std::size_t> only_empty = std::nullopt,
                                   const InstanceVariety& variety = {});

 private:
  class Drawing;
  std::unique_ptr<Drawing> drawing_;
};

}  // namespace lemma::verifier
