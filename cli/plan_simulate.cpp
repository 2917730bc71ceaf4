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
#include "plans/traces/chakra_files.h"
#include "programs/shape_option.h"
#include "report/printable.h"
#include "report/table.h"

namespace lemma {

namespace {

using simulator::Time;

/// What is written and printed of a timetable.
struct TimetableOutputs {
  std::string events, timeline;
  bool json = false;
};

struct SimulatePlanArguments : PlanArguments {
  ClusterArguments cluster;
  TimetableOutputs outputs;
  std::string chakra;
};

struct ReplayArguments {
  std::vector<std::string> files;
  std::string groups;
  ClusterArguments cluster;
  TimetableOutputs outputs;
};

struct Simulated {
  simulator::TaskGraph graph;
  simulator::Timetable timetable;
  std::string cluster;
  std::size_t ranks = 0;
  traces::Traces traces = {};
  bool knows_memory = true;  // traces do not say what lies in memory

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
    LEMMA_ASSIGN_OR_RETURN(
        result.graph,
        plans::task_graph(*any.ranked, plans::Paths(priced.cluster), prices, &result.traces));
  } else {
    result.ranks = static_cast<std::size_t>(any.same.mesh.device_count());
    LEMMA_ASSIGN_OR_RETURN(const clusters::Mesh mesh,
                           plans::matching_mesh(any.same.mesh, priced.cluster));
    LEMMA_ASSIGN_OR_RETURN(result.graph, plans::task_graph(any.same, mesh, priced.cluster.overlaps,
                                                           prices, &result.traces));
  }
  if (const auto fault = simulator::fault_of(result.graph)) return internal_error(*fault);
  result.timetable = simulator::simulate(result.graph);
  return result;
}

/// By rank: what its device computes, what its ports are in use for, and the most that is in its memory.
void print_table(const Simulated& simulated) {
  const std::vector<Time> busy = simulator::busy_times(simulated.graph);
  const auto peaks = simulator::peaks(simulated.graph, simulated.timetable);
  std::vector<std::string> heads = {"rank", "computing", "sending", "receiving"};
  if (simulated.knows_memory) heads.emplace_back("bytes needed");
  const std::vector<Table::Align> aligned(heads.size(), Table::Align::right);
  Table table(std::move(heads), aligned);
  for (std::size_t rank = 0; rank < simulated.ranks; ++rank) {
    std::vector<std::string> row = {
        fmt::format("{}", rank), duration_text(simulated.seconds(busy[rank])),
        duration_text(simulated.seconds(busy[simulated.ranks + rank])),
        duration_text(simulated.seconds(busy[2 * simulated.ranks + rank]))};
    if (simulated.knows_memory) row.push_back(with_prefix(static_cast<double>(peaks[rank])));
    table.add(std::move(row));
  }
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
  for (std::size_t rank = 0; rank < simulated.ranks; ++rank) {
    ranks.push_back({{"computing_seconds", simulated.seconds(busy[rank])},
                     {"sending_seconds", simulated.seconds(busy[simulated.ranks + rank])},
                     {"receiving_seconds", simulated.seconds(busy[2 * simulated.ranks + rank])}});
    if (simulated.knows_memory) ranks.back()["peak_bytes"] = peaks[rank];
  }
  const nlohmann::ordered_json result = {
      {"cluster", simulated.cluster},
      {"tasks", simulated.graph.tasks.size()},
      {"seconds", simulated.seconds(simulated.timetable.end())},
      {"least_seconds", simulated.seconds(simulator::least_end(simulated.graph))},
      {"ranks", ranks}};
  std::cout << result.dump() << "\n";
}

void add_output_files(FilePlan& files, const TimetableOutputs& outputs) {
  files.writes(outputs.events, "--events");
  files.writes(outputs.timeline, "--timeline");
}

/// The title is that of the picture.
Result<void> write_and_print(const Simulated& simulated, const TimetableOutputs& outputs,
                             const std::string& title) {
  if (!outputs.events.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(
        outputs.events, simulator::trace_text(simulated.graph, simulated.timetable)));
  if (!outputs.timeline.empty())
    LEMMA_RETURN_IF_ERROR(write_file_atomically(
        outputs.timeline, simulator::picture_svg(title, simulated.graph, simulated.timetable)));
  if (outputs.json)
    print_json(simulated);
  else
    print_table(simulated);
  return {};
}

std::string chakra_file(const std::string& prefix, std::size_t rank) {
  return fmt::format("{}.{}.et", prefix, rank);
}

Result<void> write_chakra(const traces::Traces& traces, const std::string& prefix) {
  std::vector<std::pair<std::string, std::string>> files;
  const std::filesystem::path path = prefix;
  for (std::size_t rank = 0; rank < traces.ranks.size(); ++rank) {
    LEMMA_ASSIGN_OR_RETURN(std::string bytes, traces::chakra_bytes(traces, rank));
    files.emplace_back(chakra_file(path.filename(), rank), std::move(bytes));
  }
  files.emplace_back(path.filename().string() + ".groups.json", traces::groups_json(traces));
  return write_files_atomically(folder_of(path), files);
}

Result<ExitCode> simulate(const SimulatePlanArguments& arguments) {
  FilePlan files;
  add_program_files(files, arguments);
  add_output_files(files, arguments.outputs);
  LEMMA_RETURN_IF_ERROR(files.check());
  LEMMA_ASSIGN_OR_RETURN(const Simulated simulated, simulate_plan(arguments));
  if (!arguments.chakra.empty()) {
    for (std::size_t rank = 0; rank < simulated.ranks; ++rank)
      files.writes(chakra_file(arguments.chakra, rank), "--chakra");
    files.writes(arguments.chakra + ".groups.json", "--chakra");
    LEMMA_RETURN_IF_ERROR(files.check());
    LEMMA_RETURN_IF_ERROR(write_chakra(simulated.traces, arguments.chakra));
  }
  LEMMA_RETURN_IF_ERROR(write_and_print(
      simulated, arguments.outputs, std::filesystem::path(arguments.single).filename().string()));
  return ExitCode::done;
}

Result<traces::Traces> read_traces(const ReplayArguments& arguments) {
  traces::Traces traces;
  for (const std::string& file : arguments.files) {
    LEMMA_ASSIGN_OR_RETURN(const std::string bytes, read_text_file(file));
    auto operations = traces::read_chakra(bytes);
    if (!operations) return with_context(file, std::move(operations.error()));
    traces.ranks.push_back(std::move(*operations));
  }
  if (arguments.groups.empty()) return traces;
  LEMMA_ASSIGN_OR_RETURN(const std::string json, read_text_file(arguments.groups));
  auto groups = traces::read_groups(json, traces.ranks.size());
  if (!groups) return with_context(arguments.groups, std::move(groups.error()));
  traces.groups = std::move(*groups);
  return traces;
}

Result<ExitCode> replay(const ReplayArguments& arguments) {
  FilePlan files;
  for (const std::string& file : arguments.files) files.reads(file, "a trace");
  if (!arguments.groups.empty()) files.reads(arguments.groups, "--groups");
  add_output_files(files, arguments.outputs);
  LEMMA_RETURN_IF_ERROR(files.check());
  LEMMA_ASSIGN_OR_RETURN(const PricedCluster priced, priced_cluster(arguments.cluster));
  if (arguments.files.size() > priced.cluster.devices.size())
    return bad_input(
        fmt::format("there are traces of {} ranks, and the cluster '{}' has {} devices",
                    arguments.files.size(), priced.cluster.name, priced.cluster.devices.size()));
  LEMMA_ASSIGN_OR_RETURN(const traces::Traces traces, read_traces(arguments));
  Simulated simulated;
  simulated.cluster = priced.cluster.name;
  simulated.ranks = traces.ranks.size();
  simulated.knows_memory = false;
  LEMMA_ASSIGN_OR_RETURN(simulated.graph, plans::task_graph(traces, plans::Paths(priced.cluster)));
  if (const auto fault = simulator::fault_of(simulated.graph)) return internal_error(*fault);
  simulated.timetable = simulator::simulate(simulated.graph);
  LEMMA_RETURN_IF_ERROR(
      write_and_print(simulated, arguments.outputs,
                      std::filesystem::path(arguments.files.front()).filename().string()));
  return ExitCode::done;
}

void add_output_options(CLI::App& command, TimetableOutputs& outputs) {
  command.add_option("--events", outputs.events,
                     "file of events that browsers show (Perfetto), JSON");
  command.add_option("--timeline", outputs.timeline, "file for a picture, SVG");
  command.add_flag("--json", outputs.json, "print one JSON object");
}

}  // namespace

void add_plan_simulate(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "simulate", "when the devices of a plan compute and communicate, as predicted for a cluster");
  auto arguments = std::make_shared<SimulatePlanArguments>();
  add_program_options(*command, *arguments);
  add_cluster_options(*command, arguments->cluster);
  add_output_options(*command, arguments->outputs);
  command
      ->add_option("--chakra", arguments->chakra,
                   "write Chakra's execution traces to PREFIX.RANK.et, and PREFIX.groups.json")
      ->type_name("PREFIX");
  command->callback([arguments, &exit_code] {
    const auto code = simulate(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

void add_plan_replay(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "replay",
      "when the devices of a cluster would compute and communicate as traces of ranks say");
  auto arguments = std::make_shared<ReplayArguments>();
  command->add_option("traces", arguments->files, "Chakra's execution trace of each rank, in order")
      ->required();
  command->add_option("--groups", arguments->groups, "groups of ranks by name, JSON");
  add_cluster_options(*command, arguments->cluster);
  add_output_options(*command, arguments->outputs);
  command->callback([arguments, &exit_code] {
    const auto code = replay(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
