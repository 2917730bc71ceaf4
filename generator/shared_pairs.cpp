#include "generator/shared_pairs.h"

#include <algorithm>
#include <functional>
#include <span>

#include <absl/container/flat_hash_set.h>

namespace lemma::generator {
namespace {

using Set = std::span<const std::uint32_t>;  // numbers of operators, ascending

std::size_t union_size(Set a, Set b) {
  std::size_t size = a.size();
  for (const std::uint32_t x : b)
    if (std::find(a.begin(), a.end(), x) == a.end()) ++size;
  return size;
}

std::uint32_t first_common(Set a, Set b) {
  for (const std::uint32_t x : a)
    if (std::find(b.begin(), b.end(), x) != b.end()) return x;
  return nothing;
}

bool is_less(Set a, Set b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

/// Nodes by the set of operators that compute them.
class SetIndex {
 public:
  explicit SetIndex(const TermTable& table)
      : table_(table), heads_(0, Hash{&table}, Equal{&table}) {}

  static Set set_of(const TermTable& table, TermNodeId id) {
    const Set all = table.applications(id);
    return all.first(
        static_cast<std::size_t>(std::find(all.begin(), all.end(), nothing) - all.begin()));
  }

  /// Nodes are added in order of their numbers, from 0 on.
  void add(TermNodeId id) {
    next_.resize(id + 1, nothing);
    const auto entry = heads_.find(set_of(table_, id));
    if (entry == heads_.end()) {
      heads_.insert(id);
      return;
    }
    next_[id] = next_[*entry];
    next_[*entry] = id;
  }

  template <typename Visit>
  void for_each(Set set, const Visit& visit) const {
    const auto entry = heads_.find(set);
    if (entry == heads_.end()) return;
    for (TermNodeId id = *entry; id != nothing; id = next_[id]) visit(id);
  }

 private:
  struct Hash {
    using is_transparent = void;
    const TermTable* table;
    std::size_t operator()(Set set) const {
      return absl::Hash<absl::Span<const std::uint32_t>>()({set.data(), set.size()});
    }
    std::size_t operator()(TermNodeId id) const { return (*this)(set_of(*table, id)); }
  };
  struct Equal {
    using is_transparent = void;
    const TermTable* table;
    bool operator()(TermNodeId a, TermNodeId b) const { return (*this)(a, set_of(*table, b)); }
    bool operator()(TermNodeId a, Set b) const {
      const Set own = set_of(*table, a);
      return std::equal(own.begin(), own.end(), b.begin(), b.end());
    }
  };

  const TermTable& table_;
  absl::flat_hash_set<TermNodeId, Hash, Equal> heads_;  // the first node of each set
  std::vector<TermNodeId> next_;                        // by node: another one of its set
};

/// Calls emit(node, node) for the pairs of nodes that `cost` operators compute together, some of which compute both.
/// A pair is found once.
class PairFinder {
 public:
  using Emit = std::function<Result<void>(TermNodeId, TermNodeId)>;
  PairFinder(const TermTable& table, std::size_t cost, Emit emit)
      : table_(table), cost_(cost), emit_(std::move(emit)) {}

  Result<void> find() {
    LEMMA_RETURN_IF_ERROR(find_contained());
    return find_overlapping();
  }

 private:
  Set set_of(TermNodeId id) const { return SetIndex::set_of(table_, id); }
  std::size_t cost_of(TermNodeId id) const { return table_.nodes()[id].cost; }

  /// One of the pair is computed by operators that compute the other one too.
  Result<void> find_contained() {
    SetIndex inner(table_);
    std::vector<TermNodeId> outer;
    for (TermNodeId id = 0; id < table_.nodes().size(); ++id) {
      if (cost_of(id) == 0 || cost_of(id) > cost_) continue;
      if (set_of(id).size() == cost_)
        outer.push_back(id);
      else
        inner.add(id);
    }
    std::sort(outer.begin(), outer.end(), [this](TermNodeId a, TermNodeId b) {
      const Set x = set_of(a), y = set_of(b);
      return is_less(x, y) || (!is_less(y, x) && a < b);
    });
    for (std::size_t begin = 0, end = 0; begin < outer.size(); begin = end) {
      while (end < outer.size() && !is_less(set_of(outer[begin]), set_of(outer[end]))) ++end;
      LEMMA_RETURN_IF_ERROR(find_contained({&outer[begin], end - begin}, inner));
    }
    return {};
  }

  /// In the set of some nodes.
  Result<void> find_contained(std::span<const TermNodeId> nodes, const SetIndex& inner) {
    Result<void> result;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (std::size_t j = i; j < nodes.size() && result; ++j) result = emit_(nodes[i], nodes[j]);
    const Set set = set_of(nodes[0]);
    std::vector<std::uint32_t> part;
    for (std::size_t bits = 1; bits + 1 < (std::size_t{1} << set.size()); ++bits) {
      part.clear();
      for (std::size_t i = 0; i < set.size(); ++i)
        if ((bits >> i) % 2 == 1) part.push_back(set[i]);
      inner.for_each(part, [&](TermNodeId b) {
        for (const TermNodeId a : nodes)
          if (result) result = emit_(a, b);
      });
    }
    return result;
  }

  Result<void> find_overlapping() {
    // The nodes of fewer operators that use each operator, one list after the other.
    std::vector<std::size_t> begins = {0};
    const auto for_each_use = [this](const auto& visit) {
      for (TermNodeId id = 0; id < table_.nodes().size(); ++id)
        if (cost_of(id) > 0 && cost_of(id) < cost_)
          for (const std::uint32_t x : set_of(id)) visit(x, id);
    };
    for_each_use([&](std::uint32_t x, TermNodeId) {
      if (begins.size() < x + std::size_t{2}) begins.resize(x + std::size_t{2});
      ++begins[x + 1];
    });
    for (std::size_t x = 1; x < begins.size(); ++x) begins[x] += begins[x - 1];
    std::vector<TermNodeId> users(begins.back());
    std::vector<std::size_t> ends(begins.begin(), begins.end());
    for_each_use([&](std::uint32_t x, TermNodeId id) { users[ends[x]++] = id; });
    for (std::uint32_t x = 0; x + 1 < begins.size(); ++x)
      LEMMA_RETURN_IF_ERROR(
          find_overlapping(x, {users.data() + begins[x], begins[x + 1] - begins[x]}));
    return {};
  }

  /// Among users of an operator, which is the first one that they have in common.
  Result<void> find_overlapping(std::uint32_t operator_number, std::span<const TermNodeId> nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const Set set = set_of(nodes[i]);
      for (std::size_t j = i + 1; j < nodes.size(); ++j) {
        const Set other = set_of(nodes[j]);
        if (set.size() + other.size() <= cost_ || union_size(set, other) != cost_ ||
            first_common(set, other) != operator_number)
          continue;
        LEMMA_RETURN_IF_ERROR(emit_(nodes[i], nodes[j]));
      }
    }
    return {};
  }

  const TermTable& table_;
  std::size_t cost_;
  Emit emit_;
};

/// Whether inputs are the first ones of each shape, perhaps together with another one.
bool can_be_first(const TermTable& table, std::uint64_t inputs) {
  if (table.uses_first_inputs(inputs)) return true;
  for (ClassId input = 0; input < table.set().inputs.size(); ++input)
    if (table.uses_first_inputs(inputs | table.classes()[input].inputs)) return true;
  return false;
}

std::size_t range_of(ClassPair pair, std::size_t ranges) {
  const std::uint64_t word = (std::uint64_t{pair.a} << 32U | pair.b) * 0x9e3779b97f4a7c15U;
  return static_cast<std::size_t>((word >> 32U) % ranges);
}

}  // namespace

Result<SharedPairs> SharedPairs::of(const TermTable& table, std::size_t cost,
                                    const Options& options) {
  SharedPairs result(options);
  result.types_ = table.types().size();
  std::vector<Kind> kinds(result.types_ * result.types_);
  const auto emit = [&](TermNodeId a, TermNodeId b) -> Result<void> {
    const ClassId x = table.nodes()[a].id, y = table.nodes()[b].id;
    const ClassPair pair{std::min(x, y), std::max(x, y)};
    const TermClass &first = table.classes()[pair.a], &second = table.classes()[pair.b];
    if (std::size_t{first.cost} + second.cost <= cost) return {};
    Kind& kind = kinds[first.type * result.types_ + second.type];
    kind.first = std::min(kind.first, pair);
    if (options.first_inputs_only && !can_be_first(table, first.inputs | second.inputs)) return {};
    ++kind.found;
    const std::size_t range = range_of(pair, options.ranges);
    if (!options.share.has(range)) return {};
    return result.pairs_.add(options.share.own_number(range), pair);
  };
  LEMMA_RETURN_IF_ERROR(PairFinder(table, cost, emit).find());
  for (std::uint32_t a = 0; a < result.types_; ++a)
    for (std::uint32_t b = 0; b < result.types_; ++b) {
      Kind& kind = kinds[a * result.types_ + b];
      if (kind.first.a == nothing) continue;
      kind.a = a;
      kind.b = b;
      result.kinds_.push_back(kind);
    }
  std::sort(result.kinds_.begin(), result.kinds_.end(),
            [](const Kind& a, const Kind& b) { return a.first < b.first; });
  result.numbers_.resize(result.types_ * result.types_);
  for (std::uint32_t i = 0; i < result.kinds_.size(); ++i)
    result.numbers_[result.kinds_[i].a * result.types_ + result.kinds_[i].b] = i;
  if (options.ranges > 1) {
    LEMMA_RETURN_IF_ERROR(result.pairs_.write());
    result.pairs_.release();
  }
  return result;
}

Result<std::vector<ClassPair>> SharedPairs::take(std::size_t range) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<ClassPair> pairs, pairs_.take(range));
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

}  // namespace lemma::generator
