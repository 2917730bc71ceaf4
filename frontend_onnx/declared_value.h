#pragma once
// What a model file says of values that need not be tensors of numbers.

#include <cstdint>
#include <string>
#include <vector>

#include "frontend_onnx/model.h"

namespace lemma {

/// What a file declares an input or output to be.
struct DeclaredValue {
  enum class Kind : std::uint8_t { tensor, sequence, optional, other };
  Kind kind = Kind::other;
  TensorType tensor;                   // of a tensor; its shape may be unknown
  std::vector<DeclaredValue> element;  // one: what a sequence or an optional value holds
};
DeclaredValue declared_value(const ModelEnvelope& model, const std::string& name);

/// Texts that the opaque nodes of the model hold in attributes, those in bodies included: the first ones in order of their
/// bytes, at most so many.
std::vector<std::string> texts_of(const OnnxModel& model, std::size_t most);

}  // namespace lemma
