#pragma once
// The operations of definitions on single elements. The interpreter's kernels are instances of
// them, and generated source includes this file, which needs only the standard library.

#include <cmath>
#include <cstdint>
#include <type_traits>

// Source for CUDA has them on the device too.
#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

namespace lemma::lowering {

// ---- Operations that cannot fail ---------------------------------------------------------------

template <typename T>
HOST_DEVICE T wrapped(std::uint64_t value) {
  return static_cast<T>(value);
}

struct Add {
  HOST_DEVICE static float apply(float a, float b) { return a + b; }
  HOST_DEVICE static double apply(double a, double b) { return a + b; }
  template <typename T>
  requires std::is_class_v<T>  // such as residues of a field
      HOST_DEVICE static T apply(T a, T b) {
    return a + b;
  }
  HOST_DEVICE static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return wrapped<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
};
struct Subtract {
  HOST_DEVICE static float apply(float a, float b) { return a - b; }
  HOST_DEVICE static double apply(double a, double b) { return a - b; }
  template <typename T>
  requires std::is_class_v<T>  // such as residues of a field
      HOST_DEVICE static T apply(T a, T b) {
    return a - b;
  }
  HOST_DEVICE static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return wrapped<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
};
struct Multiply {
  HOST_DEVICE static float apply(float a, float b) { return a * b; }
  HOST_DEVICE static double apply(double a, double b) { return a * b; }
  template <typename T>
  requires std::is_class_v<T>  // such as residues of a field
      HOST_DEVICE static T apply(T a, T b) {
    return a * b;
  }
  HOST_DEVICE static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return wrapped<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
};
struct Divide {
  template <typename T>
  HOST_DEVICE static T apply(T a, T b) {
    return a / b;
  }
};
struct FloorDivide {
  template <typename T>
  HOST_DEVICE static T apply(T a, T b) {
    return std::floor(a / b);
  }
};
struct TruncatedModulo {
  template <typename T>
  HOST_DEVICE static T apply(T a, T b) {
    return std::fmod(a, b);
  }
};
struct FloorModulo {
  template <typename T>
  HOST_DEVICE static T apply(T a, T b) {
    const T rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};
struct Power {
  template <typename T>
  HOST_DEVICE static T apply(T a, T b) {
    return std::pow(a, b);
  }
  HOST_DEVICE static std::int64_t apply(std::int64_t a, std::int64_t b) {
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
    std::uint64_t result = 1, base = static_cast<std::uint64_t>(a);
    for (auto e = static_cast<std::uint64_t>(b); e != 0; e >>= 1, base *= base)
      if ((e & 1U) != 0) result *= base;
    return wrapped<std::int64_t>(result);
  }
};
// Without branches, and NaN where an operand is NaN: a comparison with NaN is false.
struct Minimum {
  template <typename T>
  HOST_DEVICE static T apply(T a, T b) {
    const T least = a < b ? a : b;
    return a != a ? a : least;
  }
};
struct Maximum {
  template <typename T>
  HOST_DEVICE static T apply(T a, T b) {
    const T greatest = a > b ? a : b;
    return a != a ? a : greatest;
  }
};
// Casts, and no choices between 1 and 0: GCC 12 makes no vectors of those beside elements of 64 bits.
struct Equal {
  template <typename T>
  HOST_DEVICE static std::uint8_t apply(T a, T b) {
    return static_cast<std::uint8_t>(a == b);
  }
};
struct Less {
  template <typename T>
  HOST_DEVICE static std::uint8_t apply(T a, T b) {
    return static_cast<std::uint8_t>(a < b);
  }
};
struct LessEqual {
  template <typename T>
  HOST_DEVICE static std::uint8_t apply(T a, T b) {
    return static_cast<std::uint8_t>(a <= b);
  }
};
struct BitAnd {
  template <typename T>
  HOST_DEVICE static T apply(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <typename T>
  HOST_DEVICE static T apply(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <typename T>
  HOST_DEVICE static T apply(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
// Shifts by less than 0 or more than 63 places move every bit out.
struct ShiftLeft {
  HOST_DEVICE static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return b < 0 || b > 63 ? 0 : wrapped<std::int64_t>(static_cast<std::uint64_t>(a) << b);
  }
};
struct ShiftRight {
  HOST_DEVICE static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return a >> (b < 0 || b > 63 ? 63 : b);
  }
  HOST_DEVICE static std::uint64_t apply(std::uint64_t a, std::uint64_t b) {
    return b > 63 ? 0 : a >> b;
  }
};

// ---- Operations that may fail: `ok` becomes 0 --------------------------------------------------

struct CheckedDivide {
  HOST_DEVICE static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    return b == -1 ? Subtract::apply(0, a) : a / b;
  }
  HOST_DEVICE static std::uint64_t apply(std::uint64_t a, std::uint64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    return a / b;
  }
};
struct CheckedModulo {
  HOST_DEVICE static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    return b == -1 ? 0 : a % b;
  }
  HOST_DEVICE static std::uint64_t apply(std::uint64_t a, std::uint64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    return a % b;
  }
};
struct CheckedFloorDivide {
  HOST_DEVICE static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    if (b == -1) return Subtract::apply(0, a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
  }
};
struct CheckedFloorModulo {
  HOST_DEVICE static std::int64_t apply(std::int64_t a, std::int64_t b, std::uint8_t& ok) {
    if (b == 0) return ok = 0;
    if (b == -1) return 0;
    return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
  }
};

// ---- Scalar functions ---------------------------------------------------------------------------

// By the names of ScalarFunction. Those of integers are for the few that have a meaning there.
namespace functions {

template <typename T>
HOST_DEVICE T negate(T x) {
  return -x;
}
HOST_DEVICE inline std::int64_t negate(std::int64_t x) { return Subtract::apply(0, x); }
template <typename T>
HOST_DEVICE T absolute(T x) {
  return std::abs(x);
}
HOST_DEVICE inline std::int64_t absolute(std::int64_t x) {
  return x < 0 ? Subtract::apply(0, x) : x;
}
HOST_DEVICE inline std::uint64_t absolute(std::uint64_t x) { return x; }
template <typename T>
HOST_DEVICE T sign(T x) {
  return x > 0 ? T{1} : x < 0 ? T{-1} : x == 0 ? T{0} : x;
}
HOST_DEVICE inline std::int64_t sign(std::int64_t x) {
  return static_cast<std::int64_t>(x > 0) - static_cast<std::int64_t>(x < 0);
}
HOST_DEVICE inline std::uint64_t sign(std::uint64_t x) { return x != 0 ? 1 : 0; }
template <typename T>
HOST_DEVICE T round(T x) {
  return std::nearbyint(x);
}
HOST_DEVICE inline std::int64_t round(std::int64_t x) { return x; }
template <typename T>
HOST_DEVICE T reciprocal(T x) {
  return T{1} / x;
}
template <typename T>
HOST_DEVICE std::uint8_t is_nan(T x) {
  return static_cast<std::uint8_t>(x != x);
}
template <typename T>
HOST_DEVICE std::uint8_t is_infinite(T x) {
  return static_cast<std::uint8_t>(std::isinf(x));
}
HOST_DEVICE inline std::uint8_t is_infinite(std::int64_t /*x*/) { return 0; }
template <typename T>
HOST_DEVICE T exp(T x) {
  return std::exp(x);
}
template <typename T>
HOST_DEVICE T log(T x) {
  return std::log(x);
}
template <typename T>
HOST_DEVICE T sqrt(T x) {
  return std::sqrt(x);
}
template <typename T>
HOST_DEVICE T sin(T x) {
  return std::sin(x);
}
template <typename T>
HOST_DEVICE T cos(T x) {
  return std::cos(x);
}
template <typename T>
HOST_DEVICE T tan(T x) {
  return std::tan(x);
}
template <typename T>
HOST_DEVICE T asin(T x) {
  return std::asin(x);
}
template <typename T>
HOST_DEVICE T acos(T x) {
  return std::acos(x);
}
template <typename T>
HOST_DEVICE T atan(T x) {
  return std::atan(x);
}
template <typename T>
HOST_DEVICE T sinh(T x) {
  return std::sinh(x);
}
template <typename T>
HOST_DEVICE T cosh(T x) {
  return std::cosh(x);
}
template <typename T>
HOST_DEVICE T tanh(T x) {
  return std::tanh(x);
}
template <typename T>
HOST_DEVICE T asinh(T x) {
  return std::asinh(x);
}
template <typename T>
HOST_DEVICE T acosh(T x) {
  return std::acosh(x);
}
template <typename T>
HOST_DEVICE T atanh(T x) {
  return std::atanh(x);
}
template <typename T>
HOST_DEVICE T erf(T x) {
  return std::erf(x);
}
template <typename T>
HOST_DEVICE T floor(T x) {
  return std::floor(x);
}
HOST_DEVICE inline std::int64_t floor(std::int64_t x) { return x; }
template <typename T>
HOST_DEVICE T ceil(T x) {
  return std::ceil(x);
}
HOST_DEVICE inline std::int64_t ceil(std::int64_t x) { return x; }

}  // namespace functions

// ---- Conversions --------------------------------------------------------------------------------

template <typename Stored>
HOST_DEVICE std::int64_t wrap(std::int64_t value) {
  return static_cast<std::int64_t>(static_cast<Stored>(value));
}

/// Rounds toward zero and saturates at 64 bits, so that every value is defined; NaN becomes 0.
template <typename T>
HOST_DEVICE std::int64_t truncated(T value) {
  if (!(value > static_cast<T>(-0x1p63))) return value != value ? 0 : INT64_MIN;
  return value >= static_cast<T>(0x1p63) ? INT64_MAX : static_cast<std::int64_t>(value);
}
template <typename T>
HOST_DEVICE std::int64_t truncated_unsigned(T value) {
  if (value < static_cast<T>(0x1p63)) return truncated(value);
  return value >= static_cast<T>(0x1p64)
             ? -1
             : static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
}

/// An element as the type `To` has it: rounded toward zero and wrapped to an integer type, rounded to a
/// real one. Elements of integer types are held in 64 bits, those of booleans in a byte.
template <typename To, typename From>
HOST_DEVICE auto convert(From x) {
  if constexpr (std::is_same_v<To, bool>)
    return static_cast<std::uint8_t>(x != 0);
  else if constexpr (std::is_floating_point_v<To>)
    return static_cast<To>(x);
  else if constexpr (std::is_class_v<To> && std::is_integral_v<From>)
    return To::of(static_cast<std::int64_t>(x));
  else if constexpr (!std::is_floating_point_v<From>)
    return wrap<To>(static_cast<std::int64_t>(x));
  else if constexpr (std::is_same_v<To, std::uint64_t>)
    return truncated_unsigned(x);
  else
    return wrap<To>(truncated(x));
}

/// The quotient of integers of 32 bits at most, rounded toward zero or down; of any value where the divisor is 0. A quotient
/// that is no whole number is so far from one that f64 has it on the right side, and processors divide vectors of f64.
template <bool rounds_down>
HOST_DEVICE std::int64_t divide_near(std::int64_t a, std::int64_t b) {
  const double quotient = static_cast<double>(a) / static_cast<double>(b == 0 ? 1 : b);
  return static_cast<std::int64_t>(rounds_down ? std::floor(quotient) : quotient);
}

/// The same of a real number to an integer type, where the number is known to fit into 32 bits, or is NaN.
template <typename To, typename From>
HOST_DEVICE std::int64_t convert_near(From x) {
  return wrap<To>(static_cast<std::int32_t>(x == x ? x : From{0}));
}

}  // namespace lemma::lowering
