#include "backend_cuda/regions/choose_calls.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace lemma::backend {

namespace {

/// Kernels come before the calls of their layer, as if all that can be were calls.
std::vector<std::size_t> order_by_layers(const std::vector<Item>& items) {
  std::vector<std::size_t> layers(items.size(), 0);
  const auto is_behind_call = [&items](std::size_t item) {
    return items[item].candidate.has_value();
  };
  for (std::size_t i = 0; i < items.size(); ++i)
    for (const std::size_t before : items[i].after) {
      const bool next =
          is_behind_call(before) && (!items[i].candidate || !items[before].candidate->rest.empty());
      layers[i] = std::max(layers[i], layers[before] + (next ? 1 : 0));
    }
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(layers[a], is_behind_call(a)) < std::pair(layers[b], is_behind_call(b));
  });
  return order;
}

/// Places are between items of the order. An edge goes from one to a later one: first some calls, then one kernel, of what
/// is left of their items and of the items behind them; one of the two may be missing.
class Cutter {
 public:
  Cutter(const std::vector<Item>& items, double launch_seconds, double seconds_per_event)
      : items_(items),
        order_(order_by_layers(items)),
        launch_(launch_seconds),
        event_(seconds_per_event),
        least_(items.size() + 1, std::numeric_limits<double>::infinity()),
        steps_(items.size() + 1),
        paths_(items.size()),
        seen_(items.size(), 0) {}

  std::vector<bool> run() {
    least_[0] = 0;
    for (std::size_t begin = 0; begin < items_.size(); ++begin)
      if (begin == 0 || is_candidate(begin)) extend_calls(begin);
    std::vector<bool> is_call(items_.size(), false);
    for (std::size_t at = items_.size(); at > 0; at = steps_[at].begin)
      for (std::size_t i = steps_[at].begin; i < steps_[at].calls_end; ++i)
        is_call[order_[i]] = true;
    return is_call;
  }

 private:
  static constexpr std::size_t most_calls = 24;  // before one kernel

  struct Step {
    std::size_t begin = 0, calls_end = 0;
  };

  const Item& at(std::size_t position) const { return items_[order_[position]]; }

  /// Whether the item may be a call. One whose call takes as long as a kernel of its own would is none: it gains nothing,
  /// and recurrent networks have thousands of them.
  bool is_candidate(std::size_t position) const {
    const Item& item = at(position);
    return item.candidate &&
           item.candidate->seconds < launch_ + std::max(item.cost.work, item.cost.path);
  }

  void extend_calls(std::size_t begin) {
    double prices = 0;
    for (std::size_t end = begin; end <= std::min(items_.size(), begin + most_calls); ++end) {
      if (end > begin) {
        const Item& last = at(end - 1);
        if (!is_candidate(end - 1) || waits_for_rest(begin, end - 1)) return;
        prices += last.candidate->seconds;
      }
      extend_kernel(begin, end, prices);
    }
  }

  /// Whether an item reads what would be computed behind one of the calls.
  bool waits_for_rest(std::size_t begin, std::size_t position) const {
    for (std::size_t i = begin; i < position; ++i) {
      const std::vector<std::size_t>& after = at(position).after;
      if (!at(i).candidate->rest.empty() &&
          std::binary_search(after.begin(), after.end(), order_[i]))
        return true;
    }
    return false;
  }

  void extend_kernel(std::size_t begin, std::size_t calls_end, double prices) {
    ++kernel_;
    double work = 0, path = 0;
    bool has_rest = false;
    for (std::size_t i = begin; i < calls_end; ++i) {
      if (at(i).candidate->rest.empty()) continue;
      has_rest = true;
      add(order_[i], at(i).candidate->of_rest, work, path);
    }
    offer({begin, calls_end}, calls_end, prices + (has_rest ? launch_ + std::max(work, path) : 0));
    for (std::size_t end = calls_end + 1; end <= items_.size(); ++end) {
      add(order_[end - 1], at(end - 1).cost, work, path);
      // A kernel that another one follows at once is never better than the two as one.
      if (end == items_.size() || is_candidate(end))
        offer({begin, calls_end}, end, prices + launch_ + std::max(work, path));
    }
  }

  void add(std::size_t item, const PersistentCost& cost, double& work, double& path) {
    double begins = 0;
    for (const std::size_t before : items_[item].after)
      if (seen_[before] == kernel_) begins = std::max(begins, paths_[before] + event_);
    paths_[item] = begins + cost.path;
    seen_[item] = kernel_;
    work += cost.work;
    path = std::max(path, paths_[item]);
  }

  void offer(const Step& step, std::size_t end, double seconds) {
    if (end == step.begin || least_[step.begin] + seconds >= least_[end]) return;
    least_[end] = least_[step.begin] + seconds;
    steps_[end] = step;
  }

  const std::vector<Item>& items_;
  const std::vector<std::size_t> order_;
  double launch_, event_;
  std::vector<double> least_;  // by place: up to there
  std::vector<Step> steps_;    // that leads there
  // Of the kernel that is being extended, by item.
  std::vector<double> paths_;
  std::vector<std::size_t> seen_;
  std::size_t kernel_ = 0;
};

}  // namespace

std::vector<bool> choose_calls(const std::vector<Item>& items, double launch_seconds,
                               double seconds_per_event) {
  return Cutter(items, launch_seconds, seconds_per_event).run();
}

std::vector<bool> all_calls(const std::vector<Item>& items) {
  std::vector<bool> is_call;
  for (const Item& item : items) is_call.push_back(item.candidate.has_value());
  return is_call;
}

}  // namespace lemma::backend
