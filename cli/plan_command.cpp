#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/memory_limit.h"
#include "cli/number_check.h"
#include "cli/plan_program.h"
#include "cli/progress_line.h"
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
#include "rule_language/rule_database.h"

namespace lemma {

namespace {

std::string value_name(const Graph& graph, ValueId value) {
  const Node& node = graph.node(graph.producer(value));
  if (node.kind == NodeKind::input) return graph.input_name(node);
  return graph.suggested_name(value);
}

/// What each value of the program is.
std::string values_text(const Graph& single, const plans::Program& program,
                        const plans::Relations& relations) {
  using Align = Table::Align;
  Table table({"value", "operator", "is", "placed", "claims"},
              {Align::left, Align::left, Align::left, Align::left, Align::left});
  for (const NodeId id : program.graph.live_nodes()) {
    const Node& node = program.graph.node(id);
    if (node.kind == NodeKind::constant) continue;
    const std::string op = node.kind == NodeKind::input ? std::string("input")
                                                        : std::string(program.graph.op(node).name);
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const ValueId value = node.output(i);
      const auto& relation = relations.of[value.v];
      std::vector<std::string> claims;
      if (relation)
        for (const std::size_t claim : relation->claims)
          claims.push_back(fmt::format("step_{}", claim));
      table.add({value_name(program.graph, value), op,
                 relation ? value_name(single, relation->single) : "-",
                 relation ? plans::place_text(single, program, *relation) : "-",
                 fmt::format("{}", fmt::join(claims, " "))});
    }
  }
  return table.text();
}

std::string claims_text(const plans::Relations& relations) {
  std::string text =
      "# Claims that a verification of a plan rests on. `lemma rules verify` proves them again.\n";
  for (const plans::AskedClaim& claim : relations.claims)
    if (claim.is_proved) text += "\n" + claim.rule;
  return text;
}

}  // namespace

std::size_t proved_claims(const plans::Relations& relations) {
  std::size_t count = 0;
  for (const plans::AskedClaim& claim : relations.claims) count += claim.is_proved ? 1 : 0;
  return count;
}

std::vector<std::string> verdict_lines(const plans::Verification& verification) {
  std::vector<std::string> lines = {fmt::format(
      "{}: {} of {} values of the program are values of the single-device model, by {} claims",
      plans::name(verification.verdict), verification.related, verification.values,
      proved_claims(verification.relations))};
  if (verification.for_defined_inputs > 0)
    lines.emplace_back("some claims hold where no element is undefined (docs/semantics.md)");
  if (verification.divergence) {
    lines.push_back(
        fmt::format("the first value that is none of them: {}", verification.divergence->where));
    for (const std::string& operand : verification.divergence->operands)
      lines.push_back(fmt::format("  reads {}", operand));
  }
  if (!verification.counterexample.empty())
    lines.push_back(fmt::format("they differ: {}", verification.counterexample));
  if (!verification.reason.empty())
    lines.push_back(fmt::format("not compared on samples: {}", verification.reason));
  return lines;
}

namespace {

Result<ExitCode> verify(const PlanArguments& arguments) {
  FilePlan plan;
  add_program_files(plan, arguments);
  plan.writes(arguments.claims, "--claims");
  LEMMA_RETURN_IF_ERROR(plan.check());
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel single, import_model(arguments.single, reading));
  LEMMA_ASSIGN_OR_RETURN(const AnyProgram any, program_of(arguments, single));
  const plans::Program& program = any.program();
  const plans::Verification verification = plans::verify(single.graph, program);
  if (!arguments.claims.empty())
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(arguments.claims, claims_text(verification.relations)));
  if (arguments.lists_values)
    std::cout << values_text(single.graph, program, verification.relations) << "\n";
  for (const std::string& line : verdict_lines(verification)) std::cout << printable(line) << "\n";
  switch (verification.verdict) {
    case plans::Verdict::proved: return ExitCode::done;
    case plans::Verdict::refuted: return ExitCode::check_failed;
    case plans::Verdict::unknown: break;
  }
  return ExitCode::some_models_failed;
}

void add_verify(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "verify",
      "prove that the models of ranks, or a plan, compute what a single-device model computes");
  auto arguments = std::make_shared<PlanArguments>();
  add_program_options(*command, *arguments);
  command->add_option("--claims", arguments->claims,
                      "file for the claims that were proved, as rules");
  command->add_flag("--values", arguments->lists_values,
                    "list what each value of the program is, and how it is placed");
  command->callback([arguments, &exit_code] {
    const auto code = verify(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

struct MakeArguments {
  ClusterArguments cluster;
  std::string model, mesh, output, claims, memory_limit;
  std::vector<std::string> shapes, placements;
  std::uint64_t microbatches = 0;
  bool has_own_operators = false, compares = false;
};

Result<clusters::Mesh> mesh_of(const clusters::Cluster& cluster, const std::string& name) {
  if (!name.empty()) return clusters::mesh_of(cluster, name);
  if (cluster.meshes.empty())
    return bad_input(fmt::format("the cluster '{}' has no mesh", cluster.name));
  return cluster.meshes.front();
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
  double seconds = 0;
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

Result<MadePlan> chosen_plan(const Graph& graph, const plans::PlannerRequest& request,
                             const std::string& cluster) {
  LEMMA_ASSIGN_OR_RETURN(plans::Planned planned, plans::plan_for(graph, request));
  MadePlan made;
  made.prediction = fmt::format(
      "{} of computing and {} of communicating, {} on one device; {} bytes on a device; {} "
      "(predicted for {})",
      duration_text(planned.computing), duration_text(planned.communicating),
      duration_text(planned.on_one_device), with_prefix(static_cast<double>(planned.outcome.peak)),
      planned.outcome.is_optimal()
          ? std::string("the best of the ways that were found")
          : fmt::format("at most {:.1f}% above the best of the ways that were found",
                        100 * planned.outcome.gap()),
      cluster);
  made.others = std::move(planned.others);
  made.seconds = planned.computing + planned.communicating;
  made.choice = std::move(planned.choice);
  return made;
}

/// Other plans beside the one that was made.
std::string others_text(const MadePlan& made) {
  using Align = Table::Align;
  Table table({"plan", "predicted", "of this one"}, {Align::left, Align::right, Align::right});
  table.add({"this one", duration_text(made.seconds), "1.00"});
  for (const plans::Planned::Other& other : made.others)
    table.add({other.name, other.seconds ? duration_text(*other.seconds) : "none fits",
               other.seconds ? fmt::format("{:.2f}", *other.seconds / made.seconds) : ""});
  return table.text();
}

Result<ExitCode> make(const MakeArguments& arguments) {
  if (arguments.microbatches > 0 && !arguments.has_own_operators)
    return bad_input("--microbatches is for --own-operators");
  if (arguments.has_own_operators && !arguments.mesh.empty())
    return bad_input("--mesh is for plans in which all devices have parts of each operator");
  if (arguments.compares && (arguments.has_own_operators || !arguments.placements.empty()))
    return bad_input("--other-plans is for plans that are searched for on a mesh");
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
  if (arguments.compares) std::cout << "\n" << others_text(planned) << "\n";
  std::cout << printable(
                   fmt::format("the plan is proved to be the model, by {} claims; written to {}",
                               proved_claims(verification.relations), arguments.output))
            << "\n";
  return ExitCode::done;
}

void add_make(CLI::App& plan_command, ExitCode& exit_code) {
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
      ->add_option("--microbatches", arguments->microbatches,
                   "with --own-operators: so many parts of the batch go one after the other")
      ->check(check_positive);
  command->callback([arguments, &exit_code] {
    const auto code = make(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

}  // namespace

void add_plan_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand("plan", "programs over many devices");
  command->require_subcommand(1);
  add_plan_calibrate(*command, exit_code);
  add_make(*command, exit_code);
  add_verify(*command, exit_code);
  add_plan_collective(*command, exit_code);
  add_plan_export(*command, exit_code);
  add_plan_emit(*command, exit_code);
  add_plan_run(*command, exit_code);
  add_plan_report(*command, exit_code);
  add_plan_simulate(*command, exit_code);
}

}  // namespace lemma
