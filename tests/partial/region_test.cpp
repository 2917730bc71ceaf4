// Regions of masks: boxes whose bounds are sizes.

#include "partial/region.h"

#include <gtest/gtest.h>

namespace lemma::partial {
namespace {

using generator::SizedMask;

/// A mask of [m, n] that agrees where `agrees` says so.
template <typename Agrees>
SizedMask mask_of(std::int64_t m, std::int64_t n, const Agrees& agrees) {
  SizedMask mask;
  mask.sizes = {{"m", m}, {"n", n}};
  mask.shape = {m, n};
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) mask.agrees.push_back(agrees(i, j) ? 1 : 0);
  return mask;
}

template <typename Agrees>
std::optional<Region> region_of(const Agrees& agrees) {
  std::vector<SizedMask> masks;
  for (const auto& [m, n] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{5, 6}, {7, 4}, {4, 9}, {8, 8}, {6, 5}})
    masks.push_back(
        mask_of(m, n, [&](std::int64_t i, std::int64_t j) { return agrees(i, j, m, n); }));
  return fitted_region(masks, {Dimension::symbol("m"), Dimension::symbol("n")});
}

std::vector<std::string> texts_of(const std::optional<Region>& region) {
  std::vector<std::string> result;
  if (region)
    for (const Box& box : boxes_of(*region)) result.push_back(text(box));
  return result;
}

using Texts = std::vector<std::string>;

TEST(Regions, LeaveBordersOut) {
  EXPECT_EQ(texts_of(region_of([](auto, auto j, auto, auto n) { return j >= 1 && j < n - 2; })),
            Texts{"[0, m) x [1, n - 2)"});
}

TEST(Regions, LeaveFramesOut) {
  EXPECT_EQ(texts_of(region_of([](auto i, auto j, auto m, auto n) {
              return i >= 1 && i < m - 1 && j >= 1 && j < n - 1;
            })),
            Texts{"[1, m - 1) x [1, n - 1)"});
}

TEST(Regions, HaveSeveralBoxes) {
  EXPECT_EQ(texts_of(region_of([](auto i, auto, auto, auto) { return i != 2; })),
            (Texts{"[0, 2) x [0, n)", "[3, m) x [0, n)"}));
}

/// Where a corner is right by chance at one choice of sizes, it is no part of the region.
TEST(Regions, AreRightForAllSizes) {
  EXPECT_EQ(texts_of(region_of([](auto, auto j, auto m, auto) { return j >= 1 || m == 7; })),
            Texts{"[0, m) x [1, n)"});
}

TEST(Regions, AreNotSeenWhereThereAreNone) {
  EXPECT_FALSE(region_of([](auto, auto, auto, auto) { return true; })) << "it is everything";
  EXPECT_FALSE(region_of([](auto, auto, auto, auto) { return false; }));
  EXPECT_FALSE(region_of([](auto i, auto j, auto, auto) { return (i + j) % 2 == 0; }));
  EXPECT_FALSE(fitted_region({}, {}));
}

/// Every element of the region agrees at every choice of sizes, whatever the masks are.
TEST(Regions, NeverHaveAnElementThatDisagrees) {
  std::uint64_t state = 1;
  const auto random = [&state] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return state >> 33U;
  };
  std::size_t regions = 0;
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t noise = 1 + random() % 3;
    std::vector<SizedMask> masks;
    for (std::int64_t i = 0; i < 5; ++i)
      masks.push_back(
          mask_of(3 + static_cast<std::int64_t>(random() % 5), 4 + i,
                  [&](std::int64_t, std::int64_t j) { return j > 0 || random() % noise != 0; }));
    const auto region = fitted_region(masks, {Dimension::symbol("m"), Dimension::symbol("n")});
    if (!region) continue;
    ++regions;
    for (const SizedMask& mask : masks)
      for (const Box& box : boxes_of(*region))
        for (std::int64_t i = 0; i < mask.shape[0]; ++i)
          for (std::int64_t j = 0; j < mask.shape[1]; ++j) {
            const auto is_in = [&mask](const Interval& interval, std::int64_t index) {
              return *substitute(interval.begin, mask.sizes).constant() <= index &&
                     index < *substitute(interval.end, mask.sizes).constant();
            };
            if (is_in(box[0], i) && is_in(box[1], j)) {
              EXPECT_EQ(mask.agrees[i * mask.shape[1] + j], 1) << text(box);
            }
          }
  }
  EXPECT_GT(regions, 50U);
}

}  // namespace
}  // namespace lemma::partial
