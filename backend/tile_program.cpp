#include "backend/tile_program.h"

#include <algorithm>

namespace lemma::backend {

std::int64_t TileBlock::elements() const {
  std::int64_t count = 0;
  for (const ElementRun& run : runs) count += run.end - run.first;
  return count;
}

std::size_t TileProgram::task_count() const {
  std::size_t count = 0;
  for (const Superstep& step : steps) count += step.tasks.size();
  return count;
}

namespace {

/// Bytes that each tile sends: elements that several tiles receive count once.
std::vector<double> sent_bytes(const TileProgram& program, const Superstep& step) {
  std::vector<TileTransfer> transfers = step.transfers;
  std::sort(transfers.begin(), transfers.end(), [](const TileTransfer& a, const TileTransfer& b) {
    return std::pair(a.from, a.run.first) < std::pair(b.from, b.run.first);
  });
  std::vector<double> bytes(program.device.units, 0);
  std::int64_t until = 0;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const TileTransfer& transfer = transfers[i];
    if (i == 0 || transfers[i - 1].from != transfer.from) until = transfer.run.first;
    const TileBlock& block = program.blocks[transfer.from];
    const std::int64_t fresh = transfer.run.end - std::max(until, transfer.run.first);
    if (fresh <= 0) continue;
    bytes[block.tile] += static_cast<double>(fresh) *
                         static_cast<double>(byte_size(program.graph.buffers[block.buffer].type));
    until = transfer.run.end;
  }
  return bytes;
}

double exchange_seconds(const TileProgram& program, const Superstep& step, TileTimes& times) {
  if (step.transfers.empty()) return 0;
  std::vector<double> bytes = sent_bytes(program, step);
  std::vector<double> received(program.device.units, 0);
  for (const TileTransfer& transfer : step.transfers) {
    const TileBlock& block = program.blocks[transfer.to];
    const auto count = static_cast<std::uint64_t>(transfer.run.end - transfer.run.first) *
                       byte_size(program.graph.buffers[block.buffer].type);
    received[block.tile] += static_cast<double>(count);
    times.exchanged_bytes += count;
  }
  double most = 0;
  for (std::size_t tile = 0; tile < bytes.size(); ++tile)
    most = std::max({most, bytes[tile], received[tile]});
  const TileExchange& exchange = *program.device.exchange;
  return exchange.seconds + most * exchange.seconds_per_byte;
}

}  // namespace

TileTimes simulate(const TileProgram& program) {
  TileTimes times;
  for (const Superstep& step : program.steps) {
    times.exchange_seconds += exchange_seconds(program, step, times);
    std::vector<double> busy(program.device.units, 0);
    for (const TileTask& task : step.tasks) {
      const Kernel& kernel = program.kernel(task.task.op);
      busy[task.tile] += kernel.seconds_per_task - kernel.exchange_seconds;
    }
    for (const double seconds : busy) times.busy_seconds += seconds;
    times.computing_seconds += *std::max_element(busy.begin(), busy.end());
  }
  times.seconds =
      program.device.seconds_per_launch + times.exchange_seconds + times.computing_seconds;
  return times;
}

}  // namespace lemma::backend
