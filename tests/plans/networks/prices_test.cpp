#include "plans/networks/prices.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "targets/data_files.h"

namespace lemma::networks {
namespace {

TEST(Prices, LieOnLinesBetweenTiers) {
  const Prices prices{"a test", {{1e9, 100, 10, 50}, {3e9, 200, 30, 150}}, 5, 1};
  EXPECT_EQ(prices.at(5e8).adapter, 100);
  EXPECT_EQ(prices.at(2e9).adapter, 150);
  EXPECT_EQ(prices.at(2e9).switch_port, 100);
  EXPECT_EQ(prices.at(4e9).transceiver, 40);
  EXPECT_EQ(direct_cost(prices, 3, 1e9), 3 * (100 + 10 + 5 + 1));
  EXPECT_EQ(fat_tree_cost(prices, 3e9), 200 + 5 * 150 + 6 * 30 + 3 * 5);
}

TEST(Prices, AFatTreeOfEqualCostHasLessBandwidth) {
  // From the root of the repository.
  setenv("LEMMA_DATA", "targets", 1);
  const auto shipped = load_prices(data_directory() / "network_prices.json");
  unsetenv("LEMMA_DATA");
  ASSERT_TRUE(shipped) << shipped.error().message;
  const Prices& prices = *shipped;
  for (const std::size_t degree : {2U, 4U, 8U}) {
    const double port = 12.5e9, cost = direct_cost(prices, degree, port);
    const double bandwidth = fat_tree_bandwidth(prices, cost);
    EXPECT_NEAR(fat_tree_cost(prices, bandwidth), cost, 1e-6);
    EXPECT_LT(bandwidth, port * static_cast<double>(degree));
  }
  // Less money than the slowest one costs.
  const double slowest = prices.tiers.front().bytes_per_second;
  EXPECT_NEAR(fat_tree_bandwidth(prices, fat_tree_cost(prices, slowest) / 2), slowest / 2, 1);
}

TEST(Prices, ErrorsNameTheFileAndWhatIsNeeded) {
  EXPECT_EQ(load_prices("none.json").error().message, "none.json: cannot be read");
  const std::string file = testing::TempDir() + "prices.json";
  std::ofstream(file) << R"({"source": "x", "fibre": 1, "patch_panel_port": 1, "tiers": []})";
  EXPECT_EQ(load_prices(file).error().message,
            file + ": a list 'tiers' of at least 2 objects is needed");
}

}  // namespace
}  // namespace lemma::networks
