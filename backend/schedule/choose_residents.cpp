#include "backend/schedule/choose_residents.h"

#include <algorithm>
#include <map>
#include <set>

#include "backend/schedule/resident_needs.h"

namespace lemma::backend {

namespace {

/// Tasks of a unit that need the same parts.
struct TaskGroup {
  std::vector<Task> tasks;
  std::vector<std::vector<ResidentRead>> reads;  // by task
};
using TaskGroups = std::map<std::vector<ResidentPart>, TaskGroup>;

class UnitResidents {
 public:
  explicit UnitResidents(std::uint64_t room) : room_(room) {}

  void add(const Task& task, ResidentNeeds needs) {
    if (needs.parts.empty()) return;
    TaskGroup& group = groups_[std::move(needs.parts)];
    group.tasks.push_back(task);
    group.reads.push_back(std::move(needs.reads));
  }

  /// Places parts, and says which tasks read them.
  void choose(std::vector<ResidentPart>& parts, ResidentWeights& residents) {
    std::vector<TaskGroups::const_iterator> order;
    for (auto group = groups_.cbegin(); group != groups_.cend(); ++group) order.push_back(group);
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a->second.tasks.size() > b->second.tasks.size();
    });
    for (const auto& group : order)
      if (take(group->first, group->second.tasks.size(), parts)) note(*group, parts, residents);
    residents.bytes = std::max(residents.bytes, taken_);
  }

 private:
  bool take(const std::vector<ResidentPart>& needed, std::size_t tasks,
            std::vector<ResidentPart>& parts) {
    std::set<ResidentPart> missing;
    std::uint64_t bytes = 0;
    for (const ResidentPart& part : needed)
      if (!numbers_.contains(part) && missing.insert(part).second) bytes += aligned_bytes(part);
    if ((tasks == 1 && bytes > 0) || bytes > room_ - taken_) return false;
    for (const ResidentPart& part : missing) {
      numbers_[part] = static_cast<std::uint32_t>(parts.size());
      parts.push_back(part);
      parts.back().place = taken_;
      taken_ += aligned_bytes(part);
    }
    return true;
  }

  void note(const TaskGroups::value_type& group, const std::vector<ResidentPart>& parts,
            ResidentWeights& residents) const {
    for (std::size_t i = 0; i < group.second.tasks.size(); ++i) {
      const Task& task = group.second.tasks[i];
      std::vector<ResidentRead>& reads = residents.reads[task.op][task.number];
      reads = group.second.reads[i];
      for (ResidentRead& read : reads) {
        read.part = numbers_.at(group.first[read.part]);
        read.origin += static_cast<std::int64_t>(parts[read.part].place);
      }
    }
  }

  std::uint64_t room_, taken_ = 0;
  TaskGroups groups_;
  std::map<ResidentPart, std::uint32_t> numbers_;  // of those that are kept
};

std::uint64_t rounded_up(std::uint64_t bytes) {
  constexpr std::uint64_t alignment = 128;
  return (bytes + alignment - 1) / alignment * alignment;
}

/// Where parts may begin: behind what tasks take, which have the device's memory where this is too little.
std::uint64_t first_place(const TaskProgram& program, std::uint64_t addresses) {
  addresses = std::max(addresses, address_bytes(program.graph));
  std::uint64_t most = 0;
  for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op)
    if (const std::uint64_t bytes = program.kernel(op).shared_bytes;
        addresses + bytes <= program.device.shared_bytes_per_unit)
      most = std::max(most, bytes);
  return rounded_up(addresses + most);
}

}  // namespace

void choose_residents(TaskProgram& program, std::uint64_t addresses) {
  program.residents = {};
  ResidentWeights residents;
  residents.offset = first_place(program, addresses);
  if (residents.offset >= program.device.shared_bytes_per_unit) return;
  for (const std::vector<TaskAccess>& tasks : program.accesses)
    residents.reads.emplace_back(tasks.size());
  const std::vector<bool> is_repeated = repeated_weights(program.graph);
  for (const std::vector<Step>& steps : program.units) {
    UnitResidents unit(program.device.shared_bytes_per_unit - residents.offset);
    for (const Step& step : steps) {
      const auto& [op, number] = step.task;
      unit.add(step.task, resident_needs(program.graph, is_repeated, op, program.kernel(op),
                                         program.accesses[op][number]));
    }
    unit.choose(residents.parts.emplace_back(), residents);
  }
  if (residents.bytes > 0) program.residents = std::move(residents);
}

}  // namespace lemma::backend
