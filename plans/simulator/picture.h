#pragma once
// A timetable as a picture: resources from top to bottom, time from left to right.

#include <string>
#include <string_view>

#include "plans/simulator/simulate.h"

namespace lemma::simulator {

/// SVG, with an axis of time and a row for each resource that runs something. Tasks with one name have one color; a tooltip has the
/// name, the start and the duration of each. Equal timetables have equal pictures.
std::string picture_svg(std::string_view title, const TaskGraph& graph, const Timetable& timetable);

}  // namespace lemma::simulator
