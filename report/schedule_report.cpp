#include "report/schedule_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/memory/plan_memory.h"
#include "backend/simulate/lower_bound.h"
#include "backend/simulate/simulate.h"
#include "backend/traffic/traffic.h"
#include "report/printable.h"
#include "report/region_report.h"

namespace lemma {

using Json = nlohmann::ordered_json;

namespace {

Json json_of(const backend::Simulation& simulation, std::uint32_t units) {
  return {{"seconds", simulation.seconds},
          {"utilisation", simulation.utilisation(units)},
          {"outside_seconds", simulation.outside_seconds}};
}

/// The same schedule and the same calls where launches or waits take so many times as long as the descriptions say.
Json scaled_costs(const ScheduledModel& planned, double factor) {
  const backend::LibraryPlan& libraries = *planned.libraries;
  const double launch = factor * planned.program.device.seconds_per_launch;
  backend::TaskProgram program = planned.program;
  program.device.seconds_per_launch = launch;
  Json launches = {{"one_by_one_seconds", libraries.seconds_with(launch)},
                   {"graph_seconds", libraries.seconds_with(factor * libraries.launch_seconds)},
                   {"schedule_seconds", backend::simulate(program).seconds}};
  program.device = planned.program.device;
  program.device.seconds_per_event *= factor;
  return {{"factor", factor},
          {"launches", std::move(launches)},
          {"waits", {{"schedule_seconds", backend::simulate(program).seconds}}}};
}

Json libraries_of(std::span<const double> factors, const ScheduledModel& planned) {
  const backend::LibraryPlan& plan = *planned.libraries;
  const double launch = planned.program.device.seconds_per_launch;
  Json json = {{"calls", plan.calls},
               {"kernels", plan.kernels},
               {"bytes", plan.bytes},
               {"seconds_per_launch", launch},
               {"seconds_per_launch_in_graph", plan.launch_seconds},
               {"one_by_one_seconds", plan.seconds_with(launch)},
               {"graph_seconds", plan.seconds},
               {"operators_in_graph_seconds",
                backend::simulate_operator_by_operator(planned.program.graph,
                                                       planned.program.device, plan.launch_seconds)
                    .seconds}};
  for (const double factor : factors) json["scaled"].push_back(scaled_costs(planned, factor));
  return json;
}

Json json_of(const backend::TileTimes& times, std::uint32_t units) {
  return {{"seconds", times.seconds},
          {"utilisation", times.busy_seconds / (times.seconds * units)},
          {"exchange_seconds", times.exchange_seconds},
          {"computing_seconds", times.computing_seconds},
          {"exchanged_bytes", times.exchanged_bytes}};
}

Json tile_json(const ScheduleRequest& request, const ScheduledModel& planned) {
  const TileSchedule& tiles = *planned.tiles;
  const backend::TileProgram& program = tiles.program;
  const std::uint32_t units = program.device.units;
  Json json = {{"model", request.model},
               {"device", program.device.name},
               {"units", units},
               {"operators", program.graph.operators.size()},
               {"tasks", program.task_count()},
               {"supersteps", program.steps.size()},
               {"schedule", json_of(tiles.times, units)}};
  json["operator_by_operator"] = tiles.alone ? json_of(*tiles.alone, units) : Json();
  json["most_tile_bytes"] = *std::max_element(program.tile_bytes.begin(), program.tile_bytes.end());
  json["tile_memory_bytes"] = program.device.shared_bytes_per_unit;
  json["planning_seconds"] = planned.planning_seconds;
  json["planning_cpu_seconds"] = planned.planning_cpu_seconds;
  return json;
}

}  // namespace

Json schedule_json(const ScheduleRequest& request, const ScheduledModel& planned,
                   std::span<const double> factors) {
  if (planned.tiles) return tile_json(request, planned);
  const backend::TaskProgram& program = planned.program;
  const backend::VirtualDevice& device = program.device;
  const backend::LowerBound bound = backend::lower_bound(program.graph, device);
  const auto alone = [&](double between) {
    return json_of(backend::simulate_operator_by_operator(program.graph, device, between),
                   device.units);
  };
  std::size_t waits = 0;
  for (const auto& unit : program.units)
    for (const backend::Step& step : unit) waits += step.waits.size();
  Json json = {{"model", request.model},
               {"device", device.name},
               {"units", device.units},
               {"policy", request.policy},
               {"operators", program.graph.operators.size()},
               {"tasks", program.task_count()},
               {"waits", waits},
               {"kernels", kernel_count_json(program.graph)},
               {"schedule", json_of(backend::simulate(program), device.units)},
               {"operator_by_operator", alone(device.seconds_per_launch)},
               {"operators_after_barriers", alone(device.seconds_per_synchronization)}};
  json["lower_bound"] = {{"work", bound.work},
                         {"critical_path", bound.critical_path},
                         {"path_with_events", bound.path_with_events}};
  json["arena_bytes"] = program.arena_bytes;
  json["largest_live_bytes"] = backend::largest_live_bytes(program);
  json["unshared_bytes"] = backend::unshared_bytes(program);
  if (planned.libraries) {
    const backend::Traffic traffic = backend::planned_traffic(program);
    json["bytes_read"] = traffic.read;
    json["bytes_written"] = traffic.written;
    json["library_calls"] = libraries_of(factors, planned);
  }
  if (planned.regions) json["cut"] = region_json(*planned.regions);
  json["planning_seconds"] = planned.planning_seconds;
  json["planning_cpu_seconds"] = planned.planning_cpu_seconds;
  return json;
}

namespace {

std::string cut_text(const backend::RegionPlan& plan) {
  const std::string best =
      plan.cut_seconds ? fmt::format("{:.1f} microseconds", 1e6 * *plan.cut_seconds) : "none";
  std::string result = fmt::format(
      "{} library calls pay, of {}; one persistent kernel takes {:.1f} "
      "microseconds, the best cut with calls: {}\n",
      plan.program ? plan.program->calls.size() : 0, plan.candidates, 1e6 * plan.alone_seconds,
      best);
  if (!plan.program) return result;
  for (const std::string& line : region_lines(*plan.program)) result += printable(line) + "\n";
  return result;
}

}  // namespace

std::string schedule_text(const ScheduleRequest& request, const ScheduledModel& planned,
                          const Json& json) {
  if (planned.tiles)
    return printable(fmt::format(
               "{}: {} operators in {} tasks and {} supersteps on {} tiles take {:.1f} "
               "microseconds, of which exchanges {:.1f}; each operator alone {}; a tile needs {} "
               "bytes of its {} at most",
               request.model, json["operators"].get<std::size_t>(),
               json["tasks"].get<std::size_t>(), json["supersteps"].get<std::size_t>(),
               json["units"].get<std::uint32_t>(), 1e6 * planned.tiles->times.seconds,
               1e6 * planned.tiles->times.exchange_seconds,
               planned.tiles->alone ? fmt::format("{:.1f}", 1e6 * planned.tiles->alone->seconds)
                                    : "has no room",
               json["most_tile_bytes"].get<std::uint64_t>(),
               json["tile_memory_bytes"].get<std::uint64_t>())) +
           "\n";
  const Json& bound = json["lower_bound"];
  const std::string line = printable(fmt::format(
      "{}: {} operators in {} tasks on {} units take {:.1f} microseconds ({:.0f}% of "
      "the units' time in tasks); operator by operator {:.1f}; at least {:.1f}",
      request.model, planned.program.graph.operators.size(), planned.program.task_count(),
      planned.program.units.size(), 1e6 * json["schedule"]["seconds"].get<double>(),
      100 * json["schedule"]["utilisation"].get<double>(),
      1e6 * json["operator_by_operator"]["seconds"].get<double>(),
      1e6 * std::max(bound["work"].get<double>(), bound["critical_path"].get<double>())));
  return line + "\n" + (planned.regions ? cut_text(*planned.regions) : "");
}

Json kernel_count_json(const backend::OperatorGraph& graph) {
  const backend::KernelCount count = backend::kernel_count(graph);
  return {{"all", count.all}, {"with_recorded_times", count.recorded}};
}

}  // namespace lemma
