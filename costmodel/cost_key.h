#pragma once
// What a cost is known of: one application of an operator, on a target.

#include <string>
#include <vector>

#include "costmodel/operation_count.h"
#include "ir/operator.h"

namespace lemma {

/// All sizes are constant. Layout is no field: a blocked tensor has a shape of its own.
struct CostKey {
  const OperatorRecord* op = nullptr;
  Attributes attributes;                    // complete
  std::vector<TensorType> inputs, outputs;  // absent optional inputs have an undefined type
  std::vector<bool> constant;               // by input: known when the model is built
  std::string target;                       // Target::identity
  int threads = 0;
  /// False: the sizes that were assumed do not fit the operator, so that only the bytes of its
  /// results can be counted.
  bool sizes_fit = true;

  Instance instance() const { return {inputs, attributes, outputs.size()}; }
};

/// One line, equal for equal keys and only for these:
/// "MatMul{} f32[8, 16], constant f32[16, 4] -> f32[8, 4] on roofline/generic CPU, 2 threads".
std::string text(const CostKey& key);

/// The work of one application, from the operator's definition.
OperationCount count_operations(const CostKey& key);

}  // namespace lemma
