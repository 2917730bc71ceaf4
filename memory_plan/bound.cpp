#include "memory_plan/bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lemma::memory_plan {

namespace {

/// A value that is needed at two places of an order, and at none in between.
struct Gap {
  NodeNumber value = 0;
  std::size_t begin = 0, end = 0;  // places strictly in between: begin, ..., end - 1
};

class Dual {
 public:
  Dual(const Problem& problem, const Sequence& order, Bytes limit)
      : problem_(problem), order_(order) {
    find_gaps();
    for (const NodeNumber number : order)
      room_.push_back(static_cast<double>(limit) -
                      static_cast<double>(working_set(problem, number)));
    for (const NodeNumber number : order) base_ += problem.nodes[number].seconds;
  }

  bool is_impossible() const {
    return std::any_of(room_.begin(), room_.end(), [](double room) { return room < 0; });
  }

  /// The bound, and at each place what is kept there beyond the room: the direction in which the bound grows.
  double value(const std::vector<double>& prices, std::vector<double>* excess) const {
    std::vector<double> sums(prices.size() + 1, 0);
    for (std::size_t place = 0; place < prices.size(); ++place)
      sums[place + 1] = sums[place] + prices[place];
    double bound = base_;
    std::vector<double> change(prices.size() + 1, 0);
    for (const Gap& gap : gaps_) {
      const Node& node = problem_.nodes[gap.value];
      const double rent = static_cast<double>(node.bytes) * (sums[gap.end] - sums[gap.begin]);
      bound += std::min(node.seconds, rent);
      if (rent > node.seconds) continue;
      change[gap.begin] += static_cast<double>(node.bytes);
      change[gap.end] -= static_cast<double>(node.bytes);
    }
    double held = 0;
    for (std::size_t place = 0; place < prices.size(); ++place) {
      bound -= prices[place] * room_[place];
      held += change[place];
      if (excess != nullptr) (*excess)[place] = held - room_[place];
    }
    return bound;
  }

  double base() const { return base_; }
  std::size_t size() const { return order_.size(); }

 private:
  void find_gaps() {
    constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> last(problem_.nodes.size(), never);
    const auto need = [&](NodeNumber value, std::size_t place) {
      if (last[value] != never && last[value] + 1 < place)
        gaps_.push_back({value, last[value] + 1, place});
      last[value] = place;
    };
    for (std::size_t place = 0; place < order_.size(); ++place) {
      for (const NodeNumber operand : problem_.nodes[order_[place]].operands) need(operand, place);
      need(order_[place], place);
    }
    for (NodeNumber number = 0; number < problem_.nodes.size(); ++number)
      if (problem_.nodes[number].is_kept && last[number] != never) need(number, order_.size());
  }

  const Problem& problem_;
  const Sequence& order_;
  std::vector<Gap> gaps_;
  std::vector<double> room_;
  double base_ = 0;
};

}  // namespace

double bound_from_prices(const Problem& problem, const Sequence& order, Bytes limit,
                         const std::vector<double>& prices) {
  const Dual dual(problem, order, limit);
  if (dual.is_impossible()) return std::numeric_limits<double>::infinity();
  return std::max(dual.base(), dual.value(prices, nullptr));
}

PricedBound priced_bound(const Problem& problem, const Sequence& order, Bytes limit, int rounds) {
  const Dual dual(problem, order, limit);
  PricedBound best{dual.base(), std::vector<double>(dual.size(), 0)};
  if (dual.is_impossible()) {
    best.seconds = std::numeric_limits<double>::infinity();
    return best;
  }
  // Steps of Polyak's length towards a goal that lies a little above the best value and comes nearer where there is no
  // progress.
  std::vector<double> prices(dual.size(), 0), excess(dual.size(), 0);
  double ahead = 0.5 * dual.base();
  int idle = 0;
  for (int round = 0; round < rounds && ahead > 1e-9 * dual.base(); ++round) {
    const double value = dual.value(prices, &excess);
    if (value > best.seconds + 1e-3 * ahead)
      idle = 0;
    else
      ++idle;
    if (value > best.seconds) best = {value, prices};
    if (idle > 12) {
      ahead /= 2;
      idle = 0;
      prices = best.prices;
      continue;
    }
    double length = 0;
    for (std::size_t place = 0; place < prices.size(); ++place)
      if (prices[place] > 0 || excess[place] > 0) length += excess[place] * excess[place];
    if (length == 0) break;
    const double step = (best.seconds + ahead - value) / length;
    for (std::size_t place = 0; place < prices.size(); ++place)
      prices[place] = std::max(0.0, prices[place] + step * excess[place]);
  }
  return best;
}

}  // namespace lemma::memory_plan
