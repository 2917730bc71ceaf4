// The evaluation of a level whose terms are kept.

#include <algorithm>
#include <cmath>

#include "generator/pieces.h"
#include "generator/terms.h"
#include "system/parallel.h"

namespace lemma::generator {
namespace {

/// Applications of a piece. The elements of some dozens of pieces are held until they are added, in vectors that take up
/// to three times as much while they grow. The order of applications does not depend on it.
std::size_t piece_size(std::size_t memory, std::size_t elements_of_a_value) {
  constexpr std::size_t smallest = 64, largest = 1024, part_for_a_piece = 1536;
  const std::size_t bytes = choice_count * elements_of_a_value * sizeof(double);
  return std::clamp(memory / part_for_a_piece / bytes, smallest, largest);
}

struct KeptTerm {
  Operands operands;
  std::uint32_t output = 0;
  double functional = 0;
};
struct KeptTerms {
  std::vector<KeptTerm> terms;
  std::vector<double> values;  // of the terms, one after the other
};

KeptTerms evaluate_to_keep(const Piece& piece, const TermTable& table) {
  KeptTerms result;
  LaneEvaluator evaluator(table);
  const auto wanted = [&](const Operands& operands) {
    return table.fits_weights(piece.plan->op, operands);
  };
  run_piece(piece, evaluator, wanted, [&](LaneEvaluator& lanes) {
    const std::size_t outputs = piece.plan->tape.outputs.size();
    std::vector<std::size_t> starts;
    for (std::size_t choice = 0; choice < choice_count; ++choice) {
      lanes.run(choice);
      std::size_t at = 0;
      for (std::size_t output = 0; output < outputs; ++output) {
        const std::size_t size = piece.plan->tape.outputs[output].size();
        double functional[tape_lanes];
        if (choice == 0) lanes.functional(output, functional);
        for (std::size_t lane = 0; lane < lanes.count(); ++lane, ++at) {
          if (choice == 0) {
            starts.push_back(result.values.size());
            result.values.resize(result.values.size() + choice_count * size);
            result.terms.push_back(
                {lanes.operands(lane), static_cast<std::uint32_t>(output), functional[lane]});
          }
          lanes.copy_values(output, lane, result.values.data() + starts[at] + choice * size);
        }
      }
    }
  });
  return result;
}

}  // namespace

/// Adds evaluated terms to the table.
class LevelBuilder {
 public:
  LevelBuilder(TermTable& table, std::size_t cost) : table_(table), cost_(cost) {
    table_.level_begins_.resize(cost + 1, static_cast<TermNodeId>(table_.nodes_.size()));
    while (table_.applications_by_cost_.size() <= cost)
      table_.applications_by_cost_.emplace_back(table_.applications_by_cost_.size());
    table_.statistics_.evaluated_by_cost.resize(cost + 1);
  }

  void add(const Plan& plan, const KeptTerms& kept) {
    std::size_t at = 0;
    for (const KeptTerm& term : kept.terms) {
      const std::uint32_t type = plan.output_types[term.output];
      const double* values = kept.values.data() + at;
      at += choice_count * table_.size_of(type);
      if (std::isnan(term.functional)) continue;
      if (table_.find(plan.op, term.output, term.operands)) continue;
      ++table_.statistics_.evaluated;
      ++table_.statistics_.evaluated_by_cost[cost_];
      TermNode node;
      node.op = plan.op;
      node.output = static_cast<std::uint16_t>(term.output);
      node.operands = term.operands;
      node.cost = static_cast<std::uint16_t>(cost_);
      set_applications(node);
      table_.insert(node, type, table_.key_of(type, term.functional), values);
    }
  }

 private:
  using Numbers = std::vector<std::uint32_t>;

  /// The operators below: those of members that need `cost_` of them together with this one.
  void set_applications(const TermNode& node) {
    Numbers all;
    (void)choose_members(node, 0, {}, number_of(node), all);
    all.resize(cost_, nothing);
    std::copy(all.begin(), all.end(), table_.applications_by_cost_[cost_].add().begin());
  }

  /// Of the operator of a node: the number of its other outputs, or a new one, which is larger than those below.
  std::uint32_t number_of(const TermNode& node) {
    const std::size_t outputs = table_.set_.operators[node.op].pattern.left.size();
    for (std::uint32_t output = 0; output < outputs; ++output)
      if (const auto other = table_.find(node.op, output, node.operands)) {
        const std::span<const std::uint32_t> numbers = table_.applications(*other);
        const auto last = std::find(numbers.begin(), numbers.end(), nothing);
        if (last != numbers.begin()) return *(last - 1);
      }
    return table_.application_count_++;
  }

  bool choose_members(const TermNode& node, std::size_t operand, const Numbers& below,
                      std::uint32_t own, Numbers& all) const {
    if (operand < most_operands && node.operands[operand] != nothing) {
      for (const TermNodeId id : table_.members(node.operands[operand])) {
        if (table_.nodes_[id].cost >= cost_) continue;
        Numbers more = below;
        for (const std::uint32_t x : table_.applications(id))
          if (x != nothing && std::find(more.begin(), more.end(), x) == more.end())
            more.push_back(x);
        if (more.size() < cost_ && choose_members(node, operand + 1, more, own, all)) return true;
      }
      return false;
    }
    if (below.size() + 1 > cost_) return false;
    all = below;
    if (std::find(all.begin(), all.end(), own) == all.end()) all.push_back(own);
    std::sort(all.begin(), all.end());
    return true;
  }

  TermTable& table_;
  std::size_t cost_;
};

Result<void> TermTable::add_level(std::size_t cost, const Options& options) {
  Level::Options level_options;
  level_options.threads = options.threads;
  level_options.piece_size =
      piece_size(options.memory, *std::max_element(sizes_.begin(), sizes_.end()));
  LEMMA_ASSIGN_OR_RETURN(Level level, Level::of(*this, cost, level_options));
  LevelBuilder builder(*this, cost);
  const auto add = [&](const std::vector<Piece>& pieces, double part) -> Result<void> {
    count_applications(pieces);
    std::vector<KeptTerms> kept(pieces.size());
    parallel_for(kept.size(), options.threads,
                 [&](std::size_t i) { kept[i] = evaluate_to_keep(pieces[i], *this); });
    for (std::size_t i = 0; i < kept.size(); ++i) {
      builder.add(*pieces[i].plan, kept[i]);
      kept[i] = {};
    }
    // What follows needs some as well.
    shrink_to(options.memory / 4 * 3);
    LEMMA_RETURN_IF_ERROR(check_memory(options, cost));
    if (is_cancelled(options)) return cancellation();
    if (options.progress) options.progress("level", part);
    return {};
  };
  return level.for_each_batch(*this, add);
}

}  // namespace lemma::generator
