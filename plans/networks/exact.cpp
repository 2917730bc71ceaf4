#include "plans/networks/exact.h"

#include <functional>
#include <limits>

namespace lemma::networks {

namespace {

/// All wirings in which each device sends over all ports and receives over all ports.
class Enumeration {
 public:
  Enumeration(std::size_t devices, std::size_t degree, std::function<bool(const Wiring&)> look)
      : wiring_(devices, degree), free_(devices, degree), look_(std::move(look)) {}

  /// False: it was ended.
  bool operator()() { return place(0, 0, wiring_.degree()); }

 private:
  /// Links from `from` to `to` and the devices behind it, as many as are left.
  bool place(Node from, Node to, std::size_t left) {
    if (from == wiring_.devices()) return look_(wiring_);
    if (to == wiring_.devices()) return left > 0 || place(from + 1, 0, wiring_.degree());
    if (to == from) return place(from, to + 1, left);
    for (std::size_t links = 0; links <= std::min(left, free_[to]); ++links) {
      wiring_.add(from, to, links);
      free_[to] -= links;
      const bool goes_on = place(from, to + 1, left - links);
      free_[to] += links;
      for (std::size_t i = 0; i < links; ++i) wiring_.remove(from, to);
      if (!goes_on) return false;
    }
    return true;
  }

  Wiring wiring_;
  std::vector<std::size_t> free_;  // receiving ports, by device
  std::function<bool(const Wiring&)> look_;
};

}  // namespace

std::optional<BestWiring> best_of_all_wirings(const Demands& demands, std::size_t degree,
                                              const LinkSpeed& link, std::size_t most) {
  BestWiring best{Wiring(demands.devices(), degree), std::numeric_limits<double>::infinity(), 0};
  const auto look = [&](const Wiring& wiring) {
    if (++best.wirings > most) return false;
    const double seconds = seconds_on(demands, wiring, link);
    if (seconds < best.seconds) {
      best.seconds = seconds;
      best.wiring = wiring;
    }
    return true;
  };
  if (!Enumeration(demands.devices(), degree, look)()) return std::nullopt;
  return best;
}

}  // namespace lemma::networks
