#include "generator/applications.h"

#include <algorithm>
#include <map>

#include <absl/container/flat_hash_map.h>

#include "system/parallel.h"

namespace lemma::generator {
namespace {

constexpr std::size_t piece_size = 16'384;  // applications, about

using ApplicationSet = std::array<std::uint32_t, most_operators>;

std::size_t size_of(const ApplicationSet& set) {
  return static_cast<std::size_t>(std::find(set.begin(), set.end(), nothing) - set.begin());
}

/// The members of `set` whose bits are set.
ApplicationSet subset(const ApplicationSet& set, unsigned bits) {
  ApplicationSet result;
  result.fill(nothing);
  std::size_t count = 0;
  for (std::size_t i = 0; i < set.size(); ++i)
    if ((bits >> i) % 2 == 1) result[count++] = set[i];
  return result;
}

std::size_t union_size(const ApplicationSet& a, const ApplicationSet& b) {
  std::size_t size = size_of(a);
  for (const std::uint32_t x : b)
    if (x != nothing && std::find(a.begin(), a.end(), x) == a.end()) ++size;
  return size;
}

class PairFinder {
 public:
  PairFinder(const TermTable& table, std::size_t cost) : table_(table), cost_(cost) {
    for (TermNodeId id = 0; id < table.nodes().size(); ++id) {
      const TermNode& node = table.nodes()[id];
      if (node.cost == 0 || node.cost > cost) continue;
      if (node.cost < cost)
        for (std::size_t i = 0; i < node.cost; ++i) users_[node.applications[i]].push_back(id);
      by_applications_[node.applications].push_back(id);
    }
  }

  std::vector<std::pair<ClassId, ClassId>> find() {
    for (const auto& [applications, nodes] : by_applications_)
      if (size_of(applications) == cost_) add_contained(applications, nodes);
    for (const auto& [application, nodes] : users_) add_overlapping(nodes);
    std::sort(pairs_.begin(), pairs_.end());
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
    return std::move(pairs_);
  }

 private:
  /// One of the pair is computed by operators that compute the other one too.
  void add_contained(const ApplicationSet& applications, const std::vector<TermNodeId>& nodes) {
    for (unsigned bits = 1; bits < (1U << cost_); ++bits) {
      const auto inner = by_applications_.find(subset(applications, bits));
      if (inner == by_applications_.end()) continue;
      for (const TermNodeId a : nodes)
        for (const TermNodeId b : inner->second) add(a, b);
    }
  }

  void add_overlapping(const std::vector<TermNodeId>& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (std::size_t j = i; j < nodes.size(); ++j)
        if (union_size(table_.nodes()[nodes[i]].applications,
                       table_.nodes()[nodes[j]].applications) == cost_)
          add(nodes[i], nodes[j]);
  }

  void add(TermNodeId a, TermNodeId b) {
    const ClassId x = table_.nodes()[a].id, y = table_.nodes()[b].id;
    const std::size_t apart = table_.classes()[x].cost + table_.classes()[y].cost;
    if (apart > cost_) pairs_.emplace_back(std::min(x, y), std::max(x, y));
  }

  const TermTable& table_;
  std::size_t cost_;
  absl::flat_hash_map<ApplicationSet, std::vector<TermNodeId>> by_applications_;
  std::map<std::uint32_t, std::vector<TermNodeId>> users_;
  std::vector<std::pair<ClassId, ClassId>> pairs_;
};

}  // namespace

std::vector<std::pair<ClassId, ClassId>> shared_pairs(const TermTable& table, std::size_t cost) {
  return PairFinder(table, cost).find();
}

/// Pairs of classes that share operators, with the types of each: of these there are few, so that
/// plans are looked up for them and not for each pair.
struct Level::SharedPairs {
  std::vector<std::pair<ClassId, ClassId>> pairs;
  std::vector<std::uint32_t> kinds;                            // by pair
  std::vector<std::pair<std::uint32_t, std::uint32_t>> types;  // by kind, in order of appearance

  SharedPairs() = default;
  SharedPairs(const TermTable& table, std::vector<std::pair<ClassId, ClassId>> class_pairs)
      : pairs(std::move(class_pairs)) {
    absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> numbers;
    for (const auto& [a, b] : pairs) {
      const std::pair key(table.classes()[a].type, table.classes()[b].type);
      const auto [kind, is_new] =
          numbers.try_emplace(key, static_cast<std::uint32_t>(types.size()));
      if (is_new) types.push_back(key);
      kinds.push_back(kind->second);
    }
  }
};

Result<Level> Level::of(TermTable& table, std::size_t cost, int threads) {
  Level level;
  level.list_classes(table, cost);
  const std::vector<Division> divisions = level.divisions(table, cost);
  SharedPairs shared;
  if (cost >= 2) shared = SharedPairs(table, shared_pairs(table, cost - 1));
  level.shared_count_ = shared.pairs.size();
  // The plans of the whole level at once, so that they can be made side by side.
  std::vector<TermTable::PlanKey> keys;
  for (const Division& division : divisions)
    keys.insert(keys.end(), division.keys.begin(), division.keys.end());
  const std::vector<TermTable::PlanKey> more = shared_keys(table, shared);
  keys.insert(keys.end(), more.begin(), more.end());
  LEMMA_RETURN_IF_ERROR(table.make_plans(keys, threads));
  for (const Division& division : divisions)
    for (const TermTable::PlanKey& key : division.keys)
      if (const Plan* plan = table.plan(key))
        level.add_plan(*plan, division.costs, table.set().operators[division.op].commutative);
  level.add_shared(table, shared, threads);
  return level;
}

double Level::size(const Piece& piece) {
  auto count = static_cast<double>(piece.end - piece.begin);
  if (piece.chosen == nullptr)
    for (std::size_t i = 1; i < most_operands; ++i)
      if (piece.lists[i] != nullptr) count *= static_cast<double>(piece.lists[i]->size());
  return count;
}

double Level::size() const {
  double total = 0;
  for (const Piece& piece : pieces_) total += size(piece);
  return total;
}

void Level::list_classes(const TermTable& table, std::size_t cost) {
  for (std::size_t i = 0; i < cost; ++i)
    by_cost_.push_back(std::make_unique<ByType>(table.types().size()));
  for (ClassId id = 0; id < table.classes().size(); ++id) {
    const TermClass& known = table.classes()[id];
    if (known.cost < cost) (*by_cost_[known.cost])[known.type].push_back(id);
  }
}

/// All ways to divide the operators below among the operands of each operator.
std::vector<Level::Division> Level::divisions(const TermTable& table, std::size_t cost) const {
  std::vector<Division> result;
  for (std::uint32_t op = 0; op < table.set().operators.size(); ++op) {
    const SetOperator& set_operator = table.set().operators[op];
    const std::size_t arity = set_operator.pattern.inputs.size();
    Costs costs = {};
    const auto add = [&] {
      if (!set_operator.commutative || costs[0] <= costs[1])
        result.push_back({op, costs, keys_of(table, op, costs)});
    };
    if (arity == 0) {
      if (cost == 1) add();
      continue;
    }
    const auto divide = [&](const auto& self, std::size_t i, std::size_t rest) -> void {
      if (i + 1 == arity) {
        costs[i] = rest;
        return add();
      }
      for (costs[i] = 0; costs[i] <= rest; ++costs[i]) self(self, i + 1, rest - costs[i]);
    };
    divide(divide, 0, cost - 1);
  }
  return result;
}

std::vector<TermTable::PlanKey> Level::keys_of(const TermTable& table, std::uint32_t op,
                                               const Costs& costs) const {
  std::vector<std::vector<std::uint32_t>> types(most_operands);
  for (std::size_t i = 0; i < table.set().operators[op].pattern.inputs.size(); ++i)
    for (std::uint32_t type = 0; type < by_cost_[costs[i]]->size(); ++type) {
      const std::vector<ClassId>& classes = (*by_cost_[costs[i]])[type];
      const auto fits = [&](ClassId id) { return table.fits_weight(op, i, id); };
      if (std::any_of(classes.begin(), classes.end(), fits)) types[i].push_back(type);
    }
  return table.plan_keys(op, types);
}

void Level::add_plan(const Plan& plan, const Costs& costs, bool commutative) {
  Piece piece;
  piece.plan = &plan;
  double others = 1;
  for (std::size_t i = 0; i < most_operands && plan.operand_types[i] != nothing; ++i) {
    piece.lists[i] = &(*by_cost_[costs[i]])[plan.operand_types[i]];
    if (i > 0) others *= static_cast<double>(piece.lists[i]->size());
  }
  // Operands of one cost are taken in one order only; a smaller cost comes first anyhow.
  piece.ordered = commutative && costs[0] == costs[1];
  const std::size_t count = piece.lists[0] == nullptr ? 1 : piece.lists[0]->size();
  const auto step =
      std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(piece_size) / others));
  for (piece.begin = 0; piece.begin < count; piece.begin = piece.end) {
    piece.end = std::min(count, piece.begin + step);
    pieces_.push_back(piece);
  }
}

namespace {

/// The ways to apply one operator to a pair of classes of given types: third operands are inputs,
/// and the order of a pair matters unless the operator is commutative, for which they are ascending.
class PairApplications {
 public:
  PairApplications(const TermTable& table, std::uint32_t op) : table_(table), op_(op) {
    const SetOperator& set_operator = table.set().operators[op];
    const std::size_t arity = set_operator.pattern.inputs.size();
    if (arity < 2) return;
    for (ClassId third = 0; third < (arity == 3 ? table.set().inputs.size() : 1); ++third)
      for (const bool exchanged : {false, true})
        if (!exchanged || !set_operator.commutative)
          ways_.push_back({arity == 3 ? third : nothing, exchanged});
  }

  std::size_t count() const { return ways_.size(); }
  TermTable::PlanKey key(std::size_t way, std::uint32_t a, std::uint32_t b) const {
    const auto [third, exchanged] = ways_[way];
    if (exchanged) std::swap(a, b);
    return {op_, a, b, third == nothing ? nothing : table_.classes()[third].type};
  }
  Operands operands(std::size_t way, ClassId a, ClassId b) const {
    const auto [third, exchanged] = ways_[way];
    if (exchanged) std::swap(a, b);
    return {a, b, third};
  }
  bool is_repeated(std::size_t way, ClassId a, ClassId b) const {
    return ways_[way].exchanged && a == b;
  }

 private:
  struct Way {
    ClassId third = nothing;
    bool exchanged = false;
  };
  const TermTable& table_;
  std::uint32_t op_;
  std::vector<Way> ways_;
};

}  // namespace

std::vector<TermTable::PlanKey> Level::shared_keys(const TermTable& table,
                                                   const SharedPairs& shared) {
  std::vector<TermTable::PlanKey> keys;
  for (std::uint32_t op = 0; op < table.set().operators.size(); ++op) {
    const PairApplications applications(table, op);
    for (const auto& [a, b] : shared.types)
      for (std::size_t way = 0; way < applications.count(); ++way)
        keys.push_back(applications.key(way, a, b));
  }
  return keys;
}

void Level::add_shared(const TermTable& table, const SharedPairs& shared, int threads) {
  // By operator: plans in order of their first application, and the applications of each.
  struct Chosen {
    std::vector<const Plan*> order;
    absl::flat_hash_map<const Plan*, std::vector<Operands>> operands;
  };
  std::vector<Chosen> chosen(table.set().operators.size());
  const auto choose = [&](std::size_t i) {
    const auto op = static_cast<std::uint32_t>(i);
    const PairApplications applications(table, op);
    auto& [order, operands] = chosen[op];
    std::vector<const Plan*> plans;  // by kind and way
    for (const auto& [a, b] : shared.types)
      for (std::size_t way = 0; way < applications.count(); ++way)
        plans.push_back(table.plan(applications.key(way, a, b)));
    for (const Plan* plan : plans)
      if (plan != nullptr) operands.try_emplace(plan);
    std::vector<std::vector<Operands>*> lists;
    for (const Plan* plan : plans) lists.push_back(plan == nullptr ? nullptr : &operands.at(plan));
    for (std::size_t k = 0; k < shared.pairs.size(); ++k) {
      const auto [a, b] = shared.pairs[k];
      for (std::size_t way = 0; way < applications.count(); ++way) {
        const std::size_t at = shared.kinds[k] * applications.count() + way;
        if (lists[at] == nullptr || applications.is_repeated(way, a, b)) continue;
        if (lists[at]->empty()) order.push_back(plans[at]);
        lists[at]->push_back(applications.operands(way, a, b));
      }
    }
  };
  parallel_for(chosen.size(), threads, choose);
  for (auto& [order, operands] : chosen)
    for (const Plan* plan : order) add_chosen(*plan, std::move(operands.at(plan)));
}

void Level::add_chosen(const Plan& plan, std::vector<Operands> operands) {
  chosen_.push_back(std::make_unique<std::vector<Operands>>(std::move(operands)));
  Piece piece;
  piece.plan = &plan;
  piece.chosen = chosen_.back().get();
  for (piece.begin = 0; piece.begin < piece.chosen->size(); piece.begin = piece.end) {
    piece.end = std::min(piece.chosen->size(), piece.begin + piece_size);
    pieces_.push_back(piece);
  }
}

}  // namespace lemma::generator
