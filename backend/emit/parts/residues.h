#pragma once
// Residues in place of elements of f32: vectors of them, in blocks as large as those of f32, so that kernels go through
// the same elements in the same order. The compiler needs no registers for them.

#include <cstdint>

#if __has_include("field.h")
#include "field.h"
#else
#include "lowering/field.h"
#endif
#include "vectors.h"

namespace {

using lemma::lowering::Residue;

template <std::int64_t lanes>
struct ResidueVector {
  Residue elements[lanes];

  Residue& operator[](std::int64_t lane) { return elements[lane]; }
  friend ResidueVector operator+(ResidueVector a, Residue b) {
    for (Residue& one : a.elements) one = one + b;
    return a;
  }
  friend ResidueVector operator*(ResidueVector a, Residue b) {
    for (Residue& one : a.elements) one = one * b;
    return a;
  }
  friend ResidueVector operator+(ResidueVector a, const ResidueVector& b) { return a += b; }
  friend ResidueVector operator-(ResidueVector a, const ResidueVector& b) {
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      a.elements[lane] = a.elements[lane] - b.elements[lane];
    return a;
  }
  ResidueVector& operator+=(const ResidueVector& other) {
    for (std::int64_t lane = 0; lane < lanes; ++lane)
      elements[lane] = elements[lane] + other.elements[lane];
    return *this;
  }
};

template <>
constexpr std::int64_t register_elements<Residue> = register_elements<float>;

template <std::int64_t lanes>
struct VectorType<Residue, lanes> {
  using type = ResidueVector<lanes>;
  using loose = ResidueVector<lanes>;
};

/// As for other elements in vectors.h.
template <std::int64_t lanes, std::int64_t step, typename V>
inline void load(V& to, const Residue* from) {
  for (std::int64_t lane = 0; lane < lanes; ++lane) to[lane] = from[lane * step];
}

}  // namespace
