// The names of strategies (declared in search/optimize.h).

#include <array>
#include <utility>

#include "search/optimize.h"

namespace lemma {

namespace {

constexpr std::array<std::pair<Strategy, std::string_view>, 4> strategy_names = {{
    {Strategy::automatic, "auto"},
    {Strategy::saturation, "saturation"},
    {Strategy::backtracking, "backtracking"},
    {Strategy::combined, "combined"},
}};

}  // namespace

std::string_view name(Strategy strategy) {
  for (const auto& [listed, name] : strategy_names)
    if (listed == strategy) return name;
  return "?";
}

std::optional<Strategy> strategy_named(std::string_view name) {
  for (const auto& [strategy, known] : strategy_names)
    if (known == name) return strategy;
  return std::nullopt;
}

}  // namespace lemma
