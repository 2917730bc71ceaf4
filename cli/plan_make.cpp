#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "base/quoted.h"
#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/memory_limit.h"
#include "cli/number_check.h"
#include "cli/plan_program.h"
#include "engines/model_profiler.h"
#include "frontend_onnx/import.h"
#include "outputs/files.h"
#include "plans/assignment/assignment_file.h"
#include "plans/by_rank/ranked_program.h"
#include "plans/clusters/cluster.h"
#include "plans/partition/plan_file.h"
#include "plans/placement/placement_text.h"
#include "plans/planner/own_operators.h"
#include "plans/planner/planner.h"
#include "plans/relations/verification.h"
#include "plans/spread/spread.h"
#include "programs/shape_option.h"
#include "report/table.h"

namespace lemma {

namespace {

struct MakeArguments {
  ClusterArguments cluster;
  std::string model, mesh, output, claims, memory_limit;
  std::vector<std::string> shapes, placements, by_hand;
  std::uint64_t microbatches = 0, proposals = plans::PlannerRequest{}.proposals;
  double time_limit = 0;  // seconds; 0: none
  bool has_own_operators = false, compares = false;
};

/// The mesh without axes of one device, such as the hosts of a cluster that is one host.
Result<clusters::Mesh> mesh_of(const clusters::Cluster& cluster, const std::string& name) {
  if (name.empty() && cluster.meshes.empty())
    return bad_input(fmt::format("the cluster '{}' has no mesh", cluster.name));
  clusters::Mesh mesh;
  if (name.empty()) {
    mesh = cluster.meshes.front();
  } else {
    LEMMA_ASSIGN_OR_RETURN(mesh, clusters::mesh_of(cluster, name));
  }
  std::vector<clusters::Axis> axes = mesh.axes;
  std::erase_if(axes, [](const clusters::Axis& axis) { return axis.size == 1; });
  if (!axes.empty()) mesh.axes = std::move(axes);
  return mesh;
}

/// Placements in order; what follows itself is counted.
std::string listed(const std::vector<plans::Placement>& placements, const plans::Mesh& mesh) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < placements.size();) {
    std::size_t end = i + 1;
    while (end < placements.size() && placements[end] == placements[i]) ++end;
    parts.push_back(end == i + 1
                        ? plans::text(placements[i], mesh)
                        : fmt::format("{} times {}", end - i, plans::text(placements[i], mesh)));
    i = end;
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// How many nodes of an operator read and give so.
std::string placements_text(const Graph& graph, const plans::PlanChoice& choice) {
  using Align = Table::Align;
  Table table({"operator", "nodes", "reads", "gives"},
              {Align::left, Align::right, Align::left, Align::left});
  std::map<std::vector<std::string>, std::size_t> counts;
  for (const auto& [id, placements] : choice.nodes)
    ++counts[{std::string(graph.op(graph.node(id)).name), listed(placements.reads, choice.mesh),
              listed(placements.gives, choice.mesh)}];
  for (const auto& [row, count] : counts)
    table.add({row[0], fmt::format("{}", count), row[1], row[2]});
  return table.text();
}

/// The error of a plan that was made and is not proved, after lines that say why.
tl::unexpected<Error> not_proved(const plans::Verification& verification) {
  for (const std::string& line : verdict_lines(verification)) std::cerr << printable(line) << "\n";
  return internal_error("the plan that was made is not proved, and not written");
}

/// What each device does of a plan.
std::string devices_text(const plans::PlacedPlan& planned) {
  using Align = Table::Align;
  Table table({"rank", "operators", "busy", "bytes sent", "bytes needed"},
              {Align::right, Align::right, Align::right, Align::right, Align::right});
  for (std::size_t rank = 0; rank < planned.assignment.ranks; ++rank) {
    const auto count =
        std::count_if(planned.assignment.order.begin(), planned.assignment.order.end(),
                      [&](const auto& placed) { return placed.rank == rank; });
    table.add({fmt::format("{}", rank), fmt::format("{}", count),
               duration_text(planned.simulation.busy[rank]),
               with_prefix(planned.simulation.sent_bytes[rank]),
               with_prefix(planned.simulation.peak_bytes[rank])});
  }
  return table.text();
}

/// Says on a terminal what is done and for how long, second by second, once that has taken some seconds.
class ProgressLine {
 public:
  ProgressLine() {
    if (isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { write_lines(); });
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  void operator()(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
  }

 private:
  static constexpr int seconds_before_lines = 2;

  void write_lines() {
    std::unique_lock lock(mutex_);
    bool is_written = false;
    for (int seconds = 1;; ++seconds) {
      if (changed_.wait_for(lock, std::chrono::seconds(1), [this] { return is_over_; })) break;
      if (seconds < seconds_before_lines || text_.empty()) continue;
      std::cerr << printable(fmt::format("{} ({} s)", text_, seconds)) << "\33[K\r" << std::flush;
      is_written = true;
    }
    if (is_written) std::cerr << "\33[K" << std::flush;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  bool is_over_ = false;
  std::thread thread_;
};

/// Each operator on one device.
Result<ExitCode> make_own(const MakeArguments& arguments, const OnnxModel& model,
                          const clusters::Cluster& cluster, const OperatorCosts& costs,
                          ProgressLine& progress) {
  plans::OwnOperatorsRequest request;
  request.cluster = &cluster;
  request.costs = &costs;
  request.ranks = cluster.devices.size();
  request.microbatches = std::max<std::size_t>(1, arguments.microbatches);
  request.memory_limit = arguments.memory_limit.empty()
                             ? cluster.devices.front().memory_bytes
                             : static_cast<double>(bytes_of(arguments.memory_limit));
  LEMMA_ASSIGN_OR_RETURN(const plans::PlacedPlan planned,
                         plans::place_operators(model.graph, request));
  LEMMA_ASSIGN_OR_RETURN(const plans::RankedProgram program,
                         plans::assigned(model.graph, planned.assignment));
  progress("proving the plan");
  const plans::Verification verification = plans::verify(model.graph, program.program);
  if (verification.verdict != plans::Verdict::proved) return not_proved(verification);
  LEMMA_RETURN_IF_ERROR(write_file_atomically(
      arguments.output, plans::assignment_text(model.graph, planned.assignment)));
  if (!arguments.claims.empty())
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(arguments.claims, claims_text(verification.relations)));
  std::cout << devices_text(planned) << "\n"
            << printable(fmt::format(
                   "{}: {}, {} on one device, and {} at least on {} devices (predicted for {})",
                   planned.found_by, duration_text(planned.simulation.seconds),
                   duration_text(planned.on_one_device), duration_text(planned.least()),
                   planned.assignment.ranks, cluster.name))
            << "\n"
            << printable(
                   fmt::format("the plan is proved to be the model, by {} claims; written to {}",
                               proved_claims(verification.relations), arguments.output))
            << "\n";
  return ExitCode::done;
}

plans::Mesh mesh_of_axes(const clusters::Mesh& mesh) {
  plans::Mesh result;
  for (const clusters::Axis& axis : mesh.axes)
    result.axes.push_back({axis.name, static_cast<std::int64_t>(axis.size)});
  return result;
}

/// What was chosen, and a line about what it is predicted to take.
struct MadePlan {
  plans::PlanChoice choice;
  std::string prediction;
  double seconds = 0, searching = 0;
  bool was_stopped = false;
  std::vector<plans::Planned::Other> others;
};

/// Inputs and weights are placed as asked, and the rest follows.
Result<MadePlan> placed_plan(const Graph& graph, const clusters::Mesh& mesh,
                             const std::vector<std::string>& placements) {
  MadePlan made;
  const plans::Mesh axes = mesh_of_axes(mesh);
  LEMMA_ASSIGN_OR_RETURN(const auto asked, plans::parse_placements(placements, axes, "--place"));
  LEMMA_ASSIGN_OR_RETURN(made.choice, plans::spread(graph, axes, asked));
  made.prediction = "placed as asked; the rest follows";
  return made;
}

/// How near a choice is to the best of all that were to choose from.
std::string nearness_text(const choice::Outcome& outcome) {
  if (outcome.is_optimal()) return "the best of the ways that were found";
  const std::string stopped = outcome.was_stopped ? "the search was ended; " : "";
  if (std::isinf(outcome.gap())) return stopped + "no bound is known";
  return fmt::format("{}at most {:.1f}% above the best of the ways that were found", stopped,
                     100 * outcome.gap());
}

/// "NAME=TENSOR:0 TENSOR:1": placements that have a name together.
Result<std::vector<plans::PlanByHand>> plans_by_hand(const std::vector<std::string>& texts,
                                                     const plans::Mesh& mesh) {
  std::vector<plans::PlanByHand> result;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return bad_input(fmt::format("--beside '{}': it is NAME=TENSOR:0 TENSOR:1", text));
    std::vector<std::string> placements;
    for (const std::string_view word : words(std::string_view(text).substr(equals + 1)))
      placements.emplace_back(word);
    result.push_back({text.substr(0, equals), {}});
    LEMMA_ASSIGN_OR_RETURN(result.back().placements,
                           plans::parse_placements(placements, mesh, "--beside"));
  }
  return result;
}

Result<MadePlan> chosen_plan(const Graph& graph, const plans::PlannerRequest& request,
                             const std::string& cluster) {
  LEMMA_ASSIGN_OR_RETURN(plans::Planned planned, plans::plan_for(graph, request));
  MadePlan made;
  made.prediction = fmt::format(
      "{} of computing and {} of communicating, {} on one device; {} bytes on a device; {} "
      "(predicted for {})",
      duration_text(planned.computing), duration_text(planned.communicating),
      duration_text(planned.on_one_device), with_prefix(static_cast<double>(planned.outcome.peak)),
      nearness_text(planned.outcome), cluster);
  made.others = std::move(planned.others);
  made.searching = planned.searching;
  made.was_stopped = planned.outcome.was_stopped;
  made.seconds = planned.computing + planned.communicating;
  made.choice = std::move(planned.choice);
  return made;
}

/// Other plans beside the one that was made.
std::string others_text(const MadePlan& made) {
  using Align = Table::Align;
  Table table({"plan", "predicted", "of this one", "searching"},
              {Align::left, Align::right, Align::right, Align::right});
  table.add({"this one", duration_text(made.seconds), "1.00", duration_text(made.searching)});
  for (const plans::Planned::Other& other : made.others)
    table.add({other.name, other.seconds ? duration_text(*other.seconds) : "none fits",
               other.seconds ? fmt::format("{:.2f}", *other.seconds / made.seconds) : "",
               other.searching ? duration_text(*other.searching) : ""});
  return table.text();
}

Result<ExitCode> make(const MakeArguments& arguments) {
  if (arguments.microbatches > 0 && !arguments.has_own_operators)
    return bad_input("--microbatches is for --own-operators");
  if (arguments.has_own_operators && !arguments.mesh.empty())
    return bad_input("--mesh is for plans in which all devices have parts of each operator");
  const bool is_searched = !arguments.has_own_operators && arguments.placements.empty();
  if (arguments.compares && !is_searched)
    return bad_input("--other-plans is for plans that are searched for on a mesh");
  if (!arguments.by_hand.empty() && !is_searched)
    return bad_input("--beside is for plans that are searched for on a mesh");
  if (arguments.time_limit > 0 && !is_searched)
    return bad_input("--time-limit is for plans that are searched for on a mesh");
  FilePlan plan;
  read_model(plan, arguments.model);
  plan.writes(arguments.output, "-o");
  plan.writes(arguments.claims, "--claims");
  LEMMA_RETURN_IF_ERROR(plan.check());
  LEMMA_ASSIGN_OR_RETURN(const PricedCluster priced, priced_cluster(arguments.cluster));
  const clusters::Cluster& cluster = priced.cluster;
  plans::PlannerRequest request;
  if (!arguments.has_own_operators) {
    LEMMA_ASSIGN_OR_RETURN(request.mesh, mesh_of(cluster, arguments.mesh));
  }
  request.costs = &priced.costs;
  request.memory_limit = arguments.memory_limit.empty()
                             ? static_cast<choice::Bytes>(cluster.devices.front().memory_bytes)
                             : static_cast<choice::Bytes>(bytes_of(arguments.memory_limit));
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(arguments.model, reading));
  ProgressLine progress;
  progress(arguments.has_own_operators ? "placing operators" : "choosing a plan");
  if (arguments.has_own_operators)
    return make_own(arguments, model, cluster, priced.costs, progress);
  request.compares = arguments.compares;
  request.proposals = arguments.proposals;
  LEMMA_ASSIGN_OR_RETURN(request.by_hand,
                         plans_by_hand(arguments.by_hand, mesh_of_axes(request.mesh)));
  stop_at_signals();
  request.stop = [&arguments, begin = std::chrono::steady_clock::now()] {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return is_stop_requested() ||
           (arguments.time_limit > 0 && taken.count() > arguments.time_limit);
  };
  request.on_progress = [&progress](std::size_t done, std::size_t all) {
    progress(fmt::format("ways of operators: {} of {}", done, all));
  };
  LEMMA_ASSIGN_OR_RETURN(const MadePlan planned,
                         arguments.placements.empty()
                             ? chosen_plan(model.graph, request, cluster.name)
                             : placed_plan(model.graph, request.mesh, arguments.placements));
  LEMMA_ASSIGN_OR_RETURN(const plans::Program program,
                         plans::partitioned(model.graph, planned.choice));
  progress("proving the plan");
  const plans::Verification verification = plans::verify(model.graph, program);
  if (verification.verdict != plans::Verdict::proved) return not_proved(verification);
  LEMMA_RETURN_IF_ERROR(
      write_file_atomically(arguments.output, plans::plan_text(model.graph, planned.choice)));
  if (!arguments.claims.empty())
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(arguments.claims, claims_text(verification.relations)));
  std::cout << placements_text(model.graph, planned.choice) << "\n";
  std::cout << printable(planned.prediction) << "\n";
  if (!planned.others.empty()) std::cout << "\n" << others_text(planned) << "\n";
  std::cout << printable(
                   fmt::format("the plan is proved to be the model, by {} claims; written to {}",
                               proved_claims(verification.relations), arguments.output))
            << "\n";
  if (!is_stop_requested()) return ExitCode::done;
  std::cerr << "lemma: interrupted; the best plan so far is written\n";
  return ExitCode::some_models_failed;
}

}  // namespace

void add_plan_make(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "make", "choose how a model is split over the devices of a cluster, and prove the plan");
  auto arguments = std::make_shared<MakeArguments>();
  command->add_option("model", arguments->model, "ONNX file")->required();
  add_cluster_options(*command, arguments->cluster);
  command->add_option("--mesh", arguments->mesh,
                      "name of a mesh of the cluster; otherwise its first one");
  command->add_option("-o,--output", arguments->output, "file for the plan, JSON")->required();
  command
      ->add_option("--memory-limit", arguments->memory_limit,
                   "bytes of a device, as 64M; otherwise what its description says")
      ->check(check_memory_limit);
  command
      ->add_option("--place", arguments->placements,
                   "how an input, weight or output is placed, NAME:0, * for any text (may be "
                   "repeated): nothing is searched then, the rest follows")
      ->excludes("--memory-limit");
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_option("--claims", arguments->claims,
                      "file for the claims that prove the plan, as rules");
  command->add_flag("--own-operators", arguments->has_own_operators,
                    "each operator is on one device (stages of a pipeline, branches), instead of "
                    "a part of it on all of them");
  command->add_flag("--other-plans", arguments->compares,
                    "other plans beside it: all on each device, data parallelism, and what "
                    "Metropolis and Hastings' search finds");
  command
      ->add_option(
          "--beside", arguments->by_hand,
          "another plan beside it, placed by hand: 'NAME=TENSOR:0 TENSOR:1', as --place (may be "
          "repeated); the search begins with the best of them")
      ->excludes("--place");
  command
      ->add_option("--proposals", arguments->proposals,
                   "with --other-plans: of Metropolis and Hastings' search")
      ->check(check_positive);
  command
      ->add_option("--time-limit", arguments->time_limit,
                   "seconds after which the search ends with the best plan so far, which is proved "
                   "then (0: none)")
      ->check(check_non_negative);
  command
      ->add_option("--microbatches", arguments->microbatches,
                   "with --own-operators: so many parts of the batch go one after the other")
      ->check(check_positive);
  command->callback([arguments, &exit_code] {
    const auto code = make(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace lemma
