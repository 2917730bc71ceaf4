#pragma once
// Processing the pieces of a level.

#include "generator/applications.h"
#include "generator/evaluation.h"

namespace lemma::generator {

inline bool is_cancelled(const TermTable::Options& options) {
  return options.cancelled && options.cancelled();
}
inline tl::unexpected<Error> cancellation() { return bad_input("the generation was cancelled"); }

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
