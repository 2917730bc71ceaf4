#pragma once
// Buffers of small integers in groups along an axis (backend/pairs.h).

#include <map>
#include <string>

#include "backend/layout/integer_graph.h"

namespace lemma::backend {

/// The sizes with the elements of an axis in groups, which are the last axis.
lowering::Sizes in_groups(lowering::Sizes sizes, std::size_t axis, std::int64_t elements);

/// Makes the buffers, each once, and the computations of those that are no weights.
class StoredGroups {
 public:
  explicit StoredGroups(IntegerGraph& integers) : integers_(integers) {}

  /// The buffer that has the elements of a computation in groups along the axis.
  BufferNumber stored_in_groups(const Computation& computation, std::size_t axis,
                                std::int64_t elements);

 private:
  BufferNumber stored(Computation computation, const lowering::Sizes& sizes);
  std::string factor_name(const Computation& computation) const;

  IntegerGraph& integers_;
  std::map<std::string, BufferNumber> stored_;
};

}  // namespace lemma::backend
