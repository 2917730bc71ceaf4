#include "interpreter/parallel.h"

#include <algorithm>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace lemma::interpreter {

void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 1 || threads == 1) {
    if (count > 0) body(0, count);
    return;
  }
  auto divide = [&] {
    const std::int64_t grain = std::max<std::int64_t>(1, count / 64);
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, grain),
                      [&](const auto& range) { body(range.begin(), range.end()); });
  };
  if (threads <= 0) return divide();
  tbb::task_arena arena(threads);
  arena.execute(divide);
}

bool is_interrupted(const EvaluationOptions& options) {
  if (options.cancelled != nullptr && options.cancelled->load(std::memory_order_relaxed))
    return true;
  return options.deadline && std::chrono::steady_clock::now() > *options.deadline;
}

tl::unexpected<Error> interruption() {
  return unsupported("evaluation was interrupted before its end");
}

}  // namespace lemma::interpreter
