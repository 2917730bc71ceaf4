// Ranks over a transport within one process: exchanges, claims, what is told, and ends.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "ranks/claims.h"
#include "ranks/launcher.h"
#include "ranks/messenger.h"
#include "tests/ranks/local_ranks.h"

namespace lemma::ranks {
namespace {

using testing::run_ranks;

TEST(Ranks, exchange_what_is_meant_for_each) {
  run_ranks(3, [](Ranks& ranks) {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::string> out;
      for (std::size_t to = 0; to < 3; ++to)
        out.push_back(std::to_string(ranks.rank()) + ">" + std::to_string(to) +
                      std::string(static_cast<std::size_t>(round) * 1000, 'x'));
      const auto in = ranks.exchange(out);
      ASSERT_TRUE(in);
      for (std::size_t from = 0; from < 3; ++from)
        EXPECT_EQ((*in)[from].substr(0, 3),
                  std::to_string(from) + ">" + std::to_string(ranks.rank()));
    }
    const auto first = ranks.broadcast(std::string("from ") + std::to_string(ranks.rank()));
    ASSERT_TRUE(first);
    EXPECT_EQ(*first, "from 0");
    EXPECT_TRUE(ranks.finish());
  });
}

TEST(Ranks, each_piece_has_one_owner) {
  std::mutex mutex;
  std::multiset<std::string> owned;
  run_ranks(4, [&](Ranks& ranks) {
    Claim claim;
    for (int i = 0; i < 100; ++i) claim.wanted.push_back("wanted " + std::to_string(i));
    for (int i = 0; i < 30; ++i) claim.ahead.push_back("ahead " + std::to_string(i));
    claim.share = 16;
    while (true) {
      const auto mine = ranks.claim(claim);
      ASSERT_TRUE(mine);
      if (mine->empty()) break;
      const std::lock_guard lock(mutex);
      for (const std::size_t i : *mine)
        owned.insert(i < 100 ? claim.wanted[i] : claim.ahead[i - 100]);
    }
    EXPECT_TRUE(ranks.finish());
  });
  EXPECT_EQ(owned.size(), 130U);
  EXPECT_EQ(std::set<std::string>(owned.begin(), owned.end()).size(), 130U);
}

TEST(Claims, what_is_wanted_comes_first_and_less_and_less_at_once) {
  Claims claims;
  Claim claim{{"a", "b", "c", "d", "e", "f", "g", "h"}, {"later"}, 4};
  EXPECT_EQ(claims.take(claim), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(claims.take(claim), (std::vector<std::size_t>{2}));
  claim.share = 1;
  EXPECT_EQ(claims.take(claim), (std::vector<std::size_t>{3, 4, 5, 6, 7}));
  EXPECT_EQ(claims.take(claim), (std::vector<std::size_t>{8}));
  EXPECT_TRUE(claims.take(claim).empty());
}

TEST(Ranks, what_is_told_arrives_once_before_what_is_sent_later) {
  run_ranks(3, [](Ranks& ranks) {
    std::mutex mutex;
    std::vector<std::string> heard;
    if (ranks.rank() != 2)
      ranks.listen([&](const std::string& bytes) {
        const std::lock_guard lock(mutex);
        heard.push_back(bytes);
      });
    for (int i = 0; i < 50; ++i) ranks.tell(std::to_string(ranks.rank()));
    ASSERT_TRUE(ranks.gather(""));
    if (ranks.rank() == 2)  // what came before there was a listener has been kept
      ranks.listen([&](const std::string& bytes) { heard.push_back(bytes); });
    {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(heard.size(), 100U);
    }
    ranks.listen(nullptr);
    EXPECT_TRUE(ranks.finish());
  });
}

TEST(Ranks, one_that_stops_ends_all_with_its_error) {
  run_ranks(3, [](Ranks& ranks) {
    if (ranks.rank() == 1) {
      ranks.stop(bad_input("it is dark").value());
    } else {
      const auto waited = ranks.gather("for ever");
      ASSERT_FALSE(waited);
      EXPECT_EQ(waited.error().message, "rank 1: it is dark");
      EXPECT_EQ(waited.error().kind, ErrorKind::bad_input);
      EXPECT_FALSE(ranks.claim({{"a"}, {}, 1}));
    }
    EXPECT_FALSE(ranks.finish());
  });
}

TEST(Ranks, one_that_is_left_without_a_word_ends_all) {
  run_ranks(2, [](Ranks& ranks) {
    if (ranks.rank() == 1) return;  // as by an exception
    const auto waited = ranks.gather("for ever");
    ASSERT_FALSE(waited);
    EXPECT_EQ(waited.error().kind, ErrorKind::internal);
    EXPECT_FALSE(ranks.finish());
  });
}

TEST(Ranks, a_transport_that_cannot_be_made_is_an_error) {
  const auto ranks =
      ranks_over([]() -> Result<std::unique_ptr<Transport>> { return unsupported("no network"); });
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.error().message, "no network");
}

TEST(Ranks, one_is_alone) {
  const auto ranks = one_rank();
  EXPECT_EQ(ranks->size(), 1U);
  EXPECT_EQ(*ranks->broadcast("x"), "x");
  EXPECT_EQ(ranks->claim({{"a", "b"}, {}, 1})->size(), 2U);
  EXPECT_TRUE(ranks->claim({{"a", "b"}, {}, 1})->empty());
  EXPECT_TRUE(ranks->finish());
  ranks->stop({ErrorKind::internal, "no"});
  EXPECT_FALSE(ranks->gather(""));
}

TEST(Launcher, reads_the_environment) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE"})
    unsetenv(name);
  EXPECT_EQ(launch_of_environment().size, 1U);
  setenv("OMPI_COMM_WORLD_RANK", "2", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
  EXPECT_EQ(launch_of_environment().size, 3U);
  EXPECT_EQ(launch_of_environment().rank, 2U);
  const auto ranks = connect("/no/such/module.so");
  ASSERT_FALSE(ranks);
  EXPECT_EQ(ranks.error().kind, ErrorKind::unsupported);
  EXPECT_NE(ranks.error().message.find("3 ranks"), std::string::npos);
  setenv("OMPI_COMM_WORLD_RANK", "many", 1);
  EXPECT_EQ(launch_of_environment().size, 1U);
  unsetenv("OMPI_COMM_WORLD_RANK");
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

}  // namespace
}  // namespace lemma::ranks
