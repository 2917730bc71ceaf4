#include "system/parallel.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

namespace lemma {

namespace {

/// Threads of the library have less stack than others; the solver recurses over formulas.
void ask_for_stack() {
  static const tbb::global_control stack(tbb::global_control::thread_stack_size,
                                         std::size_t{8} << 20U);
}

}  // namespace

int count_of_threads(int threads) {
  return threads > 0 ? threads : std::max(1, tbb::this_task_arena::max_concurrency());
}

void with_threads(int threads, const std::function<void()>& work) {
  ask_for_stack();
  if (threads <= 0) return work();
  tbb::task_arena(threads).execute(work);
}

void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  if (count == 0) return;
  with_threads(threads, [&] {
    std::atomic<std::size_t> next = 0;
    const auto work_off = [&](std::size_t) {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    };
    const std::size_t takers = std::min(count, static_cast<std::size_t>(count_of_threads(0)));
    if (takers == 1) return work_off(0);
    tbb::this_task_arena::isolate(
        [&] { tbb::parallel_for(std::size_t{0}, takers, work_off, tbb::simple_partitioner()); });
  });
}

Result<void> parallel_try(std::size_t count, int threads,
                          const std::function<Result<void>(std::size_t)>& work) {
  std::atomic<std::size_t> least = count;  // of the numbers that failed
  std::mutex mutex;
  Result<void> result;
  parallel_for(count, threads, [&](std::size_t i) {
    if (i > least) return;
    Result<void> done = work(i);
    if (done) return;
    const std::scoped_lock lock(mutex);
    if (i > least) return;
    least = i;
    result = std::move(done);
  });
  return result;
}

void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t)>& work) {
  if (count <= 0) return;
  if (count == 1 || threads == 1) return work(0, count);
  with_threads(threads, [&] {
    const std::int64_t grain = std::max<std::int64_t>(1, count / 64);
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, count, grain),
                        [&](const auto& range) { work(range.begin(), range.end()); });
    });
  });
}

Result<void> in_order_untyped(
    int threads, std::size_t count, std::size_t ahead,
    const std::function<std::shared_ptr<void>(std::size_t)>& prepare,
    const std::function<Result<void>(std::size_t, const std::shared_ptr<void>&)>& commit) {
  Result<void> result;
  if (threads == 1) {
    for (std::size_t i = 0; i < count && result; ++i) result = commit(i, prepare(i));
    return result;
  }
  using Piece = std::pair<std::size_t, std::shared_ptr<void>>;
  std::size_t next = 0;
  std::atomic<bool> failed = false;
  const auto number = [&](tbb::flow_control& control) -> std::size_t {
    if (next == count || failed) {
      control.stop();
      return 0;
    }
    return next++;
  };
  const auto work = [&](std::size_t i) { return Piece(i, prepare(i)); };
  const auto finish = [&](const Piece& piece) {
    if (failed) return;
    result = commit(piece.first, piece.second);
    if (!result) failed = true;
  };
  with_threads(threads, [&] {
    tbb::this_task_arena::isolate([&] {
      tbb::parallel_pipeline(
          ahead, tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, number) &
                     tbb::make_filter<std::size_t, Piece>(tbb::filter_mode::parallel, work) &
                     tbb::make_filter<Piece, void>(tbb::filter_mode::serial_in_order, finish));
    });
  });
  return result;
}

}  // namespace lemma
