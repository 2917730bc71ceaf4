#include "pipeline/prepared_model.h"

#include <utility>

#include "pipeline/taken_branches.h"

namespace lemma {

Result<OnnxModel> prepared_model(OnnxModel read, const std::filesystem::path& file,
                                 const RuleDatabase& rules, const OperatorCosts& costs,
                                 const OptimizeOptions& options, const Deadline& deadline,
                                 BodyExplanations& bodies) {
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  FoldOptions folding = options.search.fold;
  folding.threads = options.threads;
  folding.deadline = deadline.within(0.25 * deadline.remaining()).at();
  read = with_taken_branches(std::move(read), folder, options.reading, folding);
  return with_optimized_bodies(std::move(read), folder, rules, costs, options,
                               deadline.within(0.4 * deadline.remaining()), bodies);
}

}  // namespace lemma
