#pragma once
// Moving elements between tensors and lanes, with conversion between their formats.

#include <cstddef>
#include <cstdint>

#include "interpreter/domain.h"
#include "interpreter/lane_kernels.h"
#include "ir/data_type.h"

namespace lemma::interpreter {

/// out[i] = element (offset + i * stride); positions count elements.
using StridedLoad = void (*)(const std::byte* elements, std::int64_t offset, std::int64_t stride,
                             void* out, std::size_t count);
/// out[i] = element addresses[i] where ok[i]; 0 elsewhere. `ok` may be null: all are.
using GatherLoad = void (*)(const std::byte* elements, const std::int64_t* addresses,
                            const std::uint8_t* ok, void* out, std::size_t count);
/// element (offset + i) = lanes[i], rounded or wrapped to the type.
using LaneStore = void (*)(const void* lanes, std::byte* elements, std::int64_t offset,
                           std::size_t count);

struct ElementAccess {
  StridedLoad load = nullptr;
  GatherLoad gather = nullptr;
  LaneStore store = nullptr;
  std::size_t element_bytes = 0;
  bool is_lane_format = false;  // elements in memory are lanes as they stand
};

/// The access to tensors of a type in a domain.
ElementAccess element_access(DataType type, Domain domain);
/// The access to memory that holds lanes.
ElementAccess lane_access(LaneKind kind);

}  // namespace lemma::interpreter
