#pragma once
// The numbers that the codes of narrow types stand for: floating-point types of 8 and 4 bits (ONNX, "Float stored in 8
// bits" and "4 bit types"; OCP 8-bit Floating Point Specification, revision 1.0; OCP Microscaling Formats, 1.0), and integers of
// 4 and 2 bits.

#include "ir/definition.h"

namespace lemma::operators {

/// The number as f64, or as i64 for the integer types. `code` is an element of the narrow type as it was read.
Expression number_of_code(DefinitionBuilder& d, Expression code);

/// The element nearest to a number of any type that is not narrow; ties to the even code. What lies outside the range of
/// a floating-point type becomes its largest number if `saturates`, else an infinity, or NaN where it has none. Integers
/// are those modulo 2^4 and 2^2; reals are truncated first. f8e8m0 has powers of two only: the next one above the magnitude.
Expression code_of_number(DefinitionBuilder& d, Expression number, DataType type, bool saturates);

/// Largest and least number of a narrow type.
double largest_number(DataType type);
double least_number(DataType type);

bool is_narrow_integer(DataType type);
/// Floating-point types of 8 bits with which casts saturate or not.
bool has_8_bit_float_range(DataType type);

}  // namespace lemma::operators
