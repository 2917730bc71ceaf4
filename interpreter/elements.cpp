#include "interpreter/elements.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "interpreter/interruption.h"
#include "interpreter/program.h"
#include "interpreter/strip_evaluator.h"
#include "system/parallel.h"

namespace lemma::interpreter {

namespace {

constexpr std::size_t strip_lanes = partial_results;
constexpr std::int64_t wanted_row = 256;  // lane axes are added until a row has so many elements

/// How the points of the axes are divided into strips.
struct Strips {
  std::vector<LoopVariable> outer;
  std::vector<std::int64_t> outer_sizes;
  std::int64_t row = 1;  // elements along the lane axes
  std::int64_t rows = 1;
  std::int64_t length = 1;  // of a strip; the last one of a row may be shorter
  std::int64_t per_row = 1;
};

class ElementEvaluation {
 public:
  ElementEvaluation(const TermGraph& graph, std::span<const std::byte* const> inputs,
                    const Destination& destination, const EvaluationOptions& options)
      : graph_(graph), inputs_(inputs), destination_(destination), options_(options) {}

  Result<void> evaluate(TermNumber root) {
    const LaneLayout layout = choose_layout();
    if (strips_.rows * strips_.row == 0) return {};
    LEMMA_ASSIGN_OR_RETURN(program_, compile(graph_, root, layout));
    const std::int64_t count = strips_.rows * strips_.per_row;
    // A little work is done before other threads have woken up.
    const bool small = static_cast<double>(count) * program_.work < 1000;
    parallel_ranges(count, small ? 1 : options_.threads,
                    [&](std::int64_t begin, std::int64_t end) { evaluate_strips(begin, end); });
    if (first_failure_ < count) return bad_input(failure_);
    if (interrupted_.load()) return interruption();
    return {};
  }

 private:
  LaneLayout choose_layout() {
    LaneLayout layout;
    layout.count = strip_lanes;
    std::int64_t elements = 1;
    for (const LoopVariable v : destination_.axes) elements *= graph_.extent(v);
    layout.reduce_along_lanes = !options_.in_order && reduces_along_lanes(graph_, elements);
    std::size_t first_lane_axis = destination_.axes.size();
    while (!layout.reduce_along_lanes && first_lane_axis > 0 && strips_.row < wanted_row)
      strips_.row *= graph_.extent(destination_.axes[--first_lane_axis]);
    for (std::size_t axis = 0; axis < destination_.axes.size(); ++axis) {
      const LoopVariable v = destination_.axes[axis];
      if (axis >= first_lane_axis) {
        layout.axes.push_back(v);
        continue;
      }
      strips_.outer.push_back(v);
      strips_.outer_sizes.push_back(graph_.extent(v));
      strips_.rows *= graph_.extent(v);
    }
    // Strips of equal length, as near as can be.
    const auto lanes = static_cast<std::int64_t>(strip_lanes);
    strips_.per_row = std::max<std::int64_t>(1, (strips_.row + lanes - 1) / lanes);
    strips_.length = (strips_.row + strips_.per_row - 1) / strips_.per_row;
    return layout;
  }

  void evaluate_strips(std::int64_t begin, std::int64_t end) {
    StripEvaluator evaluator(program_, inputs_);
    std::vector<std::byte> filled(strip_lanes * 8);
    for (std::int64_t strip = begin; strip < end; ++strip) {
      if (is_interrupted(options_)) interrupted_.store(true);
      if (interrupted_.load(std::memory_order_relaxed)) return;
      if (strip > first_failure_.load(std::memory_order_relaxed)) return;
      const std::int64_t row = strip / strips_.per_row;
      const std::int64_t start = strip % strips_.per_row * strips_.length;
      const auto count = static_cast<std::size_t>(std::min(strips_.length, strips_.row - start));
      if (start >= strips_.row) continue;
      set_outer(evaluator, row);
      evaluator.set_strip(start, count);
      evaluator.run();
      if (const auto lane = evaluator.first_undefined()) {
        report(strip, row * strips_.row + start + static_cast<std::int64_t>(*lane),
               evaluator.explain(*lane));
        return;
      }
      const void* lanes = evaluator.result();
      if (evaluator.is_uniform() && count > 1) {
        fill_lanes(lane_size(program_.registers[program_.result].lanes), lanes, filled.data(),
                   count);
        lanes = filled.data();
      }
      destination_.access.store(lanes, destination_.elements, row * strips_.row + start, count);
    }
  }

  void set_outer(StripEvaluator& evaluator, std::int64_t row) const {
    for (std::size_t axis = strips_.outer.size(); axis-- > 0;) {
      evaluator.set_variable(strips_.outer[axis], row % strips_.outer_sizes[axis]);
      row /= strips_.outer_sizes[axis];
    }
  }

  /// The failure of the first strip is reported, whichever thread finds one first.
  void report(std::int64_t strip, std::int64_t position, const std::string& cause) {
    const std::lock_guard lock(failure_mutex_);
    if (strip >= first_failure_.load()) return;
    first_failure_.store(strip);
    std::vector<std::int64_t> index;
    for (std::size_t axis = destination_.axes.size(); axis-- > 0;) {
      const std::int64_t size = graph_.extent(destination_.axes[axis]);
      index.insert(index.begin(), position % size);
      position /= size;
    }
    failure_ = fmt::format("{} (for the element at [{}] of the axes longer than 1)", cause,
                           fmt::join(index, ", "));
  }

  const TermGraph& graph_;
  std::span<const std::byte* const> inputs_;
  const Destination& destination_;
  const EvaluationOptions& options_;
  Strips strips_;
  Program program_;
  std::mutex failure_mutex_;
  std::atomic<std::int64_t> first_failure_ = INT64_MAX;
  std::string failure_;
  std::atomic<bool> interrupted_ = false;
};

}  // namespace

Result<void> evaluate_elements(const TermGraph& graph, TermNumber root,
                               std::span<const std::byte* const> inputs,
                               const Destination& destination, const EvaluationOptions& options) {
  return ElementEvaluation(graph, inputs, destination, options).evaluate(root);
}

}  // namespace lemma::interpreter
