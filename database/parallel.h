#pragma once
// Doing the same for many numbers, on a given number of threads.

#include <cstddef>
#include <functional>
#include <memory>

#include "ir/result.h"

namespace lemma::database {

class Pool {
 public:
  /// 0: as many threads as there are processors.
  explicit Pool(int threads);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  /// Calls `work` for 0, 1, ..., count - 1, in no particular order. Of several errors the one of the
  /// least number is returned; after an error no more work is begun.
  Result<void> for_each(std::size_t count, const std::function<Result<void>(std::size_t)>& work);

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

}  // namespace lemma::database
