#include "plans/collectives/symmetry.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace lemma::collectives {

namespace {

constexpr std::size_t most_renamings = 2000;
constexpr std::size_t most_trials = 200000;
constexpr std::size_t most_makers = 60;
constexpr std::size_t most_groups = 8;
constexpr std::size_t most_nodes_of_groups = 64;

/// Finds renamings that keep the links, node by node.
class Search {
 public:
  explicit Search(const Topology& topology)
      : nodes_(topology.nodes), capacity_(nodes_ * nodes_), image_(nodes_), is_taken_(nodes_) {
    for (const Link& link : topology.links) capacity_[link.from * nodes_ + link.to] = link.capacity;
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
Symmetries group_of(const std::vector<Renaming>& makers, const Renaming& identity) {
  std::set<Renaming> known = {identity};
  Symmetries group = {identity};
  for (std::size_t at = 0; at < group.size(); ++at)
    for (const Renaming& maker : makers) {
      Renaming product(identity.size());
      for (Node node = 0; node < identity.size(); ++node) product[node] = maker[group[at][node]];
      if (!known.insert(product).second) continue;
      for (Node node = 0; node < identity.size(); ++node)
        if (product[node] == node) return {};
      group.push_back(std::move(product));
    }
  std::sort(group.begin(), group.end());  // the identity is the first of all
  return group;
}

/// Groups of the size of the largest, each once.
class Largest {
 public:
  void add(Symmetries group) {
    if (group.size() < size_ || group.size() < 2) return;
    if (group.size() > size_) groups_.clear();
    size_ = group.size();
    if (groups_.size() < most_groups &&
        std::find(groups_.begin(), groups_.end(), group) == groups_.end())
      groups_.push_back(std::move(group));
  }
  std::vector<Symmetries> all() { return std::move(groups_); }

 private:
  std::size_t size_ = 0;
  std::vector<Symmetries> groups_;
};

}  // namespace

Symmetries no_symmetries(const Topology& topology) {
  Renaming identity(topology.nodes);
  std::iota(identity.begin(), identity.end(), 0U);
  return {std::move(identity)};
}

std::vector<Symmetries> free_symmetries(const Topology& topology) {
  // Ports would have to be kept as well.
  if (!topology.ports.empty() || topology.nodes > most_nodes_of_groups) return {};
  const Renaming identity = no_symmetries(topology).front();
  std::vector<Renaming> makers;
  std::set<Symmetries> known;
  Largest largest;
  const std::vector<Renaming> moving = Search(topology).all();
  for (const Renaming& renaming : moving) {
    Symmetries group = group_of({renaming}, identity);
    if (group.empty() || !known.insert(group).second) continue;
    makers.push_back(renaming);
    largest.add(std::move(group));
    if (makers.size() == most_makers) break;
  }
  for (std::size_t one = 0; one < makers.size(); ++one)
    for (std::size_t other = one + 1; other < makers.size(); ++other)
      largest.add(group_of({makers[one], makers[other]}, identity));
  return largest.all();
}

}  // namespace lemma::collectives
