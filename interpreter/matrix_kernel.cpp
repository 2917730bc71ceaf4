#include "interpreter/matrix_kernel.h"

#include "interpreter/lane_operations.h"

namespace lemma::interpreter {

namespace {

#define TILE_NAME tile_f32_any
#define TILE_SCALAR float
#define TILE_BYTES 16
#define TILE_ROWS 4
#define TILE_VECTORS 2
#include "interpreter/matrix_tile.inc"

#define TILE_NAME tile_f64_any
#define TILE_SCALAR double
#define TILE_BYTES 16
#define TILE_ROWS 4
#define TILE_VECTORS 2
#include "interpreter/matrix_tile.inc"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define LEMMA_X86_TILES
#pragma GCC push_options
#pragma GCC target("avx2")
#define TILE_NAME tile_f32_avx2
#define TILE_SCALAR float
#define TILE_BYTES 32
#define TILE_ROWS 6
#define TILE_VECTORS 2
#include "interpreter/matrix_tile.inc"

#define TILE_NAME tile_f64_avx2
#define TILE_SCALAR double
#define TILE_BYTES 32
#define TILE_ROWS 6
#define TILE_VECTORS 2
#include "interpreter/matrix_tile.inc"
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f")
#define TILE_NAME tile_f32_avx512
#define TILE_SCALAR float
#define TILE_BYTES 64
#define TILE_ROWS 12
#define TILE_VECTORS 2
#include "interpreter/matrix_tile.inc"

#define TILE_NAME tile_f64_avx512
#define TILE_SCALAR double
#define TILE_BYTES 64
#define TILE_ROWS 12
#define TILE_VECTORS 2
#include "interpreter/matrix_tile.inc"
#pragma GCC pop_options
#endif

constexpr std::int64_t scalar_rows = 4, scalar_columns = 8;

/// `step` adds a product to a total and says whether it could.
template <typename T, auto step>
bool scalar_tile(std::int64_t depth, const void* a_panel, const void* b_panel, void* c_tile,
                 std::int64_t stride) {
  const T* a = static_cast<const T*>(a_panel);
  const T* b = static_cast<const T*>(b_panel);
  T* c = static_cast<T*>(c_tile);
  bool ok = true;
  for (std::int64_t k = 0; k < depth; ++k, a += scalar_rows, b += scalar_columns)
    for (std::int64_t r = 0; r < scalar_rows; ++r)
      for (std::int64_t j = 0; j < scalar_columns; ++j)
        ok = step(c[r * stride + j], a[r], b[j]) && ok;
  return ok;
}

bool step_integer(std::int64_t& total, std::int64_t a, std::int64_t b) {
  total = Add::apply(total, Multiply::apply(a, b));
  return true;
}
bool step_exact(Exact& total, Exact a, Exact b) {
  std::uint8_t ok = 1;
  total = CheckedAdd::apply(total, CheckedMultiply::apply(a, b, ok), ok);
  return ok != 0;
}
bool step_field(Residue& total, Residue a, Residue b) {
  total = Add::apply(total, Multiply::apply(a, b));
  return true;
}

struct Variant {
  MatrixKernel f32, f64;
};

/// Slower ones first.
int usable_variants(Variant (&variants)[3]) {
  int count = 0;
  variants[count++] = {{4, 8, tile_f32_any}, {4, 4, tile_f64_any}};
#ifdef LEMMA_X86_TILES
  if (__builtin_cpu_supports("avx2"))
    variants[count++] = {{6, 16, tile_f32_avx2}, {6, 8, tile_f64_avx2}};
  if (__builtin_cpu_supports("avx512f"))
    variants[count++] = {{12, 32, tile_f32_avx512}, {12, 16, tile_f64_avx512}};
#endif
  return count;
}

}  // namespace

int matrix_kernel_variants(LaneKind lanes) {
  if (lanes == LaneKind::boolean) return 0;
  if (lanes != LaneKind::f32 && lanes != LaneKind::f64) return 1;
  Variant variants[3];
  return usable_variants(variants);
}

MatrixKernel matrix_kernel_variant(LaneKind lanes, int variant) {
  switch (lanes) {
    case LaneKind::boolean: return {};
    case LaneKind::integer:
      return {scalar_rows, scalar_columns, scalar_tile<std::int64_t, step_integer>};
    case LaneKind::exact: return {scalar_rows, scalar_columns, scalar_tile<Exact, step_exact>};
    case LaneKind::field: return {scalar_rows, scalar_columns, scalar_tile<Residue, step_field>};
    default: break;
  }
  Variant variants[3];
  usable_variants(variants);
  return lanes == LaneKind::f32 ? variants[variant].f32 : variants[variant].f64;
}

MatrixKernel matrix_kernel(LaneKind lanes) {
  return matrix_kernel_variant(lanes, matrix_kernel_variants(lanes) - 1);
}

}  // namespace lemma::interpreter
