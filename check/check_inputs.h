#pragma once
// Inputs on which an optimized graph is compared with its original: random ones, and ones that are
// chosen to show what random ones do not (zeros, the numbers that the model itself compares with,
// negative, large, tiny and equal elements, integers that overflow, sizes of 0, 1 and above).

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interpreter/run.h"
#include "ir/graph.h"

namespace lemma {

/// What the real elements are. All but `special` are finite.
enum class InputContents : std::uint8_t {
  random,    // uniform in [-1, 1)
  small,     // small numbers of few bits, many of them 0 or -0
  limits,    // the numbers of the model and their neighbors
  zeros,     // 0 and -0
  positive,  // small and not 0
  negative,  // small and not 0
  uniform,   // small; all elements of an input are the same
  large,     // in the hundreds and thousands
  huge,      // near the end of the type's range, or 0
  tiny,      // near the smallest numbers, denormal ones too, or 0
  special,   // infinities, NaN and all of the above
};
std::string_view name(InputContents contents);

/// What the integers are: 0 or 1, so that they are valid indices; small and of either sign; or
/// at the ends of their type's range.
enum class IntegerContents : std::uint8_t { indices, small, wide };

/// Sizes for the symbols of a graph.
struct SymbolSizes {
  std::int64_t size = 2;                                   // of every symbol
  std::map<std::string, std::int64_t, std::less<>> sizes;  // of symbols that have another
};

/// What to try, in order, until the graph can be computed. Sizes that a model relates to each other are
/// often equal, so one value for all comes first; then 1 where an input's first axis is meant, as a batch
/// often is, and larger ones, with many divisors among them, for the others; then larger ones for all.
std::vector<SymbolSizes> sizes_to_try(const Graph& graph);

/// What the symbols of a graph are where its inputs have these shapes. An error: an input is missing, or a
/// shape is not its own for any symbols.
Result<std::map<std::string, std::int64_t, std::less<>>> symbol_sizes(
    const Graph& graph, const std::map<std::string, Shape, std::less<>>& shapes);

struct InputPlan {
  InputContents contents = InputContents::random;
  IntegerContents integers = IntegerContents::indices;
  std::int64_t size = 2;                                   // of every symbol
  std::map<std::string, std::int64_t, std::less<>> sizes;  // of symbols that have another
  std::string zero_input;                                  // all its elements are 0
  std::optional<std::int64_t> scalar;  // in inputs of integers that have one element
  std::uint64_t seed = 0;
};
std::string describe(const InputPlan& plan);

/// What to try, in order, where a runtime cannot compute the graph on other inputs: batches of one; the usual sizes of
/// images, sequences and sound, then those of sizes_to_try(); each with integers that the graph holds in inputs that have
/// one element, as it may compare them. `given` are sizes of symbols that are known.
std::vector<InputPlan> plans_to_run(const Graph& graph,
                                    const std::map<std::string, std::int64_t, std::less<>>& given,
                                    std::uint64_t seed);

/// Numbers that the graph itself holds and their neighbors: small constants and real attributes.
std::vector<double> limits_of(const Graph& graph);

/// The sizes of an input of this type. An error: it has no known type, an invalid size, or more than `element_limit`
/// elements.
Result<interpreter::Sizes> input_sizes(const std::string& name, const TensorType& type,
                                       const InputPlan& plan, std::int64_t element_limit);
/// The elements of an input of numbers.
interpreter::Tensor make_input(const std::string& name, DataType type,
                               const interpreter::Sizes& sizes, const InputPlan& plan,
                               std::span<const double> limits);

/// An error: an input has no known type, an invalid size, or more than `element_limit` elements.
Result<std::vector<interpreter::NamedTensor>> make_inputs(const Graph& graph, const InputPlan& plan,
                                                          std::span<const double> limits,
                                                          std::int64_t element_limit);

/// Beginning with those that show most. `size` is one for which the graph can be computed; `numbers`
/// are its limits_of().
std::vector<InputPlan> adversarial_plans(const Graph& graph, std::int64_t size,
                                         std::span<const double> numbers, bool with_special,
                                         std::uint64_t seed);

}  // namespace lemma
