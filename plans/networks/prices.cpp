#include "plans/networks/prices.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lemma::networks {

namespace {

using PricesJson = nlohmann::json;

/// A number above 0 with this name; otherwise 0.
double number_of(const PricesJson& json, const char* name) {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_number()) return 0;
  return std::max(0.0, at->get<double>());
}

}  // namespace

PriceTier Prices::at(double bytes_per_second) const {
  if (bytes_per_second <= tiers.front().bytes_per_second) return tiers.front();
  auto above = std::find_if(tiers.begin() + 1, tiers.end(), [&](const PriceTier& tier) {
    return tier.bytes_per_second >= bytes_per_second;
  });
  if (above == tiers.end()) --above;
  const PriceTier &low = *(above - 1), &high = *above;
  const double part =
      (bytes_per_second - low.bytes_per_second) / (high.bytes_per_second - low.bytes_per_second);
  const auto between = [&](double a, double b) { return a + part * (b - a); };
  return {bytes_per_second, between(low.adapter, high.adapter),
          between(low.transceiver, high.transceiver), between(low.switch_port, high.switch_port)};
}

Result<Prices> load_prices(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) return bad_input(fmt::format("{}: cannot be read", file.string()));
  const PricesJson json = PricesJson::parse(stream, nullptr, /*allow_exceptions=*/false);
  const auto wrong = [&](std::string_view needed) {
    return bad_input(fmt::format("{}: {} is needed", file.string(), needed));
  };
  if (!json.is_object()) return wrong("a JSON object");
  Prices prices;
  if (!json.contains("source") || !json["source"].is_string()) return wrong("a text 'source'");
  prices.source = json["source"].get<std::string>();
  prices.fibre = number_of(json, "fibre");
  prices.patch_panel_port = number_of(json, "patch_panel_port");
  if (prices.fibre == 0 || prices.patch_panel_port == 0)
    return wrong("a number above 0 for 'fibre' and 'patch_panel_port'");
  if (!json.contains("tiers") || !json["tiers"].is_array() || json["tiers"].size() < 2)
    return wrong("a list 'tiers' of at least 2 objects");
  for (const PricesJson& entry : json["tiers"]) {
    const PriceTier tier{number_of(entry, "bytes_per_second"), number_of(entry, "adapter"),
                         number_of(entry, "transceiver"), number_of(entry, "switch_port")};
    const bool ascends =
        prices.tiers.empty() || tier.bytes_per_second > prices.tiers.back().bytes_per_second;
    if (!ascends || tier.bytes_per_second == 0 || tier.adapter == 0 || tier.transceiver == 0 ||
        tier.switch_port == 0)
      return wrong(
          "in each of 'tiers' bytes_per_second (ascending), adapter, transceiver and "
          "switch_port above 0");
    prices.tiers.push_back(tier);
  }
  return prices;
}

double direct_cost(const Prices& prices, std::size_t degree, double port_bytes_per_second) {
  const PriceTier tier = prices.at(port_bytes_per_second);
  return static_cast<double>(degree) *
         (tier.adapter + tier.transceiver + prices.fibre + prices.patch_panel_port);
}

double fat_tree_cost(const Prices& prices, double bytes_per_second) {
  const PriceTier tier = prices.at(bytes_per_second);
  return tier.adapter + 5 * tier.switch_port + 6 * tier.transceiver + 3 * prices.fibre;
}

double fat_tree_bandwidth(const Prices& prices, double dollars) {
  double low = prices.tiers.front().bytes_per_second, high = prices.tiers.back().bytes_per_second;
  const double least = fat_tree_cost(prices, low);
  if (dollars < least) return low * dollars / least;
  while (fat_tree_cost(prices, high) < dollars && high < 1e15) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (fat_tree_cost(prices, middle) <= dollars ? low : high) = middle;
  }
  return low;
}

}  // namespace lemma::networks
