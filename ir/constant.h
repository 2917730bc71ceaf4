#pragma once
// Tensor contents that are known before run time. A Constant shares its bytes with whoever else
// holds them (a memory-mapped model file, another constant); it never copies them.
//
// Layout: row-major, little-endian elements as in ONNX raw_data (bool is one byte, 0 or 1).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "ir/tensor_type.h"

namespace lemma {

class Definition;

class Constant {
 public:
  /// `bytes` must stay valid as long as `owner` lives, and have exactly the size that `type`
  /// (constant shape, fixed-size elements) requires: an error otherwise.
  static Result<Constant> create(TensorType type, std::shared_ptr<const void> owner,
                                 std::span<const std::byte> bytes);
  /// A constant that owns a copy of the given elements.
  template <typename T>
  static Constant of(DataType type, const std::vector<std::int64_t>& sizes,
                     const std::vector<T>& elements);
  static Constant of_integers(const std::vector<std::int64_t>& values);  // i64 vector
  static Constant scalar_f32(float value);

  /// One element without axes that depends on a real parameter of a proof: it has no bytes.
  static Constant symbolic(DataType type, std::shared_ptr<const Definition> exact);
  /// The same bytes, and the number that they are the rounded one of.
  Constant standing_for(std::shared_ptr<const Definition> exact) &&;

  const TensorType& type() const { return type_; }
  /// An error (std::logic_error) for a symbolic constant.
  std::span<const std::byte> bytes() const;
  bool is_symbolic() const { return exact_ != nullptr && bytes_.empty(); }
  /// The expression of one element that the constant stands for, where its bytes are not just that; null otherwise.
  /// It belongs to the definition of an operator (ir/constant_expression.h).
  const Definition* exact() const { return exact_.get(); }
  std::size_t element_count() const { return element_count_; }
  /// The owner of the elements, for placing a constant into another graph or a longer life.
  const std::shared_ptr<const void>& owner() const { return owner_; }

  /// Elements of an integer or boolean constant, widened; codes for narrow types; nothing for other types.
  std::vector<std::int64_t> integers() const;
  /// Elements of a constant of any computable type, as f64 (64-bit integers may round); codes for narrow types;
  /// nothing for a symbolic constant.
  std::vector<double> reals() const;

  /// Equal type, bytes and exact expressions. Compares contents only if the bytes are not shared.
  friend bool operator==(const Constant& a, const Constant& b);
  /// Depends on type, size and a sample of the bytes, so that large weights are not read whole.
  std::size_t hash() const;
  /// 64-bit digest of type and all bytes, for names and reports.
  std::uint64_t digest() const;

 private:
  template <typename Computed>
  void codes(std::vector<Computed>& out) const;

  TensorType type_;
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  std::size_t element_count_ = 0;
  std::shared_ptr<const Definition> exact_;
};

namespace detail {
Constant constant_from_copy(DataType type, const std::vector<std::int64_t>& sizes, const void* data,
                            std::size_t byte_count);
}

template <typename T>
Constant Constant::of(DataType type, const std::vector<std::int64_t>& sizes,
                      const std::vector<T>& elements) {
  return detail::constant_from_copy(type, sizes, elements.data(), elements.size() * sizeof(T));
}

/// Elements of at most 8 bits, each in a byte of its own, and packed as a Constant and files have them: the first one in
/// the lowest bits of the first byte. `bits` divides 8.
std::vector<std::byte> unpacked(std::span<const std::byte> packed, int bits, std::size_t count);
std::vector<std::byte> packed(std::span<const std::byte> elements, int bits);

/// Conversions between stored and computed elements of the 16-bit floating-point types
/// (round to nearest even).
float f16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_f16(float value);
float bf16_to_f32(std::uint16_t bits);
std::uint16_t f32_to_bf16(float value);

}  // namespace lemma
