// The evaluation of a level whose terms are kept.

#include <algorithm>
#include <cmath>

#include "generator/pieces.h"
#include "generator/terms.h"
#include "system/parallel.h"

namespace lemma::generator {
namespace {

struct KeptTerm {
  Operands operands;
  std::uint32_t output = 0;
  double functional = 0;
};
struct KeptTerms {
  std::vector<KeptTerm> terms;
  std::vector<double> values;  // of the terms, one after the other
};

KeptTerms evaluate_to_keep(const Piece& piece, const TermTable& table, const ClassValues& classes) {
  KeptTerms result;
  LaneEvaluator evaluator(classes);
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
  LevelBuilder(TermTable& table, std::size_t cost) : table_(table), cost_(cost) {}

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
      node.output = term.output;
      node.operands = term.operands;
      node.cost = static_cast<std::uint8_t>(cost_);
      set_applications(node);
      table_.insert(node, type, table_.key_of(type, term.functional), values);
    }
  }

 private:
  /// The operators below: those of members that need `cost_` of them together with this one.
  void set_applications(TermNode& node) {
    const std::array<std::uint32_t, 4> key = {node.op, node.operands[0], node.operands[1],
                                              node.operands[2]};
    const auto number = static_cast<std::uint32_t>(table_.applications_.size());
    const std::uint32_t own = table_.applications_.try_emplace(key, number).first->second;
    node.applications.fill(nothing);
    std::array<std::uint32_t, most_operators> all = node.applications;
    (void)choose_members(node, 0, {}, own, all);
    node.applications = all;
  }

  bool choose_members(const TermNode& node, std::size_t operand, std::vector<std::uint32_t> below,
                      std::uint32_t own, std::array<std::uint32_t, most_operators>& all) const {
    if (operand < most_operands && node.operands[operand] != nothing) {
      for (const TermNodeId id : table_.classes_[node.operands[operand]].members) {
        const TermNode& member = table_.nodes_[id];
        if (member.cost >= cost_) continue;
        std::vector<std::uint32_t> more = below;
        for (const std::uint32_t x : member.applications)
          if (x != nothing && std::find(more.begin(), more.end(), x) == more.end())
            more.push_back(x);
        if (more.size() < cost_ && choose_members(node, operand + 1, std::move(more), own, all))
          return true;
      }
      return false;
    }
    if (below.size() + 1 > cost_) return false;
    if (std::find(below.begin(), below.end(), own) == below.end()) below.push_back(own);
    std::sort(below.begin(), below.end());
    std::copy(below.begin(), below.end(), all.begin());
    return true;
  }

  TermTable& table_;
  std::size_t cost_;
};

Result<void> TermTable::add_level(std::size_t cost, const Options& options) {
  LEMMA_ASSIGN_OR_RETURN(const Level level, Level::of(*this, cost, options.threads));
  statistics_.pairs_shared += level.shared_pair_count();
  count_applications(level);
  LevelBuilder builder(*this, cost);
  const std::vector<Piece>& pieces = level.pieces();
  for (std::size_t begin = 0; begin < pieces.size(); begin += pieces_at_once) {
    const std::size_t end = std::min(pieces.size(), begin + pieces_at_once);
    const ClassValues classes{&values_, &offsets_, &weights_};
    std::vector<KeptTerms> kept(end - begin);
    parallel_for(kept.size(), options.threads, [&](std::size_t i) {
      kept[i] = evaluate_to_keep(pieces[begin + i], *this, classes);
    });
    for (std::size_t i = begin; i < end; ++i) {
      builder.add(*pieces[i].plan, kept[i - begin]);
      kept[i - begin] = {};
    }
    if (is_cancelled(options)) return cancellation();
    if (options.progress)
      options.progress("level", static_cast<double>(end) / static_cast<double>(pieces.size()));
  }
  return {};
}

}  // namespace lemma::generator
