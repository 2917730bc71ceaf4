#pragma once
// A tensor with contents, as the interpreter takes and returns it. Row-major, little-endian
// elements as in ONNX raw_data, except that elements of less than 8 bits take a byte each, and that in the domains other than `native` a real-typed element
// takes 8 bytes: a double (f64), a signed integer (exact_integer; the two extreme values stand for
// the infinities) or a residue (prime_field).
//
// Bytes are shared: a Tensor is cheap to copy, and one made from a Constant reads the constant's
// memory in place.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "interpreter/domain.h"
#include "ir/constant.h"
#include "ir/tensor_type.h"

namespace lemma::interpreter {

/// Product of the sizes; 1 for none. The caller knows that it does not overflow.
std::int64_t element_count(const Sizes& sizes);

/// A type, sizes that are numbers, and elements in a domain.
class Tensor {
 public:
  /// Stands for an absent optional input: undefined type.
  Tensor() = default;
  /// Native; elements of less than 8 bits are copied into bytes.
  static Tensor of(const Constant& constant);
  /// Contents are unspecified; to be written through writable_bytes().
  static Tensor uninitialized(DataType type, Sizes sizes, Domain domain = Domain::native);
  /// Uses the given bytes, which live as long as `owner`.
  static Tensor over(DataType type, Sizes sizes, std::shared_ptr<const void> owner,
                     std::span<const std::byte> bytes, Domain domain = Domain::native);
  /// Native; as Constant::of() takes them, one for each element.
  template <typename T>
  static Tensor of(DataType type, Sizes sizes, const std::vector<T>& elements) {
    return of(Constant::of(type, sizes, elements));
  }
  /// Native tensors of any computable type; elements are rounded or wrapped to the type.
  static Tensor from_reals(DataType type, Sizes sizes, std::span<const double> elements);
  /// The same from integers.
  static Tensor from_integers(DataType type, Sizes sizes, std::span<const std::int64_t> elements);

  bool is_absent() const { return type_ == DataType::undefined; }  // as a default one is
  DataType data_type() const { return type_; }   // of the value, whatever the domain
  Domain domain() const { return domain_; }      // how real elements are held
  const Sizes& sizes() const { return sizes_; }  // empty for a scalar
  /// Of constant shape.
  TensorType type() const { return {type_, Shape(sizes_.begin(), sizes_.end())}; }
  /// 1 for a scalar.
  std::int64_t element_count() const { return interpreter::element_count(sizes_); }
  /// Bytes of one element as it is held here.
  std::size_t element_size() const;
  /// Row-major, element_size() bytes for each; live as long as the tensor or a copy of it.
  std::span<const std::byte> bytes() const { return bytes_; }
  /// The bytes for writing, only of a tensor that owns its bytes and shares them with nobody: one
  /// just made.
  std::span<std::byte> writable_bytes();
  /// The same elements under other sizes (their product must be the same).
  Tensor with_sizes(Sizes sizes) const;

  /// All elements widened. Real elements of the prime field and integers give their
  /// representative; 64-bit integers may round in reals(). Reals truncate in integers().
  std::vector<double> reals() const;
  std::vector<std::int64_t> integers() const;  // as reals()
  /// Requires the native domain.
  Constant constant() const;

  /// Same type, domain, sizes and bytes.
  friend bool operator==(const Tensor& a, const Tensor& b);

 private:
  DataType type_ = DataType::undefined;
  Domain domain_ = Domain::native;
  Sizes sizes_;
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  std::byte* writable_ = nullptr;
};

/// The tensor in another domain. From `native` to the exact domains every real element must have a
/// value there (an integer; for the field, any finite number, read as in field_constant);
/// from the field there is no way back.
Result<Tensor> to_domain(const Tensor& tensor, Domain domain);

}  // namespace lemma::interpreter
