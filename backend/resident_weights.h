#pragma once
// Weights that units of a GPU keep in the memory that their threads share. Each unit copies them there when a run begins,
// and its tasks read them there. That pays where several tasks of a unit read the same weights, as in recurrent networks,
// whose time steps all read those of the recurrence.
//
// Which weights a unit keeps follows from what its tasks read (schedule/choose_residents.h). That a task finds there what
// it reads is shown by prove/check_residents.h.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace lemma::backend {

struct Region;

/// How the elements that a task reads of an argument lie in the memory of its unit: the element at index i of the tensor
/// is as many elements behind that at index 0 as the sum of i_k * strides_k says. Rows have an odd number of elements, so
/// that lanes that read down a column read from different banks.
struct ResidentLayout {
  std::uint32_t argument = 0;
  std::vector<std::int64_t> sizes;    // of the tensor, as the loop nests read it
  std::vector<std::int64_t> extents;  // the most that a task reads along each axis
  std::vector<std::int64_t> strides;
};

/// Rows of a buffer of weights and where they lie in the memory of a unit. All numbers are in bytes, and multiples of
/// resident_word.
struct ResidentPart {
  std::uint32_t buffer = 0;
  std::uint64_t from = 0;   // of the first row, in the buffer
  std::uint64_t place = 0;  // of the first row, behind ResidentWeights::offset
  std::uint64_t rows = 1, row_bytes = 0;
  std::uint64_t from_stride = 0, to_stride = 0;  // from row to row

  std::uint64_t copied_bytes() const { return rows * row_bytes; }
  std::uint64_t bytes() const { return (rows - 1) * to_stride + row_bytes; }
  friend auto operator<=>(const ResidentPart&, const ResidentPart&) = default;
};
inline constexpr std::uint64_t resident_word = 4;
/// The alignment of the places of parts.
inline constexpr std::uint64_t resident_alignment = 16;

/// A task reads an argument from a part of its unit.
struct ResidentRead {
  std::uint32_t argument = 0;
  std::uint32_t part = 0;
  /// Where the first element of the whole tensor would lie, in bytes behind ResidentWeights::offset. It may be negative.
  std::int64_t origin = 0;
};

struct ResidentWeights {
  std::vector<std::vector<ResidentPart>> parts;  // by unit; empty where no unit keeps any
  /// The reads by operator and task: none, or one for each of the kernel's residents.
  std::vector<std::vector<std::vector<ResidentRead>>> reads;
  std::uint64_t offset =
      0;  // of all parts in the memory of a unit, behind what tasks take for themselves
  std::uint64_t bytes = 0;  // that the parts of a unit take at most

  bool is_empty() const { return parts.empty(); }
};

/// The part that a task needs whose reads of an argument are the region, at place 0, and the origin of its read. Nothing
/// where the region is no box of the tensor that the layout has room for, where its rows are no whole words, or where
/// they do not lie at equal distances.
std::optional<std::pair<ResidentPart, std::int64_t>> resident_part(const ResidentLayout& layout,
                                                                   const Region& region,
                                                                   std::uint64_t element_bytes);

}  // namespace lemma::backend
