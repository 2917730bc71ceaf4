#pragma once
// A timetable as a trace that browsers show (Perfetto, chrome://tracing).

#include <string>

#include "plans/simulator/simulate.h"

namespace lemma::simulator {

/// One JSON object in the Trace Event Format: a row for each resource, with what runs on it from when to when, in microseconds,
/// and a counter for each memory. Tasks without a resource are left out. Equal timetables have equal texts.
std::string trace_text(const TaskGraph& graph, const Timetable& timetable);

}  // namespace lemma::simulator
