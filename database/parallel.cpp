#include "database/parallel.h"

#include <atomic>
#include <optional>
#include <vector>

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace lemma::database {

struct Pool::Arena {
  explicit Arena(int threads) : arena(threads > 0 ? threads : tbb::task_arena::automatic) {}
  tbb::task_arena arena;
};

Pool::Pool(int threads) : arena_(std::make_unique<Arena>(threads)) {}
Pool::~Pool() = default;

Result<void> Pool::for_each(std::size_t count,
                            const std::function<Result<void>(std::size_t)>& work) {
  std::vector<std::optional<Error>> errors(count);
  std::atomic<bool> failed = false;
  arena_->arena.execute([&] {
    tbb::parallel_for(
        tbb::blocked_range<std::size_t>(0, count, 1),
        [&](const tbb::blocked_range<std::size_t>& range) {
          for (std::size_t i = range.begin(); i < range.end() && !failed; ++i) {
            if (auto done = work(i); done)
              continue;
            else
              errors[i] = std::move(done.error());
            failed = true;
          }
        },
        tbb::simple_partitioner());
  });
  for (std::optional<Error>& error : errors)
    if (error) return tl::unexpected<Error>(std::move(*error));
  return {};
}

}  // namespace lemma::database
