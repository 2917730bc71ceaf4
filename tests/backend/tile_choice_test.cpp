// Which products are computed in tiles, and in which.

#include "backend/blocks/tile_choice.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::backend {
namespace {

constexpr std::uint64_t room = 200000;
constexpr FactorAccess wide_lines = {true, 4, true}, wide_terms = {false, 4, true},
                       one_by_one = {true, 1, true};

std::optional<TileChoice> choice_of(const ProductShape& product,
                                    TileArithmetic arithmetic = TileArithmetic::f32,
                                    std::int64_t threads = 256, std::uint64_t bytes = room) {
  return choose_tiles(product, arithmetic, wide_terms, wide_lines, {threads, bytes});
}

TEST(TileChoice, few_rows_or_columns_have_no_tiles) {
  EXPECT_FALSE(choice_of({1, 4096, 4096}));
  EXPECT_FALSE(choice_of({3, 4096, 4096}));
  EXPECT_FALSE(choice_of({4096, 2, 512}));
  EXPECT_TRUE(choice_of({16, 256, 512}));
}

TEST(TileChoice, short_sums_have_no_tiles) {
  EXPECT_FALSE(choice_of({16, 16, 1}));
  EXPECT_TRUE(choice_of({16, 16, 1024}));
}

TEST(TileChoice, large_products_have_large_parts) {
  const auto choice = choice_of({1024, 1024, 1024});
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->tile.rows, 128);
  EXPECT_EQ(choice->tile.columns, 128);
  EXPECT_EQ(choice->part_rows * choice->part_columns, 64);
}

TEST(TileChoice, matrix_units_have_blocks_of_whole_fragments) {
  for (const TileArithmetic arithmetic :
       {TileArithmetic::f16, TileArithmetic::bf16, TileArithmetic::tf32}) {
    const auto choice = choice_of({100, 100, 300}, arithmetic);
    ASSERT_TRUE(choice);
    EXPECT_EQ(choice->arithmetic, arithmetic);
    EXPECT_EQ(choice->tile.rows % (16 * choice->part_rows), 0);
    EXPECT_EQ(choice->tile.columns % (8 * choice->part_columns), 0);
    EXPECT_EQ(choice->tile.terms % (16 * choice->slices), 0);
  }
}

/// What the threads of a block have to have room for, whatever the shape.
TEST(TileChoice, tiles_fit) {
  for (const std::int64_t rows : {4, 7, 40, 130, 1000})
    for (const std::int64_t columns : {5, 16, 100, 3000})
      for (const std::int64_t terms : {8, 33, 700})
        for (const std::int64_t threads : {32, 96, 256, 1024})
          for (const std::uint64_t bytes : {1000, 20000, 200000})
            for (const TileArithmetic arithmetic : {TileArithmetic::f32, TileArithmetic::f16}) {
              const auto choice = choice_of({rows, columns, terms}, arithmetic, threads, bytes);
              if (!choice) continue;
              const bool by_warps = arithmetic != TileArithmetic::f32;
              const std::int64_t of_rows = choice->tile.rows / choice->part_rows,
                                 of_columns = choice->tile.columns / choice->part_columns;
              const std::int64_t parts = of_rows * of_columns * choice->slices;
              EXPECT_LE(by_warps ? parts / (16 * 8) * 32 : parts, threads);
              EXPECT_LE(choice->shared_bytes, bytes);
              EXPECT_LE(choice->part_rows * choice->part_columns, 64);
              EXPECT_EQ(choice->tile.terms % 4, 0);
            }
}

TEST(TileChoice, a_thread_keeps_few_places) {
  const auto choice =
      choose_tiles({512, 512, 512}, TileArithmetic::f32, one_by_one, one_by_one, {64, room});
  ASSERT_TRUE(choice);
  EXPECT_LE(std::max(choice->tile.rows, choice->tile.columns) * choice->tile.terms / 64, 8);
}

TEST(TileChoice, blocks_of_a_multiprocessor_share_its_registers) {
  // Of 256 threads each: one has 255 registers for a thread, four have 64.
  TileLimits limits = {256, room};
  const auto parts = [&limits] {
    const auto choice =
        choose_tiles({512, 512, 512}, TileArithmetic::f32, wide_terms, wide_lines, limits);
    return choice ? choice->part_rows * choice->part_columns : 0;
  };
  EXPECT_GE(parts(), 32);
  limits.blocks = 4;
  EXPECT_GT(parts(), 0);
  EXPECT_LT(parts(), 64 - 40);
}

TEST(TileChoice, refused_tiles_give_way_to_the_next_best) {
  TileLimits limits = {256, room};
  for (int i = 0; i < 5; ++i) {
    const auto choice =
        choose_tiles({64, 512, 512}, TileArithmetic::f32, wide_terms, wide_lines, limits);
    ASSERT_TRUE(choice);
    EXPECT_TRUE(limits.refused.insert(tile_name(*choice, wide_terms, wide_lines, 256)).second);
  }
}

}  // namespace
}  // namespace lemma::backend
