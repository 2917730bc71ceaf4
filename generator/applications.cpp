#include "generator/applications.h"

#include <algorithm>
#include <map>

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

Result<Level> Level::of(TermTable& table, std::size_t cost) {
  Level level;
  level.list_classes(table, cost);
  for (std::uint32_t op = 0; op < table.set().operators.size(); ++op)
    LEMMA_RETURN_IF_ERROR(level.add_operator(table, op, cost));
  if (cost >= 2) LEMMA_RETURN_IF_ERROR(level.add_shared(table, cost));
  return level;
}

double Level::size() const {
  double total = 0;
  for (const Piece& piece : pieces_) {
    auto count = static_cast<double>(piece.end - piece.begin);
    if (piece.chosen == nullptr)
      for (std::size_t i = 1; i < most_operands; ++i)
        if (piece.lists[i] != nullptr) count *= static_cast<double>(piece.lists[i]->size());
    total += count;
  }
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

Result<void> Level::add_operator(TermTable& table, std::uint32_t op, std::size_t cost) {
  const std::size_t arity = table.set().operators[op].pattern.inputs.size();
  std::array<std::size_t, most_operands> costs = {};
  if (arity == 0) {
    if (cost != 1) return {};
    return add_costs(table, op, costs);
  }
  // All ways to divide the rest among the operands.
  const auto divide = [&](const auto& self, std::size_t i, std::size_t rest) -> Result<void> {
    if (i + 1 == arity) {
      costs[i] = rest;
      return add_costs(table, op, costs);
    }
    for (costs[i] = 0; costs[i] <= rest; ++costs[i])
      LEMMA_RETURN_IF_ERROR(self(self, i + 1, rest - costs[i]));
    return {};
  };
  return divide(divide, 0, cost - 1);
}

Result<void> Level::add_costs(TermTable& table, std::uint32_t op,
                              const std::array<std::size_t, most_operands>& costs) {
  const SetOperator& set_operator = table.set().operators[op];
  const std::size_t arity = set_operator.pattern.inputs.size();
  if (set_operator.commutative && costs[0] > costs[1]) return {};
  std::vector<std::vector<std::uint32_t>> types(most_operands);
  for (std::size_t i = 0; i < arity; ++i)
    for (std::uint32_t type = 0; type < by_cost_[costs[i]]->size(); ++type)
      if (!(*by_cost_[costs[i]])[type].empty()) types[i].push_back(type);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<const Plan*> plans, table.plans(op, types));
  for (const Plan* plan : plans) add_plan(*plan, costs, set_operator.commutative);
  return {};
}

void Level::add_plan(const Plan& plan, const std::array<std::size_t, most_operands>& costs,
                     bool commutative) {
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

Result<void> Level::add_shared(TermTable& table, std::size_t cost) {
  const auto pairs = shared_pairs(table, cost - 1);
  shared_count_ = pairs.size();
  for (std::uint32_t op = 0; op < table.set().operators.size(); ++op) {
    const std::size_t arity = table.set().operators[op].pattern.inputs.size();
    if (arity < 2) continue;
    std::map<const Plan*, std::vector<Operands>> by_plan;
    std::vector<const Plan*> order;
    const auto add = [&](Operands operands) -> Result<void> {
      operands = table.normalized(op, operands);
      std::vector<std::vector<std::uint32_t>> types(most_operands);
      for (std::size_t i = 0; i < arity; ++i) types[i] = {table.classes()[operands[i]].type};
      LEMMA_ASSIGN_OR_RETURN(const auto plans, table.plans(op, types));
      if (plans.empty()) return {};
      std::vector<Operands>& list = by_plan[plans[0]];
      if (list.empty()) order.push_back(plans[0]);
      list.push_back(operands);
      return {};
    };
    const std::size_t inputs = table.set().inputs.size();
    for (const auto& [a, b] : pairs) {
      const std::size_t thirds = arity == 3 ? inputs : 1;
      for (std::size_t i = 0; i < thirds; ++i) {
        const ClassId third = arity == 3 ? static_cast<ClassId>(i) : nothing;
        LEMMA_RETURN_IF_ERROR(add(Operands{a, b, third}));
        if (a != b && !table.set().operators[op].commutative)
          LEMMA_RETURN_IF_ERROR(add(Operands{b, a, third}));
      }
    }
    for (const Plan* plan : order) add_chosen(*plan, std::move(by_plan[plan]));
  }
  return {};
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
