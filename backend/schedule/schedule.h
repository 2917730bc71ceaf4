#pragma once
// From a placement to a program: which task waits for which.

#include "backend/schedule/placement.h"

namespace lemma::backend {

/// A task waits only for tasks of other units whose results it reads, by regions, and only where no other wait
/// says so already: at most once for each other unit. Each unit has one counter, which grows with its tasks that
/// others wait for. Buffers are not placed in memory yet.
TaskProgram make_program(OperatorGraph graph, const VirtualDevice& device,
                         const Placement& placement);

/// Whether two regions of a buffer may have an element in common.
bool may_overlap(const Region& a, const Region& b);

/// How many tasks of each unit have ended for certain.
using Clock = std::vector<std::uint32_t>;
/// When each step begins, by unit and position.
std::vector<std::vector<Clock>> clocks_of(const TaskProgram& program);

/// How many tasks of each unit a step, by its unit and position, needs to have ended. An empty clock needs
/// none.
using StepNeeds = std::vector<std::vector<Clock>>;
/// Derives the waits again, so that steps have what they need beside what they waited for. As planned, what a step needs
/// begins before it does.
void add_needs(TaskProgram& program, const StepNeeds& needs);

/// Fewer waits for the same order: where a step waits for several steps of one operator on different units, these share a
/// counter, and one wait takes the place of those. Only where more waits are saved than signals are added, and only for
/// steps that have all ended when the wait has to pass as planned, so that no step begins later. On wide devices, a task
/// that reads all of a tensor waits for all units otherwise.
void share_counters(TaskProgram& program);

/// The seconds by which each step alone may begin later, as planned, so that the last one of all ends at the same
/// time.
std::vector<std::vector<double>> planned_slack(const TaskProgram& program);

/// When each step begins and ends as the device's costs have it, by unit and position. The first of a unit begins when the
/// unit has the weights that it keeps.
std::vector<std::vector<std::pair<double, double>>> planned_times(const TaskProgram& program);
/// When the last step ends as planned.
double planned_end(const TaskProgram& program);

}  // namespace lemma::backend
