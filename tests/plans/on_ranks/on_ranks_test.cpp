// Ranks that are threads: how a run ends when one of them does.

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>

#include "plans/on_ranks/thread_ranks.h"

namespace lemma::plans {
namespace {

const Group all = {0, 1, 2};

/// So many exchanges of all ranks; before one of them a rank does something else.
Result<void> run(Communicator& communicator, std::size_t rank, int at,
                 const std::function<Result<void>()>& instead) {
  for (int i = 0; i < 10; ++i) {
    communicator.enter("exchange " + std::to_string(i));
    if (communicator.rank() == rank && i == at) LEMMA_RETURN_IF_ERROR(instead());
    const std::byte own{};
    std::array<std::byte, 3> received{};
    LEMMA_RETURN_IF_ERROR(communicator.all_gather(all, std::span(&own, 1), received));
  }
  return {};
}

TEST(ThreadRanks, one_that_throws_ends_all_with_a_line) {
  const auto done = run_as_threads(3, [](Communicator& communicator) {
    return run(communicator, 1, 4,
               []() -> Result<void> { throw std::runtime_error("it is dark"); });
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "rank 1 has ended at exchange 4: it is dark");
  EXPECT_EQ(done.error().kind, ErrorKind::internal);
}

TEST(ThreadRanks, an_error_says_where_it_happened) {
  const auto done = run_as_threads(3, [](Communicator& communicator) {
    return run(communicator, 2, 0, []() -> Result<void> { return bad_input("it is cold"); });
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "rank 2 has ended at exchange 0: it is cold");
  EXPECT_EQ(done.error().kind, ErrorKind::bad_input);
}

TEST(ThreadRanks, of_several_that_fail_the_first_one_is_told) {
  for (int round = 0; round < 20; ++round) {
    const auto done = run_as_threads(3, [](Communicator& communicator) -> Result<void> {
      if (communicator.rank() > 0) return bad_input(std::to_string(communicator.rank()));
      return run(communicator, 0, -1, {});
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().message, "rank 1 has ended: 1");
  }
}

}  // namespace
}  // namespace lemma::plans
