#pragma once
// A systematic family of applications of one operator, which represents its meaning
// (rule_language/operator_meaning.h). It depends only on the record.

#include <cstddef>
#include <functional>
#include <vector>

#include "base/result.h"
#include "ir/operator.h"

namespace lemma {

struct OperatorInstance {
  std::vector<TensorType> inputs;  // of undefined type: an absent optional input
  Attributes attributes;           // as they are given: not completed
  std::size_t output_count = 1;
};

/// An example of the record. The error says what cannot be read.
Result<OperatorInstance> read_example(const OperatorRecord& record, const OperatorExample& example);

/// Shapes for the inputs of a recurrent operator with so many gates over a number of steps: the sequence, the weights
/// of gates for it and for the state, their biases, and what the state consists of.
std::vector<Shape> recurrence_shapes(std::size_t inputs, std::int64_t gates,
                                     const Dimension& steps);

/// Whether the operator accepts the instance. The family is built around those that it accepts.
using InstanceVisitor = std::function<bool(const OperatorInstance&)>;

/// Visits the instances of an operator. For a recurrent one these are several numbers of steps, known and not. For the
/// others: input counts of the record (up to three for any number); each input at ranks 0 to 6, elementwise operators
/// to 8; sizes that are symbols, shared or distinct, 1, 0 and constants, in the patterns of broadcasting, products and
/// windows. Around the first accepted instance of each rank of input 0: every element type, for all inputs and for
/// single ones; every attribute at several values of its kind, at every axis, and two at once; several output counts.
/// Of all: the record's own examples, and the same around them. A record with an example that cannot be read has no
/// family at all.
void visit_instances(const OperatorRecord& record, const InstanceVisitor& visit);

}  // namespace lemma
