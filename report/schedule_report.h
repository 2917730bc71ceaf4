#pragma once
// What is said of a model that is planned for a device.

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "programs/schedule_plan.h"

namespace lemma {

/// `factors`: for each, what the schedule would take where launches or waits take so many times as long.
nlohmann::ordered_json schedule_json(const ScheduleRequest& request, const ScheduledModel& planned,
                                     std::span<const double> factors = {});

/// A sentence, then a line for each call and kernel of a cut. `json`: of the same plan.
std::string schedule_text(const ScheduleRequest& request, const ScheduledModel& planned,
                          const nlohmann::ordered_json& json);

/// How many kernels a program has, and how many have recorded times.
nlohmann::ordered_json kernel_count_json(const backend::OperatorGraph& graph);

}  // namespace lemma
