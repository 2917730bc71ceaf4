#pragma once
// The operation of lowering/scalar_operations.h for each kind of expression and each kind of
// element. The interpreter generates its kernels from these lists, and generated source uses their
// names.
//
// PLAIN(kind, Operation) cannot fail; CHECKED(kind, Operation) is undefined for a divisor of zero.

#define LEMMA_REAL_OPERATIONS(PLAIN)       \
  PLAIN(add, Add)                          \
  PLAIN(subtract, Subtract)                \
  PLAIN(multiply, Multiply)                \
  PLAIN(divide, Divide)                    \
  PLAIN(floor_divide, FloorDivide)         \
  PLAIN(floor_modulo, FloorModulo)         \
  PLAIN(truncated_modulo, TruncatedModulo) \
  PLAIN(power, Power)                      \
  PLAIN(minimum, Minimum)                  \
  PLAIN(maximum, Maximum)                  \
  PLAIN(equal, Equal)                      \
  PLAIN(less, Less)                        \
  PLAIN(less_equal, LessEqual)

#define LEMMA_INTEGER_OPERATIONS(PLAIN, CHECKED) \
  PLAIN(add, Add)                                \
  PLAIN(subtract, Subtract)                      \
  PLAIN(multiply, Multiply)                      \
  CHECKED(divide, CheckedDivide)                 \
  CHECKED(floor_divide, CheckedFloorDivide)      \
  CHECKED(floor_modulo, CheckedFloorModulo)      \
  CHECKED(truncated_modulo, CheckedModulo)       \
  PLAIN(power, Power)                            \
  PLAIN(minimum, Minimum)                        \
  PLAIN(maximum, Maximum)                        \
  PLAIN(equal, Equal)                            \
  PLAIN(less, Less)                              \
  PLAIN(less_equal, LessEqual)                   \
  PLAIN(bit_and, BitAnd)                         \
  PLAIN(bit_or, BitOr)                           \
  PLAIN(bit_xor, BitXor)                         \
  PLAIN(shift_left, ShiftLeft)                   \
  PLAIN(shift_right, ShiftRight)

// Where u64 differs from the 64 bits read as signed.
#define LEMMA_UNSIGNED_OPERATIONS(PLAIN, CHECKED) \
  CHECKED(divide, CheckedDivide)                  \
  CHECKED(floor_divide, CheckedDivide)            \
  CHECKED(floor_modulo, CheckedModulo)            \
  CHECKED(truncated_modulo, CheckedModulo)        \
  PLAIN(minimum, Minimum)                         \
  PLAIN(maximum, Maximum)                         \
  PLAIN(less, Less)                               \
  PLAIN(less_equal, LessEqual)                    \
  PLAIN(shift_right, ShiftRight)

#define LEMMA_BOOLEAN_OPERATIONS(PLAIN) \
  PLAIN(minimum, BitAnd)                \
  PLAIN(multiply, BitAnd)               \
  PLAIN(logical_and, BitAnd)            \
  PLAIN(bit_and, BitAnd)                \
  PLAIN(maximum, BitOr)                 \
  PLAIN(logical_or, BitOr)              \
  PLAIN(bit_or, BitOr)                  \
  PLAIN(bit_xor, BitXor)                \
  PLAIN(equal, Equal)                   \
  PLAIN(less, Less)                     \
  PLAIN(less_equal, LessEqual)

// Each is the function of its name.
// clang-format off
#define LEMMA_REAL_FUNCTIONS(FUNCTION) \
  FUNCTION(negate) FUNCTION(absolute) FUNCTION(sign) FUNCTION(floor) FUNCTION(ceil) \
  FUNCTION(round) FUNCTION(exp) FUNCTION(log) FUNCTION(sqrt) FUNCTION(reciprocal) \
  FUNCTION(sin) FUNCTION(cos) FUNCTION(tan) FUNCTION(asin) FUNCTION(acos) \
  FUNCTION(atan) FUNCTION(sinh) FUNCTION(cosh) FUNCTION(tanh) FUNCTION(asinh) \
  FUNCTION(acosh) FUNCTION(atanh) FUNCTION(erf) FUNCTION(is_nan) FUNCTION(is_infinite)

#define LEMMA_INTEGER_FUNCTIONS(FUNCTION) \
  FUNCTION(negate) FUNCTION(absolute) FUNCTION(sign) FUNCTION(floor) FUNCTION(ceil) \
  FUNCTION(round) FUNCTION(is_nan) FUNCTION(is_infinite)
// clang-format on
