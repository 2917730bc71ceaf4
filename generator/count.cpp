#include "generator/count.h"

#include <map>

namespace lemma::generator {
namespace {

using TypeCounts = std::vector<double>;  // by type: how many tensors there are

/// Applications with the same output types, and how many there are.
struct Kind {
  std::vector<std::uint32_t> outputs;
  double count = 0;
};

double choose(double n, std::size_t k) {
  double result = 1;
  for (std::size_t i = 0; i < k; ++i)
    result *= (n - static_cast<double>(i)) / static_cast<double>(i + 1);
  return n < static_cast<double>(k) ? 0 : result;
}

/// A graph is counted layer by layer: an application is in the layer after the last of those it
/// depends on. So the layers of a graph are determined, and each graph is counted once.
class LayerCount {
 public:
  explicit LayerCount(const TermTable& table) : table_(table) {
    table.for_each_plan([this](const Plan& plan) { plans_.push_back(&plan); });
  }

  double count(std::size_t size) const {
    TypeCounts inputs(table_.types().size());
    for (std::size_t i = 0; i < table_.set().inputs.size(); ++i) ++inputs[table_.classes()[i].type];
    return layers(TypeCounts(inputs.size()), inputs, size);
  }

 private:
  /// Ways to choose further layers of `left` applications in all; those of `before` were chosen from
  /// already.
  double layers(const TypeCounts& before, const TypeCounts& now, std::size_t left) const {
    const std::vector<Kind> kinds = new_applications(before, now);
    double all = 0;
    for (const Kind& kind : kinds) all += kind.count;
    double total = choose(all, left);  // in one layer, the last one
    for (std::size_t size = 1; size < left; ++size) {
      TypeCounts next = now;
      total += subsets(kinds, 0, size, 1, now, next, left - size);
    }
    return total;
  }

  /// Subsets of `size` applications from kind `first` on, each followed by further layers.
  double subsets(const std::vector<Kind>& kinds, std::size_t first, std::size_t size, double ways,
                 const TypeCounts& now, TypeCounts& next, std::size_t left) const {
    if (size == 0) return ways * layers(now, next, left);
    double total = 0;
    for (std::size_t i = first; i < kinds.size(); ++i) {
      for (std::size_t taken = 1; taken <= size; ++taken) {
        const double chosen = choose(kinds[i].count, taken);
        if (chosen == 0) break;
        change(next, kinds[i], static_cast<double>(taken));
        total += subsets(kinds, i + 1, size - taken, ways * chosen, now, next, left);
        change(next, kinds[i], -static_cast<double>(taken));
      }
    }
    return total;
  }

  static void change(TypeCounts& counts, const Kind& kind, double by) {
    for (const std::uint32_t type : kind.outputs) counts[type] += by;
  }

  std::vector<Kind> new_applications(const TypeCounts& before, const TypeCounts& now) const {
    std::map<std::vector<std::uint32_t>, double> counts;
    for (const Plan* plan : plans_)
      if (const double more = applications(*plan, now) - applications(*plan, before); more > 0)
        counts[plan->output_types] += more;
    std::vector<Kind> kinds;
    for (const auto& [outputs, count] : counts) kinds.push_back({outputs, count});
    return kinds;
  }

  double applications(const Plan& plan, const TypeCounts& counts) const {
    if (table_.set().operators[plan.op].commutative) {
      const double n = counts[plan.operand_types[0]];
      return n * (n + 1) / 2;
    }
    double result = 1;
    // An operator without operands can be applied from the beginning on, once.
    if (plan.operand_types[0] == nothing) return counts == TypeCounts(counts.size()) ? 0 : 1;
    for (const std::uint32_t type : plan.operand_types)
      if (type != nothing) result *= counts[type];
    return result;
  }

  const TermTable& table_;
  std::vector<const Plan*> plans_;
};

}  // namespace

double count_graphs(const TermTable& table, std::size_t most) {
  const LayerCount layers(table);
  double total = 0;
  for (std::size_t size = 1; size <= most; ++size) total += layers.count(size);
  return total;
}

}  // namespace lemma::generator
