#include "backend/blocks/shared_terms.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "backend/blocks/tile_choice.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

constexpr std::int64_t line_bytes = 128;

/// Where lanes read or store: bytes from one index of an axis to the next, and from one term to the next.
struct Pattern {
  std::vector<std::int64_t> of_axis;
  std::int64_t of_term = 0;
};

std::int64_t lines_of(const Pattern& pattern, const Spread& spread) {
  std::array<std::int64_t, cuda_warp_size> lines;
  std::size_t count = 0;
  const std::int64_t elements = std::min(spread.elements(), cuda_warp_size / spread.lanes);
  for (std::int64_t element = 0; element < elements; ++element) {
    std::int64_t first = 0, rest = element;
    for (std::size_t axis = spread.lengths.size(); axis-- > 0; rest /= spread.lengths[axis])
      first += rest % spread.lengths[axis] * pattern.of_axis[axis];
    for (std::int64_t lane = 0; lane < spread.lanes; ++lane)
      lines[count++] = lowering::floor_divide(first + lane * pattern.of_term, line_bytes);
  }
  std::sort(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count));
  return std::unique(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(count)) -
         lines.begin();
}

Pattern pattern_of(const LoweredOutput& nest, const Term& read) {
  const lowering::Linear address = nest.graph.address(read);
  const auto bytes = static_cast<std::int64_t>(byte_size(nest.graph.inputs()[read.input].type));
  Pattern pattern;
  for (const LoopVariable axis : nest.axes)
    pattern.of_axis.push_back(address.coefficient(axis) * bytes);
  for (TermNumber id = 0; id < nest.graph.size(); ++id) {
    const Term& term = nest.graph.term(id);
    if (!is_long_reduction(nest, term)) continue;
    if (const std::int64_t step = address.coefficient(term.bound.back()); step != 0)
      pattern.of_term = step * bytes;
  }
  return pattern;
}

/// The long reductions of a nest, as far as the number of lanes matters.
class SharedTerms {
 public:
  SharedTerms(const LoweredOutput& nest, const std::vector<bool>& is_in_block) {
    for (TermNumber id = 0; id < nest.graph.size(); ++id) {
      const Term& term = nest.graph.term(id);
      if (!is_long_reduction(nest, term)) continue;
      Reduction reduction;
      reduction.terms = nest.graph.extent(term.bound.back());
      for (std::size_t i = 0; i + 1 < term.bound.size(); ++i)
        reduction.times *= static_cast<double>(nest.graph.extent(term.bound[i]));
      for (TermNumber read = 0; read < id; ++read) {
        const Term& read_term = nest.graph.term(read);
        if (read_term.kind == ExpressionKind::read &&
            (read_term.depends & lowering::set_of(term.bound.back())) != 0) {
          if (is_in_block[read_term.input])
            ++reduction.reads_in_block;
          else
            reduction.reads.push_back(pattern_of(nest, read_term));
        }
      }
      reductions_.push_back(std::move(reduction));
    }
  }

  bool empty() const { return reductions_.empty(); }

  /// Places in the order of instructions, of the threads of a group for all elements.
  double instructions(const Spread& spread, std::int64_t group_threads) const {
    constexpr double of_arithmetic = 2;
    double element_cost = of_result;
    for (const Reduction& reduction : reductions_) {
      double step = of_loop + of_arithmetic + of_shared_load * reduction.reads_in_block;
      for (const Pattern& read : reduction.reads)
        step += of_global_load + of_line * static_cast<double>(lines_of(read, spread) - 1);
      const std::int64_t steps = (reduction.terms + spread.lanes - 1) / spread.lanes;
      element_cost += reduction.times * static_cast<double>(steps) * step +
                      of_exchange * std::countr_zero(static_cast<std::uint64_t>(spread.lanes));
    }
    const std::int64_t groups = group_threads / spread.lanes;
    return element_cost * static_cast<double>((spread.elements() + groups - 1) / groups);
  }

 private:
  struct Reduction {
    std::int64_t terms = 0;
    double times = 1;  // the loops around the last one
    int reads_in_block = 0;
    std::vector<Pattern> reads;  // of other memory
  };
  std::vector<Reduction> reductions_;
};

}  // namespace

std::int64_t Spread::elements() const {
  std::int64_t result = 1;
  for (const std::int64_t length : lengths) result *= length;
  return result;
}

bool is_long_reduction(const LoweredOutput& nest, const Term& term) {
  return is_reduction(term.kind) && nest.graph.extent(term.bound.back()) >= cuda_warp_size;
}

Spread spread_of(const LoweredOutput& nest, const std::vector<bool>& is_in_block,
                 std::vector<std::int64_t> lengths, std::int64_t group_threads) {
  Spread best = {std::move(lengths), 1};
  const SharedTerms terms(nest, is_in_block);
  if (terms.empty() || best.elements() == 0) return best;
  Spread spread = best;
  double least = std::numeric_limits<double>::infinity();
  for (; spread.lanes <= cuda_warp_size; spread.lanes *= 2) {
    const double time = terms.instructions(spread, group_threads);
    if (time < least) best.lanes = spread.lanes;
    least = std::min(least, time);
  }
  return best;
}

std::int64_t lines_of_read(const LoweredOutput& nest, const Term& read, const Spread& spread) {
  return lines_of(pattern_of(nest, read), spread);
}

std::int64_t lines_of_store(const LoweredOutput& nest, const Spread& spread) {
  Pattern pattern;
  auto stride = static_cast<std::int64_t>(byte_size(nest.type));
  for (std::size_t axis = nest.axes.size(); axis-- > 0;) {
    pattern.of_axis.insert(pattern.of_axis.begin(), stride);
    stride *= nest.graph.extent(nest.axes[axis]);
  }
  return lines_of(pattern, spread);
}

}  // namespace lemma::backend
