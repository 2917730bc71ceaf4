#pragma once
// Working off the pieces of a level on several threads.

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "generator/applications.h"
#include "generator/evaluation.h"

namespace lemma::generator {

/// Between groups of so many, a run can be cancelled.
inline constexpr std::size_t pieces_at_once = 64;

inline bool is_cancelled(const TermTable::Options& options) {
  return options.cancelled != nullptr && options.cancelled->load();
}
inline tl::unexpected<Error> cancellation() { return bad_input("the generation was cancelled"); }

/// Calls body(i) for begin <= i < end, on several threads.
template <typename Body>
void for_pieces(std::size_t begin, std::size_t end, int threads, const Body& body) {
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(begin, end, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t i = range.begin(); i != range.end(); ++i) body(i);
        },
        tbb::simple_partitioner());
  });
}

/// Runs those applications of a piece that are wanted, lane by lane: evaluate(evaluator) is called
/// with full evaluators, and at the end.
template <typename Wanted, typename Evaluate>
void run_piece(const Piece& piece, LaneEvaluator& evaluator, const Wanted& wanted,
               const Evaluate& evaluate) {
  evaluator.start(*piece.plan);
  piece.for_each([&](const Operands& operands) {
    if (!wanted(operands) || !evaluator.add(operands)) return;
    evaluate(evaluator);
    evaluator.clear();
  });
  if (evaluator.count() > 0) evaluate(evaluator);
}

}  // namespace lemma::generator
