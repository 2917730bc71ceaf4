#include "backend/simulate/lower_bound.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "backend/lower/tile.h"
#include "backend/schedule/dependencies.h"
#include "backend/schedule/placement.h"

namespace lemma::backend {

namespace {

/// The least times of one operator, whatever its kernel.
struct Least {
  double work = 0;    // of all units together
  double task = 0;    // until some task has ended
  double all = 0;     // until all have, on all units
  double remote = 0;  // until a unit can know that all have, with the cost of waiting
};

/// The least time of a task, wherever it finds its weights. `is_repeated`: repeated_weights(), by
/// buffer.
double least_seconds(const TaskOperator& op, const Kernel& kernel,
                     const std::vector<bool>& is_repeated) {
  const bool may_be_kept = std::any_of(
      kernel.residents.begin(), kernel.residents.end(),
      [&](const ResidentLayout& layout) { return is_repeated[op.arguments[layout.argument]]; });
  return may_be_kept ? std::min(kernel.seconds_per_task, kernel.seconds_with_residents)
                     : kernel.seconds_per_task;
}

Least least_of(const TaskOperator& op, const VirtualDevice& device,
               const std::vector<bool>& is_repeated) {
  Least least;
  const double units = device.units;
  for (std::size_t i = 0; i < op.kernels.size(); ++i) {
    const double task = least_seconds(op, op.kernels[i], is_repeated);
    const double work = task * static_cast<double>(op.kernels[i].task_count());
    const double all = std::max(task, work / units);
    // On one unit, without an event; or with one, while the waiting unit itself may work on.
    const double apart = std::max(task + device.seconds_per_event,
                                  (work + (units - 1) * device.seconds_per_event) / units);
    const double remote = device.units == 1 ? work : std::min(work, apart);
    const auto lower = [i](double& value, double candidate) {
      value = i == 0 ? candidate : std::min(value, candidate);
    };
    lower(least.work, work);
    lower(least.task, task);
    lower(least.all, all);
    lower(least.remote, remote);
  }
  return least;
}

class Paths {
 public:
  Paths(const OperatorGraph& graph, const VirtualDevice& device)
      : graph_(graph),
        device_(device),
        is_repeated_(repeated_weights(graph)),
        dependencies_(graph) {
    for (const TaskOperator& op : graph.operators)
      if (!least_.contains(key_of(op))) least_[key_of(op)] = least_of(op, device, is_repeated_);
  }

  const Least& least(OperatorNumber op) const { return least_.at(key_of(graph_.operators[op])); }

  /// Whether each task of the operator, with each of its kernels, reads all of a result of another one. What a task reads of a
  /// kernel with more tasks is part of what one reads of a kernel with fewer.
  bool reads_all(OperatorNumber op, OperatorNumber writer) {
    const auto results = graph_.operators[writer].results();
    return std::any_of(results.begin(), results.end(),
                       [&](BufferNumber result) { return reads_all_of(op, result); });
  }

  /// Whether all of a result of another one is needed until all of the operator has been computed.
  bool uses_all(OperatorNumber op, OperatorNumber writer) {
    const auto results = graph_.operators[writer].results();
    return std::any_of(results.begin(), results.end(),
                       [&](BufferNumber result) { return uses_all_of(op, result); });
  }

  /// The least time from the beginning of the writer's first task to that of the first of a reader that
  /// needs only a part.
  double least_step(OperatorNumber writer, OperatorNumber reader) {
    const TaskOperator& from = graph_.operators[writer];
    const TaskOperator& to = graph_.operators[reader];
    std::vector<std::size_t> joints;  // results, and which arguments they are
    for (const Dependencies::Source& source : dependencies_.sources(reader))
      if (source.writer == writer) joints.insert(joints.end(), {source.result, source.argument});
    const auto [known, is_new] =
        steps_.emplace(std::tuple(key_of(from), to.kind, std::move(joints)), least(writer).task);
    constexpr std::size_t few = 8;  // so many pairs of kernels are looked at
    if (!is_new || from.kernels.size() > few || to.kernels.size() > few) return known->second;
    for (std::uint32_t i = 0; i < from.kernels.size(); ++i) {
      const double task = least_seconds(from, from.kernels[i], is_repeated_);
      const auto needed = static_cast<double>(fewest_tasks(writer, i, reader));
      const double step =
          needed <= 1 ? task : std::min(needed * task, task + device_.seconds_per_event);
      known->second = i == 0 ? step : std::min(known->second, step);
    }
    return known->second;
  }

 private:
  /// The kind, and whether others read some of the weights.
  using Key = std::pair<std::uint32_t, bool>;
  Key key_of(const TaskOperator& op) const {
    return {op.kind, std::any_of(op.arguments.begin(), op.arguments.end(),
                                 [this](BufferNumber buffer) { return is_repeated_[buffer]; })};
  }

  bool reads_all_of(OperatorNumber op, BufferNumber buffer) {
    const TaskOperator& reader = graph_.operators[op];
    const auto [known, is_new] =
        reads_all_.emplace(std::pair(reader.kind, positions(reader, buffer)), true);
    if (!is_new) return known->second;
    for (const Kernel& kernel : reader.kernels)
      for (std::int64_t task = 0; task < kernel.task_count() && known->second; ++task)
        known->second = covers(access_of(reader, kernel, task), buffer);
    return known->second;
  }

  bool uses_all_of(OperatorNumber op, BufferNumber buffer) {
    const TaskOperator& reader = graph_.operators[op];
    const auto [known, is_new] =
        uses_all_.emplace(std::pair(reader.kind, positions(reader, buffer)), false);
    constexpr std::int64_t most_elements = 1 << 12;  // larger ones count as not needed
    if (!is_new || graph_.buffers[buffer].elements > most_elements) return known->second;
    known->second =
        std::all_of(reader.kernels.begin(), reader.kernels.end(),
                    [&](const Kernel& kernel) { return tasks_cover(reader, kernel, buffer); });
    return known->second;
  }

  /// The positions of a buffer among the arguments. It may be several of them.
  static std::vector<std::size_t> positions(const TaskOperator& op, BufferNumber buffer) {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < op.arguments.size(); ++i)
      if (op.arguments[i] == buffer) result.push_back(i);
    return result;
  }

  /// Whether the tasks together read all of it.
  bool tasks_cover(const TaskOperator& reader, const Kernel& kernel, BufferNumber buffer) const {
    std::vector<bool> is_read(static_cast<std::size_t>(graph_.buffers[buffer].elements), false);
    for (std::int64_t task = 0; task < kernel.task_count(); ++task)
      for (const Region& read : access_of(reader, kernel, task).reads)
        if (read.buffer == buffer) mark(read, 0, read.base, is_read);
    return std::find(is_read.begin(), is_read.end(), false) == is_read.end();
  }

  static void mark(const Region& region, std::size_t axis, std::int64_t at,
                   std::vector<bool>& is_read) {
    if (axis == region.axes.size()) {
      is_read[static_cast<std::size_t>(at)] = true;
      return;
    }
    for (std::int64_t i = 0; i < region.axes[axis].extent; ++i)
      mark(region, axis + 1, at + i * region.axes[axis].stride, is_read);
  }

  /// The fewest of the writer's tasks that one task of the reader needs, whatever its kernel.
  std::size_t fewest_tasks(OperatorNumber writer, std::uint32_t kernel, OperatorNumber reader) {
    std::size_t fewest = SIZE_MAX;
    for (std::uint32_t i = 0; i < graph_.operators[reader].kernels.size(); ++i) {
      std::size_t most = 0;  // by argument
      for (const Dependencies::Source& source : dependencies_.sources(reader)) {
        if (source.writer != writer) continue;
        std::size_t least = SIZE_MAX;
        for (const auto& list : dependencies_.tasks(source, kernel, reader, i).lists)
          least = std::min(least, list.size());
        most = std::max(most, least);
      }
      fewest = std::min(fewest, most);
    }
    return fewest;
  }

  bool covers(const TaskAccess& access, BufferNumber buffer) const {
    return std::any_of(access.reads.begin(), access.reads.end(), [&](const Region& read) {
      std::int64_t elements = 1;
      for (const Region::Axis& axis : read.axes) elements *= axis.extent;
      return read.buffer == buffer && elements == graph_.buffers[buffer].elements;
    });
  }

  const OperatorGraph& graph_;
  const VirtualDevice& device_;
  std::vector<bool> is_repeated_;  // by buffer
  Dependencies dependencies_;
  std::map<Key, Least> least_;
  /// Known answers, by kind and the arguments that the buffer is.
  std::map<std::pair<std::uint32_t, std::vector<std::size_t>>, bool> reads_all_, uses_all_;
  /// Known steps, by kinds of writer and reader, and what joins them: operators of the same kinds may be joined
  /// in other ways.
  std::map<std::tuple<Key, std::uint32_t, std::vector<std::size_t>>, double> steps_;
};

/// The operators that each operator needs: what has to have been computed, all of it, when all of
/// the operator has been.
std::vector<std::vector<bool>> needed_operators(
    const OperatorGraph& graph, const std::vector<std::vector<OperatorNumber>>& before,
    Paths& paths) {
  const std::size_t count = graph.operators.size();
  std::vector<std::vector<bool>> needed(count, std::vector<bool>(count, false));
  for (OperatorNumber op = 0; op < count; ++op) {
    needed[op][op] = true;
    for (const OperatorNumber earlier : before[op]) {
      if (!paths.uses_all(op, earlier)) continue;
      for (OperatorNumber i = 0; i <= earlier; ++i)
        if (needed[earlier][i]) needed[op][i] = true;
    }
  }
  return needed;
}

}  // namespace

LowerBound lower_bound(const OperatorGraph& graph, const VirtualDevice& device) {
  Paths paths(graph, device);
  LowerBound bound;
  // When each operator can begin at the earliest.
  std::vector<double> begins(graph.operators.size(), 0), waiting(graph.operators.size(), 0);
  const auto before = predecessors(graph);
  const auto needed = needed_operators(graph, before, paths);
  for (OperatorNumber op = 0; op < graph.operators.size(); ++op) {
    for (const OperatorNumber earlier : before[op]) {
      const Least& least = paths.least(earlier);
      if (!paths.reads_all(op, earlier)) {
        begins[op] = std::max(begins[op], begins[earlier] + least.task);
        waiting[op] = std::max(waiting[op], waiting[earlier] + paths.least_step(earlier, op));
        continue;
      }
      double work = 0;
      for (OperatorNumber i = 0; i <= earlier; ++i)
        if (needed[earlier][i]) work += paths.least(i).work / device.units;
      begins[op] = std::max({begins[op], begins[earlier] + least.all, work});
      waiting[op] = std::max({waiting[op], waiting[earlier] + least.remote, work});
    }
    const Least& least = paths.least(op);
    bound.work += least.work / device.units;
    bound.critical_path = std::max(bound.critical_path, begins[op] + least.all);
    bound.path_with_events = std::max(bound.path_with_events, waiting[op] + least.all);
  }
  return bound;
}

}  // namespace lemma::backend
