#include "plans/collectives/symmetry.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace lemma::collectives {

namespace {

constexpr std::size_t most_renamings = 2000;
constexpr std::size_t most_trials = 200000;

/// Finds renamings that keep the links, node by node.
class Search {
 public:
  explicit Search(const Topology& topology)
      : nodes_(topology.nodes), capacity_(nodes_ * nodes_), image_(nodes_), is_taken_(nodes_) {
    for (const Link& link : topology.links)
      capacity_[link.from * nodes_ + link.to] = link.capacity;
  }

  /// Those that move all nodes.
  std::vector<Renaming> all() {
    extend(0);
    return std::move(found_);
  }

 private:
  void extend(Node node) {
    if (found_.size() >= most_renamings || trials_ >= most_trials) return;
    if (node == nodes_) {
      found_.push_back(image_);
      return;
    }
    for (Node to = 0; to < nodes_; ++to) {
      ++trials_;
      if (is_taken_[to] || to == node || !fits(node, to)) continue;
      is_taken_[to] = true;
      image_[node] = to;
      extend(node + 1);
      is_taken_[to] = false;
    }
  }
  bool fits(Node node, Node to) const {
    for (Node other = 0; other < node; ++other)
      if (capacity_[node * nodes_ + other] != capacity_[to * nodes_ + image_[other]] ||
          capacity_[other * nodes_ + node] != capacity_[image_[other] * nodes_ + to])
        return false;
    return true;
  }

  std::size_t nodes_, trials_ = 0;
  std::vector<std::uint32_t> capacity_;
  Renaming image_;
  std::vector<bool> is_taken_;
  std::vector<Renaming> found_;
};

/// The group that renamings make; nothing if one of it, but not the identity, leaves a node where it is.
std::vector<Renaming> group_of(const std::vector<Renaming>& makers, const Renaming& identity) {
  std::set<Renaming> known = {identity};
  std::vector<Renaming> group = {identity};
  for (std::size_t at = 0; at < group.size(); ++at)
    for (const Renaming& maker : makers) {
      Renaming product(identity.size());
      for (Node node = 0; node < identity.size(); ++node) product[node] = maker[group[at][node]];
      if (!known.insert(product).second) continue;
      for (Node node = 0; node < identity.size(); ++node)
        if (product[node] == node) return {};
      group.push_back(std::move(product));
    }
  return group;
}

}  // namespace

std::vector<Renaming> free_symmetries(const Topology& topology) {
  Renaming identity(topology.nodes);
  std::iota(identity.begin(), identity.end(), 0U);
  std::vector<Renaming> best = {identity}, makers;
  // Ports would have to be kept as well.
  if (!topology.ports.empty()) return best;
  const std::vector<Renaming> moving = Search(topology).all();
  for (const Renaming& first : moving) {
    std::vector<Renaming> group = group_of({first}, identity);
    if (group.size() <= best.size() && !makers.empty()) continue;
    if (group.empty()) continue;
    makers = {first};
    best = std::move(group);
    if (best.size() == topology.nodes) return best;
  }
  // Two makers suffice for tori of two axes; each further one is added where the group stays free.
  for (const Renaming& next : moving) {
    std::vector<Renaming> tried = makers;
    tried.push_back(next);
    std::vector<Renaming> group = group_of(tried, identity);
    if (group.size() <= best.size()) continue;
    makers = std::move(tried);
    best = std::move(group);
    if (best.size() == topology.nodes) break;
  }
  return best;
}

}  // namespace lemma::collectives
