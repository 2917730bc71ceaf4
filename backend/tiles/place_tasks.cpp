#include "backend/tiles/place_tasks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace lemma::backend {

namespace {

/// Operators by wave, each one after those of its operands.
std::vector<std::vector<OperatorNumber>> waves_of(const OperatorGraph& graph, bool shares_steps) {
  std::vector<std::size_t> ready(graph.buffers.size(), 0);  // the first wave that may read a buffer
  std::vector<std::vector<OperatorNumber>> waves;
  for (OperatorNumber op = 0; op < graph.operators.size(); ++op) {
    std::size_t wave = shares_steps ? 0 : waves.size();
    for (const BufferNumber operand : graph.operators[op].operands())
      wave = std::max(wave, ready[operand]);
    if (wave >= waves.size()) waves.resize(wave + 1);
    waves[wave].push_back(op);
    for (const BufferNumber result : graph.operators[op].results()) ready[result] = wave + 1;
  }
  return waves;
}

double rounds(const Kernel& kernel, std::uint32_t tiles) {
  return std::ceil(static_cast<double>(kernel.task_count()) / tiles);
}

/// The kernel that ends first on so many tiles; of equals the one with the fewest tasks.
std::uint32_t best_kernel(const TaskOperator& op, std::uint32_t tiles) {
  std::uint32_t best = 0;
  double least = 0;
  for (std::uint32_t kernel = 0; kernel < op.kernels.size(); ++kernel) {
    const double seconds = rounds(op.kernels[kernel], tiles) * op.kernels[kernel].seconds_per_task;
    if (kernel > 0 && seconds >= least) continue;
    best = kernel;
    least = seconds;
  }
  return best;
}

/// What all tasks of an operator take together with its cheapest kernel.
double least_work(const TaskOperator& op) {
  double least = 0;
  for (const Kernel& kernel : op.kernels) {
    const double work = static_cast<double>(kernel.task_count()) * kernel.seconds_per_task;
    if (least == 0 || work < least) least = work;
  }
  return least;
}

class Placer {
 public:
  Placer(const OperatorGraph& graph, const VirtualDevice& device, const TileOptions& options)
      : graph_(graph), units_(device.units), shares_steps_(options.shares_steps) {
    result_.kernels.resize(graph.operators.size());
    result_.tiles.resize(graph.operators.size());
  }

  TilePlacement run() {
    for (const std::vector<OperatorNumber>& wave : waves_of(graph_, shares_steps_)) place(wave);
    return std::move(result_);
  }

 private:
  /// Shares of the tiles follow each other; those behind the last tile begin with the first again.
  void place(const std::vector<OperatorNumber>& wave) {
    double work = 0;
    for (const OperatorNumber op : wave) work += least_work(graph_.operators[op]);
    UnitNumber first = 0;
    for (const OperatorNumber op : wave) {
      const double part = work > 0 ? least_work(graph_.operators[op]) / work : 1;
      const auto share = static_cast<std::uint32_t>(std::clamp(
          std::floor(part * static_cast<double>(units_)), 1.0, static_cast<double>(units_)));
      first = place(op, share, first);
    }
  }

  /// The tile behind those of the operator's tasks.
  UnitNumber place(OperatorNumber number, std::uint32_t share, UnitNumber first) {
    const TaskOperator& op = graph_.operators[number];
    const std::uint32_t kernel = best_kernel(op, share);
    const auto tasks = static_cast<std::uint32_t>(op.kernels[kernel].task_count());
    const std::uint32_t used = std::min(share, tasks);
    result_.kernels[number] = kernel;
    std::vector<UnitNumber>& tiles = result_.tiles[number];
    // What an operand of the same cut was made on keeps its tasks: nothing is exchanged there.
    if (const auto same = operand_of_same_cut(op, tasks, used)) {
      tiles = result_.tiles[*same];
    } else {
      // Neighbouring tasks read neighbouring elements.
      for (std::uint32_t task = 0; task < tasks; ++task)
        tiles.push_back((first + static_cast<std::uint64_t>(task) * used / tasks) % units_);
    }
    for (const BufferNumber result : op.results()) maker_[result] = number;
    return (first + used) % units_;
  }

  /// The maker of an operand that has as many tasks on as many tiles.
  std::optional<OperatorNumber> operand_of_same_cut(const TaskOperator& op, std::size_t tasks,
                                                    std::uint32_t used) const {
    for (const BufferNumber operand : op.operands()) {
      const auto maker = maker_.find(operand);
      if (maker == maker_.end() || result_.tiles[maker->second].size() != tasks) continue;
      std::vector<UnitNumber> tiles = result_.tiles[maker->second];
      std::sort(tiles.begin(), tiles.end());
      tiles.erase(std::unique(tiles.begin(), tiles.end()), tiles.end());
      if (tiles.size() >= used) return maker->second;
    }
    return std::nullopt;
  }

  const OperatorGraph& graph_;
  std::uint32_t units_;
  bool shares_steps_;
  std::map<BufferNumber, OperatorNumber> maker_;
  TilePlacement result_;
};

}  // namespace

TilePlacement place_tasks(const OperatorGraph& graph, const VirtualDevice& device,
                          const TileOptions& options) {
  return Placer(graph, device, options).run();
}

}  // namespace lemma::backend
