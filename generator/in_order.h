#pragma once
// Work that has to be done one after the other, with a part of each piece that can be done ahead.

#include <atomic>
#include <memory>
#include <utility>

#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include "ir/result.h"

namespace lemma::generator {

/// Calls commit(i, prepare(i)) for all i < count, in order, until one returns an error. prepare(i)
/// is called on several threads, at most `ahead` numbers before what is committed; with one thread,
/// just before commit(i).
template <typename Prepare, typename Commit>
Result<void> in_order(int threads, std::size_t count, std::size_t ahead, const Prepare& prepare,
                      const Commit& commit) {
  Result<void> result;
  if (threads == 1) {
    for (std::size_t i = 0; i < count && result; ++i) result = commit(i, prepare(i));
    return result;
  }
  using Piece = std::pair<std::size_t, decltype(prepare(std::size_t{0}))>;
  using Token = std::shared_ptr<Piece>;
  std::size_t next = 0;
  std::atomic<bool> failed = false;
  const auto number = [&](tbb::flow_control& control) -> std::size_t {
    if (next == count || failed) {
      control.stop();
      return 0;
    }
    return next++;
  };
  const auto work = [&](std::size_t i) -> Token { return std::make_shared<Piece>(i, prepare(i)); };
  const auto finish = [&](const Token& piece) {
    if (failed) return;
    result = commit(piece->first, std::move(piece->second));
    if (!result) failed = true;
  };
  tbb::task_arena arena(threads);
  arena.execute([&] {
    tbb::parallel_pipeline(
        ahead, tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, number) &
                   tbb::make_filter<std::size_t, Token>(tbb::filter_mode::parallel, work) &
                   tbb::make_filter<Token, void>(tbb::filter_mode::serial_in_order, finish));
  });
  return result;
}

}  // namespace lemma::generator
