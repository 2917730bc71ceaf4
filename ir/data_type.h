#pragma once
// Element types. The enumerators have the values of ONNX TensorProto.DataType, so that the front
// end needs no table of its own. Lemma computes with the types of the classes `real`, `integer` and
// `boolean`. Elements of the class `narrow` (of at most 8 bits, floating-point or integer) are copied and converted
// (operators/narrow_types.h); in definitions, and while they are computed with, they are their codes: the bits that
// stand for them, as an unsigned integer. Values of other types only pass between opaque nodes.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lemma {

enum class DataType : std::uint8_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  complex64 = 14,
  complex128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
};

inline constexpr int data_type_count = 27;

enum class DataTypeClass : std::uint8_t { real, integer, boolean, narrow, other };

/// Name in the textual form: "f32", "i64", "bool", ...
std::string_view name(DataType type);
/// Inverse of name(); nothing for an unknown name.
std::optional<DataType> parse_data_type(std::string_view text);
DataTypeClass class_of(DataType type);
/// Bits of one element as ONNX stores it in raw data; 0 where elements have no fixed size.
int bits(DataType type);
/// Bytes of one element in memory, where elements smaller than a byte take one each; 0 for types without a fixed size.
inline std::size_t byte_size(DataType type) { return static_cast<std::size_t>(bits(type) + 7) / 8; }
bool is_unsigned_integer(DataType type);

inline bool is_real(DataType type) { return class_of(type) == DataTypeClass::real; }
inline bool is_integer(DataType type) { return class_of(type) == DataTypeClass::integer; }
inline bool is_narrow(DataType type) { return class_of(type) == DataTypeClass::narrow; }
inline bool is_computable(DataType type) { return class_of(type) != DataTypeClass::other; }

}  // namespace lemma
