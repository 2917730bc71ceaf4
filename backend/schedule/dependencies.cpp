#include "backend/schedule/dependencies.h"

#include <algorithm>

#include "backend/lower/tile.h"
#include "backend/region_box.h"
#include "backend/schedule/schedule.h"

namespace lemma::backend {

namespace {

/// The tasks of a kernel whose parts meet the box along the axes of the grid; visits each once, ascending.
template <typename Visit>
void visit_parts(const Kernel& kernel, const RegionBox& box, const Visit& visit) {
  const std::size_t rank = kernel.extents.size();
  std::vector<std::int64_t> first(rank), last(rank), counts(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    first[i] = box[i].first / kernel.parts[i];
    last[i] = (box[i].second - 1) / kernel.parts[i];
    counts[i] = (kernel.extents[i] + kernel.parts[i] - 1) / kernel.parts[i];
  }
  std::vector<std::int64_t> at = first;
  while (true) {
    std::int64_t task = 0;
    for (std::size_t i = 0; i < rank; ++i) task = task * counts[i] + at[i];
    visit(static_cast<std::uint32_t>(task));
    std::size_t i = rank;
    while (i > 0 && at[i - 1] == last[i - 1]) {
      --i;
      at[i] = first[i];
    }
    if (i == 0) return;
    ++at[i - 1];
  }
}

/// The extents of the grid, and the elements of a result for each of its points, if there are several.
std::vector<std::int64_t> result_extents(const Kernel& kernel, std::int64_t elements) {
  std::vector<std::int64_t> extents = kernel.extents;
  for (const std::int64_t extent : kernel.extents) elements /= extent;
  if (elements > 1) extents.push_back(elements);
  return extents;
}

/// The tasks of the writer, what each writes as in `writes`, that the region of a result of so many elements meets.
void add_writers(const Region& read, const Kernel& kernel, std::int64_t elements,
                 std::size_t result, const std::vector<TaskAccess>& writes,
                 std::vector<bool>& is_read) {
  if (const auto box = box_of_region(read, result_extents(kernel, elements))) {
    visit_parts(kernel, *box, [&is_read](std::uint32_t task) { is_read[task] = true; });
    return;
  }
  for (std::size_t task = 0; task < writes.size(); ++task) {
    Region write = writes[task].writes[result];
    write.buffer = read.buffer;
    if (!is_read[task] && may_overlap(read, write)) is_read[task] = true;
  }
}

}  // namespace

Dependencies::Dependencies(const OperatorGraph& graph)
    : graph_(graph), sources_(graph.operators.size()) {
  std::vector<std::optional<Source>> writers(graph.buffers.size());
  for (OperatorNumber op = 0; op < graph.operators.size(); ++op) {
    const auto operands = graph.operators[op].operands(), results = graph.operators[op].results();
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (const auto writer = writers[operands[i]])
        sources_[op].push_back({i, writer->writer, writer->result});
    for (std::size_t i = 0; i < results.size(); ++i) writers[results[i]] = Source{0, op, i};
  }
}

const Dependencies::KindAccesses& Dependencies::kind_accesses(OperatorNumber op,
                                                              std::uint32_t kernel) {
  const TaskOperator& task_operator = graph_.operators[op];
  const auto [entry, is_new] = accesses_.try_emplace({task_operator.kind, kernel});
  if (is_new) {
    entry->second.op = op;
    const Kernel& cut = task_operator.kernels[kernel];
    for (std::int64_t task = 0; task < cut.task_count(); ++task)
      entry->second.tasks.push_back(access_of(task_operator, cut, task));
  }
  return entry->second;
}

std::vector<TaskAccess> Dependencies::accesses_of(OperatorNumber op, std::uint32_t kernel) {
  const KindAccesses& known = kind_accesses(op, kernel);
  std::vector<TaskAccess> result = known.tasks;
  if (known.op == op) return result;
  const std::vector<BufferNumber>& from = graph_.operators[known.op].arguments;
  const std::vector<BufferNumber>& to = graph_.operators[op].arguments;
  const auto replace = [&](Region& region) {
    const auto position = std::find(from.begin(), from.end(), region.buffer) - from.begin();
    region.buffer = to[static_cast<std::size_t>(position)];
  };
  for (TaskAccess& access : result) {
    for (Region& write : access.writes) replace(write);
    for (Region& read : access.reads) replace(read);
  }
  return result;
}

const TaskLists& Dependencies::tasks(const Source& source, std::uint32_t writer_kernel,
                                     OperatorNumber reader, std::uint32_t reader_kernel) {
  const TaskOperator& from = graph_.operators[source.writer];
  const auto [entry, is_new] =
      lists_.try_emplace({from.kind, writer_kernel, source.result, graph_.operators[reader].kind,
                          reader_kernel, source.argument});
  TaskLists& result = entry->second;
  if (!is_new) return result;
  const std::vector<TaskAccess>& writes = kind_accesses(source.writer, writer_kernel).tasks;
  const KindAccesses& reads = kind_accesses(reader, reader_kernel);
  const BufferNumber buffer = graph_.operators[reads.op].arguments[source.argument];
  const std::int64_t elements = graph_.buffers[from.results()[source.result]].elements;
  std::map<std::vector<bool>, std::uint32_t> groups;
  for (const TaskAccess& access : reads.tasks) {
    std::vector<bool> is_read(writes.size(), false);
    for (const Region& read : access.reads)
      if (read.buffer == buffer)
        add_writers(read, from.kernels[writer_kernel], elements, source.result, writes, is_read);
    const auto [group, is_new_group] =
        groups.try_emplace(is_read, static_cast<std::uint32_t>(result.lists.size()));
    result.group.push_back(group->second);
    if (!is_new_group) continue;
    std::vector<std::uint32_t>& list = result.lists.emplace_back();
    for (std::uint32_t task = 0; task < is_read.size(); ++task)
      if (is_read[task]) list.push_back(task);
  }
  return result;
}

}  // namespace lemma::backend
