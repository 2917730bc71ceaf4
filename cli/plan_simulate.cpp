#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/plan_program.h"
#include "outputs/files.h"
#include "plans/simulator/memory.h"
#include "plans/simulator/picture.h"
#include "plans/simulator/trace.h"
#include "plans/timetables/task_graphs.h"
#include "programs/shape_option.h"
#include "report/printable.h"
#include "report/table.h"

namespace lemma {

namespace {

using simulator::Time;

struct SimulatePlanArguments : PlanArguments {
  ClusterArguments cluster;
  std::string events, timeline;
  bool json = false;
};

struct Simulated {
  simulator::TaskGraph graph;
  simulator::Timetable timetable;
  std::string cluster;
  std::size_t ranks = 0;

  double seconds(Time time) const { return static_cast<double>(time) * 1e-12; }
};

Result<Simulated> simulate_plan(const SimulatePlanArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(const PricedCluster priced, priced_cluster(arguments.cluster));
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(arguments.single, reading));
  LEMMA_ASSIGN_OR_RETURN(const AnyProgram any, program_of(arguments, model));
  plans::NodePrices prices(priced.costs);
  Simulated result;
  result.cluster = priced.cluster.name;
  if (any.ranked) {
    result.ranks = any.ranked->rank_count();
    if (result.ranks > priced.cluster.devices.size())
      return bad_input(fmt::format("the plan is for {} devices, and the cluster '{}' has {}",
                                   result.ranks, priced.cluster.name,
                                   priced.cluster.devices.size()));
    LEMMA_ASSIGN_OR_RETURN(result.graph,
                           plans::task_graph(*any.ranked, plans::Paths(priced.cluster), prices));
  } else {
    result.ranks = static_cast<std::size_t>(any.same.mesh.device_count());
    LEMMA_ASSIGN_OR_RETURN(const clusters::Mesh mesh,
                           plans::matching_mesh(any.same.mesh, priced.cluster));
    LEMMA_ASSIGN_OR_RETURN(result.graph,
                           plans::task_graph(any.same, mesh, priced.cluster.overlaps, prices));
  }
  if (const auto fault = simulator::fault_of(result.graph)) return internal_error(*fault);
  result.timetable = simulator::simulate(result.graph);
  return result;
}

/// By rank: what its device computes, what its ports are in use for, and the most that is in its memory.
void print_table(const Simulated& simulated) {
  const std::vector<Time> busy = simulator::busy_times(simulated.graph);
  const auto peaks = simulator::peaks(simulated.graph, simulated.timetable);
  Table table({"rank", "computing", "sending", "receiving", "bytes needed"},
              std::vector<Table::Align>(5, Table::Align::right));
  for (std::size_t rank = 0; rank < simulated.ranks; ++rank)
    table.add({fmt::format("{}", rank), duration_text(simulated.seconds(busy[rank])),
               duration_text(simulated.seconds(busy[simulated.ranks + rank])),
               duration_text(simulated.seconds(busy[2 * simulated.ranks + rank])),
               with_prefix(static_cast<double>(peaks[rank]))});
  std::cout << table.text();
  std::cout << fmt::format("{} on {}, with {} tasks; no order of these tasks takes less than {}\n",
                           duration_text(simulated.seconds(simulated.timetable.end())),
                           simulated.cluster, simulated.graph.tasks.size(),
                           duration_text(simulated.seconds(simulator::least_end(simulated.graph))));
}

void print_json(const Simulated& simulated) {
  const std::vector<Time> busy = simulator::busy_times(simulated.graph);
  const auto peaks = simulator::peaks(simulated.graph, simulated.timetable);
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (std::size_t rank = 0; rank < simulated.ranks; ++rank)
    ranks.push_back({{"computing_seconds", simulated.seconds(busy[rank])},
                     {"sending_seconds", simulated.seconds(busy[simulated.ranks + rank])},
                     {"receiving_seconds", simulated.seconds(busy[2 * simulated.ranks + rank])},
                     {"peak_bytes", peaks[rank]}});
  const nlohmann::ordered_json result = {
      {"cluster", simulated.cluster},
      {"tasks", simulated.graph.tasks.size()},
      {"seconds", simulated.seconds(simulated.timetable.end())},
      {"least_seconds", simulated.seconds(simulator::least_end(simulated.graph))},
      {"ranks", ranks}};
  std::cout << result.dump() << "\n";
}

Result<ExitCode> simulate(const SimulatePlanArguments& arguments) {
  FilePlan files;
  add_program_files(files, arguments);
  files.writes(arguments.events, "--events");
  files.writes(arguments.timeline, "--timeline");
  LEMMA_RETURN_IF_ERROR(files.check());
  LEMMA_ASSIGN_OR_RETURN(const Simulated simulated, simulate_plan(arguments));
  if (!arguments.events.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(
        arguments.events, simulator::trace_text(simulated.graph, simulated.timetable)));
  if (!arguments.timeline.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(
        arguments.timeline,
        simulator::picture_svg(std::filesystem::path(arguments.single).filename().string(),
                               simulated.graph, simulated.timetable)));
  if (arguments.json)
    print_json(simulated);
  else
    print_table(simulated);
  return ExitCode::done;
}

}  // namespace

void add_plan_simulate(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "simulate", "when the devices of a plan compute and communicate, as predicted for a cluster");
  auto arguments = std::make_shared<SimulatePlanArguments>();
  add_program_options(*command, *arguments);
  add_cluster_options(*command, arguments->cluster);
  command->add_option("--events", arguments->events,
                      "file of events that browsers show (Perfetto), JSON");
  command->add_option("--timeline", arguments->timeline, "file for a picture, SVG");
  command->add_flag("--json", arguments->json, "print one JSON object");
  command->callback([arguments, &exit_code] {
    const auto code = simulate(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
