#include "backend/blocks/shared_terms.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <set>
#include <utility>

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
  std::array<std::int64_t, most_warp_lanes> lines;
  std::size_t count = 0;
  const std::int64_t elements = std::min(spread.elements(), spread.warp_lanes / spread.lanes);
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

/// Whether all that an address depends on but `variable`, of which neighbours lie side by side, are multiples of `together`.
bool is_multiple_beside(const lowering::Linear& address, LoopVariable variable,
                        std::int64_t together) {
  if (address.constant % together != 0) return false;
  return std::all_of(address.terms.begin(), address.terms.end(), [&](const auto& atom) {
    if (atom.first == variable) return atom.second == 1;
    return atom.first < lowering::first_term_atom && atom.second % together == 0;
  });
}

/// The reads of a reduction's terms, each of which has another place for the next term.
std::vector<TermNumber> reads_of_terms(const LoweredOutput& nest, TermNumber reduction) {
  const LoopVariable variable = nest.graph.term(reduction).bound.back();
  std::vector<TermNumber> reads;
  for (TermNumber id = 0; id < reduction; ++id)
    if (const Term& term = nest.graph.term(id);
        term.kind == ExpressionKind::read && (term.depends & lowering::set_of(variable)) != 0)
      reads.push_back(id);
  return reads;
}

/// Terms that a reduction has at each step of its loops, at most.
std::int64_t size_of_step(const LoweredOutput& nest, TermNumber reduction) {
  std::int64_t size = 1;
  for (TermNumber id = 0; id < reduction; ++id)
    if ((nest.graph.term(id).depends & lowering::set_of(nest.graph.term(reduction).bound.back())) !=
        0)
      ++size;
  return size;
}

constexpr std::int64_t bytes_of_access = 16;

/// Whether lanes can read so many neighbours together. The reads of no other input may lie side by side: neighbouring lanes would
/// have them far from each other.
bool can_read_together(const LoweredOutput& nest, TermNumber reduction,
                       const std::vector<bool>& is_in_block, std::int64_t together) {
  const LoopVariable variable = nest.graph.term(reduction).bound.back();
  if (nest.graph.extent(variable) % together != 0) return false;
  std::set<std::uint32_t> inputs;
  for (const TermNumber id : reads_of_terms(nest, reduction)) {
    const Term& read = nest.graph.term(id);
    const lowering::Linear address = nest.graph.address(read);
    if (!inputs.insert(read.input).second) return false;
    const std::int64_t step = address.coefficient(variable);
    if (step != 1 && step != -1) continue;
    if (is_in_block[read.input] || step == -1 ||
        together * static_cast<std::int64_t>(byte_size(read.type)) > bytes_of_access ||
        !is_multiple_beside(address, variable, together))
      return false;
    for (std::size_t axis = 0; axis < read.indices.size(); ++axis)
      if (!nest.graph.is_inside(read, axis)) return false;
  }
  return true;
}

LaneTerms terms_of_lane(const LoweredOutput& nest, TermNumber reduction,
                        const std::vector<bool>& is_in_block, std::int64_t lanes) {
  constexpr std::int64_t most_groups = 4, most_bytes = 128, most_terms = 512;
  const LoopVariable variable = nest.graph.term(reduction).bound.back();
  const std::int64_t extent = nest.graph.extent(variable), size = size_of_step(nest, reduction);
  LaneTerms terms;
  for (std::int64_t wider = bytes_of_access; wider > 1 && terms.together == 1; wider /= 2)
    if (wider * lanes <= extent && wider * size <= most_terms &&
        can_read_together(nest, reduction, is_in_block, wider))
      terms.together = wider;
  if (terms.together == 1) return terms;
  std::int64_t bytes = 0;
  for (const TermNumber id : reads_of_terms(nest, reduction)) {
    const Term& read = nest.graph.term(id);
    if (nest.graph.address(read).coefficient(variable) != 1) continue;
    terms.inputs.insert(read.input);
    bytes += terms.together * static_cast<std::int64_t>(byte_size(read.type));
  }
  if (terms.inputs.empty()) return {};
  terms.groups = most_groups;
  while (terms.groups > 1 &&
         (extent % (lanes * terms.in_flight()) != 0 || bytes * terms.groups > most_bytes ||
          size * terms.in_flight() > most_terms))
    --terms.groups;
  return terms;
}

/// The long reductions of a nest, as far as the number of lanes matters.
class SharedTerms {
 public:
  SharedTerms(const LoweredOutput& nest, const std::vector<bool>& is_in_block)
      : nest_(nest), is_in_block_(is_in_block) {
    for (TermNumber id = 0; id < nest.graph.size(); ++id) {
      const Term& term = nest.graph.term(id);
      if (!is_long_reduction(nest, term)) continue;
      Reduction reduction;
      reduction.number = id;
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
            reduction.reads.push_back({pattern_of(nest, read_term), read_term.input});
        }
      }
      reductions_.push_back(std::move(reduction));
    }
  }

  bool empty() const { return reductions_.empty(); }

  /// The terms of the shortest one: more lanes would have none of them.
  std::int64_t least() const {
    std::int64_t result = std::numeric_limits<std::int64_t>::max();
    for (const Reduction& reduction : reductions_) result = std::min(result, reduction.terms);
    return result;
  }

  /// Places in the order of instructions, of the threads of a group for all elements.
  double instructions(const Spread& spread, std::int64_t group_threads) const {
    constexpr double of_arithmetic = 2;
    double element_cost = of_result;
    const TermsOfLanes all_terms = terms_of_lanes(nest_, is_in_block_, spread.lanes);
    for (const Reduction& reduction : reductions_) {
      const auto known = all_terms.find(reduction.number);
      const LaneTerms terms = known == all_terms.end() ? LaneTerms{} : known->second;
      double step = of_loop / static_cast<double>(terms.in_flight()) + of_arithmetic +
                    (spread.lanes > 1 ? of_shared_term : of_shared_load) * reduction.reads_in_block;
      for (const auto& [pattern, input] : reduction.reads) {
        Pattern of_lanes = pattern;
        of_lanes.of_term *= terms.together;
        const double access =
            of_global_load + of_line * static_cast<double>(lines_of(of_lanes, spread) - 1);
        step +=
            terms.inputs.contains(input) ? access / static_cast<double>(terms.together) : access;
      }
      const std::int64_t steps = (reduction.terms + spread.lanes - 1) / spread.lanes;
      element_cost += reduction.times * static_cast<double>(steps) * step +
                      of_exchange * std::countr_zero(static_cast<std::uint64_t>(spread.lanes));
    }
    const std::int64_t groups = group_threads / spread.lanes;
    return element_cost * static_cast<double>((spread.elements() + groups - 1) / groups);
  }

 private:
  struct Reduction {
    TermNumber number = 0;
    std::int64_t terms = 0;
    double times = 1;  // the loops around the last one
    int reads_in_block = 0;
    std::vector<std::pair<Pattern, std::uint32_t>> reads;  // of other memory, with their inputs
  };
  const LoweredOutput& nest_;
  const std::vector<bool>& is_in_block_;
  std::vector<Reduction> reductions_;
};

}  // namespace

std::int64_t Spread::elements() const {
  std::int64_t result = 1;
  for (const std::int64_t length : lengths) result *= length;
  return result;
}

bool is_long_reduction(const LoweredOutput& nest, const Term& term) {
  return is_reduction(term.kind) && nest.graph.extent(term.bound.back()) >= least_shared_terms;
}

Spread spread_of(const LoweredOutput& nest, const std::vector<bool>& is_in_block,
                 std::vector<std::int64_t> lengths, std::int64_t group_threads,
                 std::int64_t warp_lanes) {
  Spread best = {std::move(lengths), 1, warp_lanes};
  const SharedTerms terms(nest, is_in_block);
  if (terms.empty() || best.elements() == 0) return best;
  Spread spread = best;
  double least = std::numeric_limits<double>::infinity();
  for (; spread.lanes <= std::min(warp_lanes, terms.least()); spread.lanes *= 2) {
    const double time = terms.instructions(spread, group_threads);
    if (time < least) best.lanes = spread.lanes;
    least = std::min(least, time);
  }
  return best;
}

ElementBatch batch_of(const LoweredOutput& nest, std::int64_t multiple, std::int64_t elements,
                      std::int64_t group_threads) {
  // Counted in terms of an element: more makes code too large, and takes registers.
  constexpr std::int64_t most_terms = 512, bytes_in_flight = 64;
  std::int64_t bytes = static_cast<std::int64_t>(byte_size(nest.type)), terms = 0, reads = 0;
  for (TermNumber id = 0; id < nest.graph.size(); ++id) {
    const Term& term = nest.graph.term(id);
    if (!term.bound.empty()) return {};
    ++terms;
    if (term.kind != ExpressionKind::read) continue;
    const std::int64_t step = nest.graph.address(term).coefficient(nest.axes.back());
    if (step != 0) ++reads;
    if (step == 1) bytes = std::max(bytes, static_cast<std::int64_t>(byte_size(term.type)));
  }
  ElementBatch batch;
  const auto has_room = [&](const ElementBatch& larger) {
    return larger.elements() * group_threads <= elements && larger.elements() * terms <= most_terms;
  };
  while (2 * batch.together * bytes <= bytes_of_access && multiple % (2 * batch.together) == 0 &&
         has_room({2 * batch.together, 1}))
    batch.together *= 2;
  while (2 * batch.groups * std::max<std::int64_t>(1, reads) * bytes_of_access <= bytes_in_flight &&
         has_room({batch.together, 2 * batch.groups}))
    batch.groups *= 2;
  return batch;
}

TermsOfLanes terms_of_lanes(const LoweredOutput& nest, const std::vector<bool>& is_in_block,
                            std::int64_t lanes) {
  TermsOfLanes result;
  if (lanes == 1) return result;
  for (TermNumber id = 0; id < nest.graph.size(); ++id) {
    if (!is_long_reduction(nest, nest.graph.term(id))) continue;
    LaneTerms terms = terms_of_lane(nest, id, is_in_block, lanes);
    if (terms.together > 1) result.emplace(id, std::move(terms));
  }
  return result;
}

std::int64_t lines_of_read(const LoweredOutput& nest, const Term& read, const Spread& spread,
                           std::int64_t together) {
  Pattern pattern = pattern_of(nest, read);
  pattern.of_term *= together;
  return lines_of(pattern, spread);
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
