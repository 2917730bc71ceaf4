#pragma once
// A term of operators with fixed shapes as a straight-line program over scalars.
//
// A tape is the definition from the operators' records with all index variables unrolled: guards
// are decided, padding is removed, and a sum of products is one instruction. It evaluates several
// terms at once, one in each lane, so that every instruction is a vector operation whatever the
// indices are.
//
// Arithmetic is that of `Real`. A double holds integers up to 2^53 exactly, so that sums, products,
// maxima and comparisons of small integers are exact and relu and max mean what they say.
// NaN marks elements that are undefined over the reals (logarithms and roots of negative numbers).
// What is divided by zero is undefined as well; or, on request, infinite as in IEEE arithmetic.

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ir/definition.h"
#include "ir/graph.h"

namespace lemma::generator {

using Register = std::uint32_t;

struct TapeInstruction {
  enum class Code : std::uint8_t {
    add,
    subtract,
    multiply,
    divide,
    power,
    minimum,
    maximum,
    equal,
    less,
    less_equal,
    select,
    function,
    sum,  // of a list
    dot,  // sum of products of pairs in a list
    least,
    greatest,
    product,
  };
  Code code = Code::add;
  ScalarFunction function = ScalarFunction::none;
  Register result = 0;
  Register a = 0, b = 0, c = 0;      // operands
  std::uint32_t begin = 0, end = 0;  // of a list
};

struct Tape {
  std::vector<Register> operands;  // the first register of each operand's elements
  std::vector<std::uint32_t> operand_sizes;
  std::vector<std::pair<Register, double>> constants;
  std::vector<TapeInstruction> code;
  std::vector<Register> lists;
  std::uint32_t register_count = 0;
  std::vector<std::vector<Register>> outputs;  // by output of the graph, by element

  enum class Division : std::uint8_t { undefined_by_zero, ieee };
  /// Fills `registers` (register_count groups of `lanes` numbers); those of the operands are there.
  template <typename Real, std::size_t lanes>
  void run(Real* registers, Division division = Division::ieee) const;
};

/// The graph's inputs are the operands, in order; shapes are constant, and types real. An error says
/// what cannot be computed this way.
Result<Tape> make_tape(const Graph& graph);

inline constexpr std::size_t tape_lanes = 16;

/// All outputs for given contents of the inputs, in the precision of long double.
std::vector<std::vector<long double>> run_once(const Tape& tape,
                                               std::span<const std::vector<long double>> inputs,
                                               Tape::Division division = Tape::Division::ieee);

}  // namespace lemma::generator
