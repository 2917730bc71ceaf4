#include "backend_cuda/emit_cuda/spread_nest.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/blocks/shared_terms.h"
#include "backend/emit/emit_element.h"
#include "backend/emit/source_types.h"

namespace lemma::backend {

namespace {

using lowering::LoopVariable;
using lowering::LoweredOutput;
using source::Statements;

class SpreadWriter {
 public:
  SpreadWriter(const LoweredOutput& nest, const std::vector<LoopBounds>& bounds,
               const std::vector<bool>& is_in_block, std::int64_t group_threads)
      : nest_(nest), bounds_(bounds) {
    std::vector<std::int64_t> lengths;
    for (const LoopBounds& axis : bounds_) {
      lengths.push_back(std::max<std::int64_t>(1, axis.least));
      all_ *= axis.extent;
    }
    lanes_ = spread_of(nest, is_in_block, std::move(lengths), group_threads).lanes;
  }

  Result<Statements> write() {
    LEMMA_ASSIGN_OR_RETURN(const std::string type, stored_type(nest_.type));
    open_loop();
    LEMMA_ASSIGN_OR_RETURN(
        ElementSource element,
        emit_element(nest_, lanes_ > 1 ? LongReductions::across_lanes : LongReductions::in_order));
    // Takes note of divisors of zero: what is divided is undefined, and may be selected away.
    source_.add(source::with_ok(std::move(element.statements)));
    lowering::Linear place;
    for (const LoopVariable axis : nest_.axes)
      place = lowering::combine(lowering::scale(place, nest_.graph.extent(axis)),
                                lowering::Linear::atom(axis));
    source::Assignment store =
        ElementStore{fmt::format("y[{}]", linear_text(nest_.graph, place)), type}.of(element.value);
    if (lanes_ > 1) store.condition = "threads.rank % lanes == 0";
    source_.add(std::move(store));
    source_.close();
    return source_.take();
  }

 private:
  /// Numbers of elements have 32 bits where they can: divisions are much faster.
  std::string number_type() const {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    return all_ < most ? "std::uint32_t" : "std::uint64_t";
  }

  void open_loop() {
    const std::string type = number_type();
    const std::string of_lanes = lanes_ > 1 ? " / lanes" : "";
    if (lanes_ > 1) {
      source::Declaration lanes =
          source::compile_time_constant("unsigned", "lanes", fmt::format("{}", lanes_));
      lanes.comment = "of an element";
      source_.add(std::move(lanes));
    }
    std::vector<LoopBounds> longer;
    for (const LoopBounds& axis : bounds_)
      if (length_text(axis) != "1") longer.push_back(axis);
    source_.add(source::constant(type, "count",
                                 fmt::format("static_cast<{}>({})", type, count_text(longer))));
    source_.open(source::counting_loop("element", "threads.rank" + of_lanes, "count",
                                       "threads.count" + of_lanes, type));
    source_.add(declare_indices(nest_.axes, bounds_, type, "element"));
  }

  const LoweredOutput& nest_;
  const std::vector<LoopBounds>& bounds_;
  std::int64_t all_ = 1;
  std::int64_t lanes_ = 1;  // of an element
  source::Builder source_;
};

}  // namespace

std::string length_text(const LoopBounds& bounds) {
  if (bounds.first == "0") return bounds.end;
  if (bounds.end == bounds.first + " + 1") return "1";
  return fmt::format("({} - {})", bounds.end, bounds.first);
}

std::string count_text(const std::vector<LoopBounds>& bounds) {
  std::string count;
  for (const LoopBounds& axis : bounds) count += (count.empty() ? "" : " * ") + length_text(axis);
  return count.empty() ? "1" : count;
}

std::string index_text(const LoopBounds& bounds, const std::string& index) {
  return bounds.first == "0" ? index : fmt::format("{} + {}", bounds.first, index);
}

/// The last axis is the fastest.
Statements declare_indices(const std::vector<LoopVariable>& axes,
                           const std::vector<LoopBounds>& bounds, const std::string& type,
                           const std::string& number) {
  Statements statements;
  // Rows and columns are numbered in one scope.
  const std::string rest = axes.size() > 1 ? number + "_rest" : number;
  if (axes.size() > 1)
    statements.push_back(source::Declaration{.type = type, .name = rest, .value = number});
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    const std::string length = fmt::format("static_cast<{}>({})", type, length_text(bounds[axis]));
    statements.push_back(
        source::constant("std::int64_t", variable_name(axes[axis]),
                         index_text(bounds[axis], axis > 0 ? rest + " % " + length : rest)));
    if (axis > 0) statements.push_back(source::Assignment{rest, length, "/="});
  }
  return statements;
}

Result<Statements> emit_spread_nest(const LoweredOutput& nest,
                                    const std::vector<LoopBounds>& bounds,
                                    const std::vector<bool>& is_in_block,
                                    std::int64_t group_threads) {
  return SpreadWriter(nest, bounds, is_in_block, group_threads).write();
}

}  // namespace lemma::backend
