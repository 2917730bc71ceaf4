#pragma once
// For libraries of operators, which programs load with --operators (docs/outside_operators.md). One source of the library has
//
//   LEMMA_OPERATOR_LIBRARY(records)
//
// with a constant that a span of records can be made of. The library is not linked with Lemma: the program that loads it
// has the functions. Beside it may stand
//
//   LEMMA_KERNEL_OVERRIDES(kernels)
//
// with kernels of one's own (ir/kernel_override.h); the records may be none then. Libraries have no stable binary interface, so that a library is for one version of Lemma and one compiler's
// interface, which its file says before anything of it runs.

#ifndef LEMMA_VERSION
#include <lemma/version.h>
#endif

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "ir/graph.h"
#include "ir/kernel_override.h"
#include "ir/operator.h"

namespace lemma {

namespace operator_library {

/// A number that changes with the layout of what libraries and programs exchange.
constexpr std::uint64_t layout() {
  std::uint64_t key = 14'695'981'039'346'656'037U;  // FNV-1a
  for (const std::uint64_t part : {sizeof(OperatorRecord),
                                   sizeof(AttributeSpecification),
                                   sizeof(OperatorExample),
                                   sizeof(KernelOverride),
                                   sizeof(Instance),
                                   sizeof(OnnxMapping),
                                   sizeof(OnnxCall),
                                   sizeof(ImportedCall),
                                   sizeof(ExportedCall),
                                   sizeof(Definition),
                                   sizeof(DefinitionBuilder),
                                   sizeof(Expression),
                                   sizeof(ExpressionNode),
                                   sizeof(Graph),
                                   sizeof(Node),
                                   sizeof(Dimension),
                                   sizeof(TensorType),
                                   sizeof(Constant),
                                   sizeof(Attributes),
                                   sizeof(AttributeValue),
                                   std::size_t{data_type_count},
                                   std::size_t{__GXX_ABI_VERSION}})
    key = (key ^ part) * 1'099'511'628'211U;
  return key;
}

///@{
/// The parts of full_mark(), by which a library is known before it is loaded.
constexpr std::string_view mark = "Lemma operator library for ";
constexpr std::string_view version = LEMMA_VERSION;
constexpr std::string_view between = " layout ";
///@}

/// The mark, the version and the layout in 16 digits, and a zero byte.
constexpr auto full_mark() {
  std::array<char, mark.size() + version.size() + between.size() + 17> result{};
  std::size_t at = 0;
  for (const std::string_view part : {mark, version, between})
    for (const char letter : part) result[at++] = letter;
  for (int digit = 15; digit >= 0; --digit)
    result[at++] = "0123456789abcdef"[(layout() >> (4 * digit)) & 15U];
  return result;
}

}  // namespace operator_library

/// The function by which a program asks a library for its records.
using OperatorLibraryEntry = void (*)(std::span<const OperatorRecord>* records);

}  // namespace lemma

/// Defines what a program looks for in a library: the mark, and the function that gives its records. Once in a library.
#define LEMMA_OPERATOR_LIBRARY(records)                                                        \
  extern "C" {                                                                                 \
  [[gnu::visibility("default")]] extern const decltype(::lemma::operator_library::full_mark()) \
      lemma_operator_library_mark;                                                             \
  const decltype(::lemma::operator_library::full_mark()) lemma_operator_library_mark =         \
      ::lemma::operator_library::full_mark();                                                  \
  [[gnu::visibility("default"), gnu::used]] void lemma_operators_v1(                           \
      std::span<const ::lemma::OperatorRecord>* result) {                                      \
    *result = (records);                                                                       \
  }                                                                                            \
  }

/// The same for a library's kernels (ir/kernel_override.h), which a program asks for as well. At most once in a library.
#define LEMMA_KERNEL_OVERRIDES(kernels)                            \
  extern "C" {                                                     \
  [[gnu::visibility("default"), gnu::used]] void lemma_kernels_v1( \
      std::span<const ::lemma::KernelOverride>* result) {          \
    *result = (kernels);                                           \
  }                                                                \
  }
