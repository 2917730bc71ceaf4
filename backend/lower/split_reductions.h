#pragma once
// Long reductions of few elements in two phases, for devices with many more threads than elements.

#include "backend/lower/computation.h"

namespace lemma::backend {

/// A reduction of so many terms that few elements would keep a small part of the device busy with it becomes two: parts of its
/// terms, as many as give each unit's warps some, and the reduction of their results. Parts are ranges of one of its
/// variables, and put together in the order of their terms, so that all runs have the same bytes. Left as they are:
/// reductions whose results would be rounded otherwise (f16 in the middle of a definition), and all where the device is not
/// one of multiprocessors.
ComputationGraph split_reductions(ComputationGraph graph, const VirtualDevice& device);

/// The most parts, of equal length, that a range has and that are no more than wanted.
std::int64_t equal_parts(std::int64_t extent, std::int64_t wanted);

}  // namespace lemma::backend
