#pragma once
// Factors of sums of products, which may be computed as real numbers, as computations of integers.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/layout/integer_graph.h"

namespace lemma::backend {

/// A number that the products of a sum have in common.
struct Scale {
  Computation factor;                    // whose definition has it
  ExpressionId number;                   // without variables
  BufferNumber numbers = no_buffer;      // in place of it: of weights
  std::optional<std::size_t> axis = {};  // of the factor's tensor, along which these differ
};

/// A factor in integers.
struct Integers {
  Computation computation;  // without a result
  std::optional<Scale> scale = {};
};

/// Makes them, and the buffers of the weights that they read.
class IntegerFactors {
 public:
  /// `before`: the computations of the graph, which stay where they are.
  IntegerFactors(IntegerGraph& integers, const std::vector<Computation>& before);

  /// The same elements computed in integers, from operands that are stored. `scaled_axes`: the elements may be integers times
  /// a number, which may differ along these axes.
  std::optional<Integers> in_integers(Computation computation,
                                      const std::optional<std::vector<std::size_t>>& scaled_axes);

 private:
  bool substitute_one(Computation& computation) const;
  bool is_constant(const Computation& computation, ExpressionId id) const;
  std::optional<Integers> of_scaled_weights(const Computation& computation,
                                            const std::vector<std::size_t>& scaled_axes);
  Computation with_contents(const Computation& computation, std::uint32_t input,
                            const std::vector<std::int32_t>& elements);
  template <typename T>
  BufferNumber added_weights(const std::string& name, DataType type, const lowering::Sizes& sizes,
                             const std::vector<T>& elements);
  std::optional<Computation> without_reals(const Computation& computation);
  std::optional<BufferNumber> whole_weights(BufferNumber number);

  IntegerGraph& integers_;
  const std::vector<Computation>& before_;
  std::vector<std::optional<std::size_t>> producers_;  // by buffer
  std::map<BufferNumber, BufferNumber> whole_;
};

}  // namespace lemma::backend
