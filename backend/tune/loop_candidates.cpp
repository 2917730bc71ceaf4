#include "backend/tune/loop_candidates.h"

#include <algorithm>
#include <array>
#include <set>

namespace lemma::backend {

namespace {

constexpr std::array<std::int64_t, 10> panels = {8, 16, 24, 32, 40, 48, 64, 80, 96, 128};
constexpr std::array<std::int64_t, 6> vector_counts = {1, 2, 3, 4, 6, 8};
constexpr std::array<std::int64_t, 10> row_counts = {1, 2, 3, 4, 5, 6, 8, 10, 12, 14};

/// Panels that an axis of the result can be cut into, or that a part of it is as long as.
std::set<std::int64_t> fitting_panels(const lowering::LoweredOutput& nest) {
  std::set<std::int64_t> result;
  for (const std::int64_t size : nest.sizes)
    for (const std::int64_t panel : panels)
      if (size >= panel && size % panel == 0) result.insert(panel);
  return result;
}

}  // namespace

std::vector<LoopSchedule> layout_candidates(const Computation& computation) {
  std::vector<LoopSchedule> result = {{}};
  const auto nest = nest_of(computation);
  if (!nest) return result;
  for (const bool value : {false, true}) {
    result.emplace_back().tiles = value;
    result.emplace_back().widens = value;
    result.emplace_back().windows = value;
    result.emplace_back().channels = value;
  }
  for (const bool widens : {false, true})
    for (const bool windows : {false, true}) {
      LoopSchedule& schedule = result.emplace_back();
      schedule.channels = schedule.tiles = false;
      schedule.widens = widens;
      schedule.windows = windows;
    }
  for (const std::int64_t panel : fitting_panels(*nest))
    for (const bool has_channels : {false, true}) {
      LoopSchedule& schedule = result.emplace_back();
      schedule.panel = panel;
      if (has_channels) schedule.channels = true;
    }
  result.emplace_back().stored = true;
  return result;
}

std::vector<LoopSchedule> block_candidates(std::int64_t registers) {
  std::vector<LoopSchedule> result;
  for (const std::int64_t vectors : vector_counts)
    for (const std::int64_t rows : row_counts) {
      if (vectors * rows > registers - 2) continue;
      LoopSchedule& schedule = result.emplace_back();
      schedule.vectors = vectors;
      schedule.rows = rows;
    }
  return result;
}

std::vector<LoopSchedule> neighbours(const LoopSchedule& schedule) {
  std::vector<LoopSchedule> result;
  const auto with = [&](const auto& change) {
    LoopSchedule changed = schedule;
    change(changed);
    if (changed != schedule) result.push_back(changed);
  };
  for (const LoopOrder order : {LoopOrder::rows_outside, LoopOrder::rows_inside, LoopOrder::chunks})
    with([&](LoopSchedule& s) { s.order = order; });
  for (const std::int64_t unroll : {2, 4}) with([&](LoopSchedule& s) { s.unroll = unroll; });
  for (const std::int64_t ahead : {0, 8, 32}) with([&](LoopSchedule& s) { s.ahead = ahead; });
  for (const std::int64_t step : {-1, 1, 2}) {
    if (schedule.rows && *schedule.rows + step > 0)
      with([&](LoopSchedule& s) { s.rows = *schedule.rows + step; });
    if (schedule.vectors && *schedule.vectors + step > 0)
      with([&](LoopSchedule& s) { s.vectors = *schedule.vectors + step; });
  }
  for (const std::int64_t chunk : {32, 64, 128, 512, 1024})
    with([&](LoopSchedule& s) { s.chunk = chunk; });
  return result;
}

}  // namespace lemma::backend
