#pragma once
// Parallel loops whose results do not depend on the number of threads: each piece of work has a
// number and its own place for its result, and of several errors the one with the least number is
// returned.
//
// With `threads` 0, a loop uses the threads of the enclosing loop or of with_threads(), or one
// thread for each processor. A thread that waits for the end of a loop works only on that loop, so
// a piece of work is never started within another one.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"

namespace lemma {

/// The number of threads that `threads` stands for here.
int count_of_threads(int threads);

/// Calls `work`; loops in it that leave the number of threads open use at most so many.
void with_threads(int threads, const std::function<void()>& work);

/// Calls work(i) for 0 <= i < count. Numbers are handed out one by one, the least first.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& work);

/// The same, for work that may fail: the error of the least number is returned, and what follows a
/// number that failed is not begun after that.
Result<void> parallel_try(std::size_t count, int threads,
                          const std::function<Result<void>(std::size_t)>& work);

/// Calls work(begin, end) on ranges that make up 0 .. count: for pieces too small to be handed out.
void parallel_ranges(std::int64_t count, int threads,
                     const std::function<void(std::int64_t, std::int64_t)>& work);

/// in_order() without the type of what is prepared.
Result<void> in_order_untyped(
    int threads, std::size_t count, std::size_t ahead,
    const std::function<std::shared_ptr<void>(std::size_t)>& prepare,
    const std::function<Result<void>(std::size_t, const std::shared_ptr<void>&)>& commit);

/// Calls commit(i, prepare(i)) for all i < count, in order, until one returns an error. prepare(i) is
/// called on several threads, at most `ahead` numbers before what is committed; with one thread, just
/// before commit(i).
template <typename Prepare, typename Commit>
Result<void> in_order(int threads, std::size_t count, std::size_t ahead, const Prepare& prepare,
                      const Commit& commit) {
  using Prepared = decltype(prepare(std::size_t{0}));
  return in_order_untyped(
      threads, count, ahead,
      [&](std::size_t i) -> std::shared_ptr<void> {
        return std::make_shared<Prepared>(prepare(i));
      },
      [&](std::size_t i, const std::shared_ptr<void>& prepared) {
        return commit(i, std::move(*static_cast<Prepared*>(prepared.get())));
      });
}

}  // namespace lemma
