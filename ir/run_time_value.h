#pragma once
// What a value of an ONNX model is at run time: a tensor of numbers, a tensor of strings, a sequence of such
// values, or nothing (an absent input, or an optional value that is empty; ONNX, "Optional" types). An optional
// value that is not empty is the value itself.

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/constant.h"

namespace lemma {

/// A tensor of strings, row-major; as many elements as the sizes multiply to.
struct Strings {
  std::vector<std::int64_t> sizes;
  std::vector<std::string> elements;

  friend bool operator==(const Strings&, const Strings&) = default;
};

class RunTimeValue {
 public:
  using Sequence = std::vector<RunTimeValue>;

  RunTimeValue() = default;
  RunTimeValue(Constant tensor) : value_(std::move(tensor)) {}
  RunTimeValue(Strings strings) : value_(std::make_shared<const Strings>(std::move(strings))) {}
  RunTimeValue(Sequence sequence) : value_(std::make_shared<const Sequence>(std::move(sequence))) {}

  bool is_nothing() const { return std::holds_alternative<std::monostate>(value_); }
  /// Null where the value is something else.
  const Constant* tensor() const { return std::get_if<Constant>(&value_); }
  const Strings* strings() const { return pointer<Strings>(); }
  const Sequence* sequence() const { return pointer<Sequence>(); }

 private:
  template <typename T>
  const T* pointer() const {
    const auto* shared = std::get_if<std::shared_ptr<const T>>(&value_);
    return shared != nullptr ? shared->get() : nullptr;
  }

  std::variant<std::monostate, Constant, std::shared_ptr<const Strings>,
               std::shared_ptr<const Sequence>>
      value_;
};

/// The type as far as the IR has one: undefined for sequences and for nothing.
TensorType type_of(const RunTimeValue& value);
/// "f32[2, 3]", "string[2]", "a sequence of 3", "nothing".
std::string text(const RunTimeValue& value);
/// The sizes of a constant.
std::vector<std::int64_t> sizes_of(const Constant& constant);

}  // namespace lemma
