#pragma once
// What networks cost, and the fat-tree that costs as much as a network without switches.

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace lemma::networks {

/// What parts cost at a bandwidth, in dollars.
struct PriceTier {
  double bytes_per_second = 0;
  double adapter = 0;      // a port of a device
  double transceiver = 0;  // at each end of a fibre
  double switch_port = 0;
};

struct Prices {
  std::string source;
  std::vector<PriceTier> tiers;  // ascending by bandwidth
  double fibre = 0;              // of mean length
  double patch_panel_port = 0;

  /// Between two tiers, and beyond them, prices are on a line; below the first one they are those of the first one.
  PriceTier at(double bytes_per_second) const;
};

/// Reads a file of prices (targets/network_prices.json). An error names the file and what is needed.
Result<Prices> load_prices(const std::filesystem::path& file);

/// Dollars a device: each of its ports has an adapter, a transceiver, a fibre, and a port of the patch panel.
double direct_cost(const Prices& prices, std::size_t degree, double port_bytes_per_second);
/// Dollars a device: a fat-tree of three levels that never blocks has 5 switch ports, 3 fibres and 6 transceivers for each device, and
/// the device has one adapter.
double fat_tree_cost(const Prices& prices, double bytes_per_second);
/// The bandwidth of a device in the fat-tree that costs this much. What costs less than one of the lowest bandwidth has a part of that
/// bandwidth, in proportion.
double fat_tree_bandwidth(const Prices& prices, double dollars);

}  // namespace lemma::networks
