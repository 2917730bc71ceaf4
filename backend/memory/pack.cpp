#include "backend/memory/pack.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace lemma::backend {

namespace {

using Order = std::vector<std::uint32_t>;

enum class Fit : std::uint8_t { lowest, tightest };

/// Conflicts that are looked at in all: some tenths of a second.
constexpr std::uint64_t most_visits = 20'000'000;
constexpr int most_rounds = 1000;

class Packer {
 public:
  explicit Packer(const PackingProblem& problem) : problem_(problem) {
    for (const PackingProblem::Block& block : problem.blocks)
      visits_of_a_round_ += 1 + block.conflicts.size();
  }

  Packing run() {
    try_simple_orders();
    improve();
    return std::move(best_);
  }

 private:
  using Block = PackingProblem::Block;

  void try_simple_orders() {
    const auto larger = [](const Block& a, const Block& b) { return a.size > b.size; };
    const auto earlier = [](const Block& a, const Block& b) { return a.begin < b.begin; };
    const auto longer = [](const Block& a, const Block& b) {
      return a.end - a.begin > b.end - b.begin;
    };
    const auto wider = [](const Block& a, const Block& b) {
      const auto area = [](const Block& x) {
        return static_cast<double>(x.size) * (x.end - x.begin);
      };
      return area(a) > area(b);
    };
    try_order(sorted(larger));
    try_order(sorted(earlier));
    try_order(sorted(longer));
    try_order(sorted(wider));
  }

  template <typename Before>
  Order sorted(const Before& before) const {
    Order order(problem_.blocks.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return before(problem_.blocks[a], problem_.blocks[b]);
    });
    return order;
  }

  void try_order(const Order& order) {
    for (const Fit fit : {Fit::lowest, Fit::tightest}) {
      if (is_done()) return;
      Packing packing = place(order, fit);
      if (!has_best_ || packing.bytes < best_.bytes) {
        best_ = std::move(packing);
        best_order_ = order;
        best_fit_ = fit;
        has_best_ = true;
      }
    }
  }

  bool is_done() const { return has_best_ && best_.bytes <= problem_.least_bytes; }

  /// Changes that make nothing worse are kept.
  void improve() {
    std::mt19937 random(1);
    for (int round = 0; round < most_rounds && !is_done(); ++round) {
      if (visits_ + visits_of_a_round_ > most_visits) return;
      Order order = with_last_blocks_earlier(random);
      Packing packing = place(order, best_fit_);
      if (packing.bytes > best_.bytes) continue;
      best_ = std::move(packing);
      best_order_ = std::move(order);
    }
  }

  Order with_last_blocks_earlier(std::mt19937& random) const {
    Order order = best_order_;
    for (std::size_t place = 0; place < order.size(); ++place) {
      const std::uint32_t block = order[place];
      if (best_.offsets[block] + problem_.blocks[block].size < best_.bytes) continue;
      const auto to = static_cast<std::ptrdiff_t>(random() % (place + 1));
      std::rotate(order.begin() + to, order.begin() + static_cast<std::ptrdiff_t>(place),
                  order.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
    return order;
  }

  Packing place(const Order& order, Fit fit) {
    visits_ += visits_of_a_round_;
    Packing packing;
    packing.offsets.assign(order.size(), 0);
    std::vector<bool> is_placed(order.size(), false);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;  // first byte and end
    for (const std::uint32_t number : order) {
      const Block& block = problem_.blocks[number];
      taken.clear();
      for (const std::uint32_t other : block.conflicts)
        if (is_placed[other])
          taken.emplace_back(packing.offsets[other],
                             packing.offsets[other] + problem_.blocks[other].size);
      std::sort(taken.begin(), taken.end());
      packing.offsets[number] = place_beside(taken, block.size, fit);
      packing.bytes = std::max(packing.bytes, packing.offsets[number] + block.size);
      is_placed[number] = true;
    }
    return packing;
  }

  /// A place in a gap, else behind all.
  static std::uint64_t place_beside(
      const std::vector<std::pair<std::uint64_t, std::uint64_t>>& taken, std::uint64_t size,
      Fit fit) {
    std::uint64_t end = 0, least_gap = UINT64_MAX, best = UINT64_MAX;
    for (const auto& [first, last] : taken) {
      if (first >= end + size && first - end < least_gap) {
        best = end;
        least_gap = first - end;
        if (fit == Fit::lowest) return best;
      }
      end = std::max(end, last);
    }
    return best != UINT64_MAX ? best : end;
  }

  const PackingProblem& problem_;
  std::uint64_t visits_of_a_round_ = 0, visits_ = 0;
  Packing best_;
  Order best_order_;
  Fit best_fit_ = Fit::lowest;
  bool has_best_ = false;
};

}  // namespace

Packing pack(const PackingProblem& problem) { return Packer(problem).run(); }

}  // namespace lemma::backend
