#include "generator/applications.h"

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <algorithm>

#include "system/parallel.h"

namespace lemma::generator {
namespace {

/// Between so many pieces a run can be cancelled, and what was evaluated is put away.
constexpr std::size_t pieces_at_once = 64;

/// Of pairs without an order: as many for each rank.
std::size_t pair_ranges(const RankShare& share) {
  constexpr std::size_t ranges = 256, fewest_of_a_rank = 8;
  return share.size * std::max(fewest_of_a_rank, share.most_of(ranges));
}

}  // namespace

Result<Level> Level::of(TermTable& table, std::size_t cost, const Options& options) {
  Level level(options);
  level.list_classes(table, cost);
  const std::vector<Division> divisions = level.divisions(table, cost);
  if (cost >= 2) {
    const SharedPairs::Options pairs{!options.in_order,
                                     options.in_order ? 1 : pair_ranges(options.share),
                                     options.memory, options.share};
    LEMMA_ASSIGN_OR_RETURN(level.shared_, SharedPairs::of(table, cost - 1, pairs));
  }
  // The plans of the whole level at once, so that they can be made side by side.
  std::vector<TermTable::PlanKey> keys;
  for (const Division& division : divisions)
    keys.insert(keys.end(), division.keys.begin(), division.keys.end());
  const std::vector<TermTable::PlanKey> more = level.shared_keys(table);
  keys.insert(keys.end(), more.begin(), more.end());
  LEMMA_RETURN_IF_ERROR(table.make_plans(keys, options.threads));
  for (const Division& division : divisions)
    for (const TermTable::PlanKey& key : division.keys)
      if (const Plan* plan = table.plan(key))
        level.add_plan(*plan, division.costs, table.set().operators[division.op].commutative);
  level.note_shared(table);
  return level;
}

double Level::size(const Piece& piece) {
  auto count = static_cast<double>(piece.end - piece.begin);
  if (piece.chosen != nullptr) return count;
  if (piece.lists[1] != nullptr)
    count *= static_cast<double>(piece.second_end - piece.second_begin);
  if (piece.lists[2] != nullptr) count *= static_cast<double>(piece.lists[2]->size());
  return count;
}

double Level::size() const { return size_; }

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
  std::array<std::size_t, most_operands> counts = {1, 1, 1};
  for (std::size_t i = 0; i < most_operands && plan.operand_types[i] != nothing; ++i) {
    piece.lists[i] = &(*by_cost_[costs[i]])[plan.operand_types[i]];
    counts[i] = piece.lists[i]->size();
  }
  // Operands of one cost are taken in one order only; a smaller cost comes first anyhow.
  piece.ordered = commutative && costs[0] == costs[1];
  const auto at_once = [this](std::size_t others) {
    return std::max<std::size_t>(1, options_.piece_size / std::max<std::size_t>(1, others));
  };
  const bool has_few_first = counts[0] * counts[2] <= options_.piece_size;
  // In order, a piece has several second operands of one first operand, or all.
  std::size_t first_step = at_once(counts[1] * counts[2]);
  std::size_t second_step = first_step > 1 ? counts[1] : at_once(counts[2]);
  if (!options_.in_order && has_few_first && counts[0] < counts[1]) {
    first_step = counts[0];
    second_step = at_once(counts[0] * counts[2]);
  }
  for (piece.begin = 0; piece.begin < counts[0]; piece.begin = piece.end) {
    piece.end = std::min(counts[0], piece.begin + first_step);
    for (piece.second_begin = 0; piece.second_begin < counts[1];
         piece.second_begin = piece.second_end) {
      piece.second_end = std::min(counts[1], piece.second_begin + second_step);
      if (options_.share.has(piece_count_++)) pieces_.push_back(piece);
      size_ += size(piece);
    }
  }
  if (plans_.empty() || plans_.back() != &plan) plans_.push_back(&plan);
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

std::vector<TermTable::PlanKey> Level::shared_keys(const TermTable& table) const {
  std::vector<TermTable::PlanKey> keys;
  if (!shared_) return keys;
  for (std::uint32_t op = 0; op < table.set().operators.size(); ++op) {
    const PairApplications applications(table, op);
    for (const SharedPairs::Kind& kind : shared_->kinds())
      for (std::size_t way = 0; way < applications.count(); ++way)
        keys.push_back(applications.key(way, kind.a, kind.b));
  }
  return keys;
}

/// The plans of pairs, behind those of divisions, and how many applications there are.
void Level::note_shared(const TermTable& table) {
  if (shared_)
    for (std::uint32_t op = 0; op < table.set().operators.size(); ++op) {
      const PairApplications applications(table, op);
      for (const SharedPairs::Kind& kind : shared_->kinds())
        for (std::size_t way = 0; way < applications.count(); ++way) {
          const Plan* plan = table.plan(applications.key(way, kind.a, kind.b));
          if (plan == nullptr) continue;
          plans_.push_back(plan);
          size_ += static_cast<double>(kind.found);
        }
    }
  absl::flat_hash_set<const Plan*> seen;
  std::erase_if(plans_, [&seen](const Plan* plan) { return !seen.insert(plan).second; });
}

Result<void> Level::for_each_batch(const TermTable& table, const Visit& visit) {
  const std::size_t ranges = shared_ ? shared_->range_count() : 0;
  double done = ranges == 0 ? 1 : 0.5;
  LEMMA_RETURN_IF_ERROR(visit_in_batches(pieces_, 0, done, visit));
  for (std::size_t range = 0; range < ranges; ++range) {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<ClassPair> pairs, shared_->take(range));
    done = 0.5 + 0.5 * static_cast<double>(range + 1) / static_cast<double>(ranges);
    LEMMA_RETURN_IF_ERROR(visit_shared(table, pairs, done, visit));
  }
  return {};
}

Result<void> Level::visit_in_batches(const std::vector<Piece>& pieces, double first, double last,
                                     const Visit& visit) const {
  for (std::size_t begin = 0; begin < pieces.size(); begin += pieces_at_once) {
    const std::size_t end = std::min(pieces.size(), begin + pieces_at_once);
    const double part = static_cast<double>(end) / static_cast<double>(pieces.size());
    LEMMA_RETURN_IF_ERROR(visit({pieces.begin() + static_cast<std::ptrdiff_t>(begin),
                                 pieces.begin() + static_cast<std::ptrdiff_t>(end)},
                                first + (last - first) * part));
  }
  return {};
}

Result<void> Level::visit_shared(const TermTable& table, const std::vector<ClassPair>& pairs,
                                 double part, const Visit& visit) {
  for (std::uint32_t op = 0; op < table.set().operators.size(); ++op) {
    const PairApplications applications(table, op);
    // Plans in order of their first applications, and the applications of each.
    std::vector<std::pair<const Plan*, std::vector<Operands>>> chosen;
    absl::flat_hash_map<const Plan*, std::size_t> numbers;
    std::vector<std::size_t> lists;  // of `chosen`, by kind and way
    for (const SharedPairs::Kind& kind : shared_->kinds())
      for (std::size_t way = 0; way < applications.count(); ++way) {
        const Plan* plan = table.plan(applications.key(way, kind.a, kind.b));
        const auto [number, is_new] = numbers.try_emplace(plan, chosen.size());
        if (is_new) chosen.push_back({plan, {}});
        lists.push_back(number->second);
      }
    for (const auto& [a, b] : pairs) {
      const std::size_t kind = shared_->kind_of(table.classes()[a].type, table.classes()[b].type);
      for (std::size_t way = 0; way < applications.count(); ++way) {
        auto& [plan, operands] = chosen[lists[kind * applications.count() + way]];
        if (plan != nullptr && !applications.is_repeated(way, a, b))
          operands.push_back(applications.operands(way, a, b));
      }
    }
    std::vector<Piece> pieces;
    for (const auto& [plan, operands] : chosen) {
      Piece piece;
      piece.plan = plan;
      piece.chosen = &operands;
      for (piece.begin = 0; piece.begin < operands.size(); piece.begin = piece.end) {
        piece.end = std::min(operands.size(), piece.begin + options_.piece_size);
        pieces.push_back(piece);
      }
    }
    LEMMA_RETURN_IF_ERROR(visit_in_batches(pieces, part, part, visit));
  }
  return {};
}

}  // namespace lemma::generator
