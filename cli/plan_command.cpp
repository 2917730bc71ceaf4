#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/memory_limit.h"
#include "cli/number_check.h"
#include "cli/rank_job.h"
#include "costmodel/device.h"
#include "frontend_onnx/import.h"
#include "interpreter/random.h"
#include "interpreter/run.h"
#include "outputs/files.h"
#include "plans/assignment/assignment_file.h"
#include "plans/by_rank/ranked_program.h"
#include "plans/clusters/cluster.h"
#include "plans/lift/rank_models.h"
#include "plans/lift/ranked_models.h"
#include "plans/on_ranks/mpi_ranks.h"
#include "plans/on_ranks/rank_program.h"
#include "plans/on_ranks/ranked_run.h"
#include "plans/on_ranks/thread_ranks.h"
#include "plans/partition/plan_file.h"
#include "plans/placement/placement_text.h"
#include "plans/planner/own_operators.h"
#include "plans/planner/planner.h"
#include "plans/relations/verification.h"
#include "programs/shape_option.h"
#include "ranks/launcher.h"
#include "report/table.h"
#include "rule_language/rule_database.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

/// A run of reals over devices rounds in another order than on one.
constexpr double most_difference = 1e-3;

struct VerifyArguments {
  std::string single, mesh, claims;
  std::vector<std::string> ranks, placements, shapes;
  bool lists_values = false;
};

Result<plans::Mesh> mesh_of(const VerifyArguments& arguments) {
  if (!arguments.mesh.empty()) return plans::parse_mesh(arguments.mesh);
  return plans::Mesh{{{"devices", static_cast<std::int64_t>(arguments.ranks.size())}}};
}

bool is_plan_file(const std::string& file) { return file.ends_with(".json"); }

/// One program of all ranks, or one of ranks that differ.
struct AnyProgram {
  plans::Program same;
  std::optional<plans::RankedProgram> ranked;

  const plans::Program& program() const { return ranked ? ranked->program : same; }
};

Result<AnyProgram> program_of_plan(const std::string& file, const OnnxModel& single) {
  LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
  if (plans::is_assignment(text)) {
    LEMMA_ASSIGN_OR_RETURN(const plans::Assignment assignment,
                           plans::read_assignment(text, single.graph, file));
    LEMMA_ASSIGN_OR_RETURN(plans::RankedProgram ranked, plans::assigned(single.graph, assignment));
    return AnyProgram{{}, std::move(ranked)};
  }
  LEMMA_ASSIGN_OR_RETURN(const plans::PlanChoice choice,
                         plans::read_plan(text, single.graph, file));
  LEMMA_ASSIGN_OR_RETURN(plans::Program program, plans::partitioned(single.graph, choice));
  return AnyProgram{std::move(program), {}};
}

Result<AnyProgram> program_of(const VerifyArguments& arguments, const OnnxModel& single,
                              const ImportOptions& reading) {
  if (arguments.ranks.size() == 1 && is_plan_file(arguments.ranks[0])) {
    if (!arguments.mesh.empty() || !arguments.placements.empty())
      return bad_input("a plan says what --mesh and --place say: leave these out");
    return program_of_plan(arguments.ranks[0], single);
  }
  LEMMA_ASSIGN_OR_RETURN(plans::Mesh mesh, mesh_of(arguments));
  std::vector<OnnxModel> models;
  for (const std::string& file : arguments.ranks) {
    LEMMA_ASSIGN_OR_RETURN(OnnxModel model, import_model(file, reading));
    models.push_back(std::move(model));
  }
  plans::RankModels ranks;
  // One file is the program of all devices.
  const bool is_common = models.size() == 1;
  const auto count = static_cast<std::size_t>(mesh.device_count());
  for (std::size_t rank = 0; rank < (is_common ? count : models.size()); ++rank)
    ranks.models.push_back(&models[is_common ? 0 : rank]);
  LEMMA_ASSIGN_OR_RETURN(ranks.placements,
                         plans::parse_placements(arguments.placements, mesh, "--place"));
  ranks.mesh = std::move(mesh);
  AnyProgram result;
  if (std::any_of(models.begin(), models.end(), plans::is_ranked)) {
    LEMMA_ASSIGN_OR_RETURN(result.ranked, plans::lift_ranked(single, ranks));
  } else {
    LEMMA_ASSIGN_OR_RETURN(result.same, plans::lift(single, ranks));
  }
  return result;
}

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

void add_files(FilePlan& plan, const VerifyArguments& arguments) {
  read_model(plan, arguments.single);
  for (const std::string& rank : arguments.ranks) {
    if (is_plan_file(rank))
      plan.reads(rank, "the plan");
    else
      read_model(plan, rank, "a rank's model");
  }
}

Result<ExitCode> verify(const VerifyArguments& arguments) {
  FilePlan plan;
  add_files(plan, arguments);
  plan.writes(arguments.claims, "--claims");
  LEMMA_RETURN_IF_ERROR(plan.check());
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(const auto shapes, parse_shape_options(arguments.shapes));
  ImportOptions reading_single;
  reading_single.shapes = shapes;
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel single, import_model(arguments.single, reading_single));
  LEMMA_ASSIGN_OR_RETURN(const AnyProgram any, program_of(arguments, single, reading));
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

void add_program_options(CLI::App& command, VerifyArguments& arguments) {
  command.add_option("single", arguments.single, "ONNX file of the single-device model")
      ->required();
  command
      .add_option("ranks", arguments.ranks,
                  "ONNX file of each rank, in order, or one for all of them; or a plan (.json)")
      ->required();
  command.add_option("--mesh", arguments.mesh,
                     "names and sizes of the axes of devices, as data=2,tensor=4; otherwise one "
                     "axis with the ranks");
  command.add_option("--place", arguments.placements,
                     "how an input or output is placed where shapes do not tell, as NAME:0 or "
                     "NAME:replicated,1 (may be repeated)");
  command.add_option("--shape", arguments.shapes,
                     "fix an input's sizes in the single-device model, NAME:1,3,224,224 (may be "
                     "repeated)");
}

void add_verify(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "verify",
      "prove that the models of ranks, or a plan, compute what a single-device model computes");
  auto arguments = std::make_shared<VerifyArguments>();
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
  std::string model, cluster, mesh, output, claims, memory_limit;
  std::vector<std::string> shapes;
  std::uint64_t hosts = 0, microbatches = 0;
  bool has_own_operators = false;
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
                          const clusters::Cluster& cluster, const OperatorCosts& costs) {
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

Result<ExitCode> make(const MakeArguments& arguments) {
  if (arguments.microbatches > 0 && !arguments.has_own_operators)
    return bad_input("--microbatches is for --own-operators");
  if (arguments.has_own_operators && !arguments.mesh.empty())
    return bad_input("--mesh is for plans in which all devices have parts of each operator");
  FilePlan plan;
  read_model(plan, arguments.model);
  plan.writes(arguments.output, "-o");
  plan.writes(arguments.claims, "--claims");
  LEMMA_RETURN_IF_ERROR(plan.check());
  LEMMA_ASSIGN_OR_RETURN(const auto file, cluster_file(arguments.cluster));
  LEMMA_ASSIGN_OR_RETURN(
      const clusters::Cluster cluster,
      clusters::load_cluster(
          file, arguments.hosts == 0 ? std::nullopt : std::optional<std::size_t>(arguments.hosts)));
  plans::PlannerRequest request;
  if (!arguments.has_own_operators) {
    LEMMA_ASSIGN_OR_RETURN(request.mesh, mesh_of(cluster, arguments.mesh));
  }
  LEMMA_ASSIGN_OR_RETURN(const auto description, device_file(cluster.devices.front().description));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(description));
  const OperatorCosts costs(priced_by_roofline(std::move(device)));
  request.costs = &costs;
  request.memory_limit = arguments.memory_limit.empty()
                             ? static_cast<choice::Bytes>(cluster.devices.front().memory_bytes)
                             : static_cast<choice::Bytes>(bytes_of(arguments.memory_limit));
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(arguments.model, reading));
  if (arguments.has_own_operators) return make_own(arguments, model, cluster, costs);
  LEMMA_ASSIGN_OR_RETURN(const plans::Planned planned, plans::plan_for(model.graph, request));
  LEMMA_ASSIGN_OR_RETURN(const plans::Program program,
                         plans::partitioned(model.graph, planned.choice));
  const plans::Verification verification = plans::verify(model.graph, program);
  if (verification.verdict != plans::Verdict::proved) return not_proved(verification);
  LEMMA_RETURN_IF_ERROR(
      write_file_atomically(arguments.output, plans::plan_text(model.graph, planned.choice)));
  if (!arguments.claims.empty())
    LEMMA_RETURN_IF_ERROR(
        write_file_atomically(arguments.claims, claims_text(verification.relations)));
  std::cout << placements_text(model.graph, planned.choice) << "\n";
  std::cout << printable(fmt::format(
                   "{} of computing and {} of communicating, {} on one device; {} bytes on a "
                   "device; {} (predicted for {})",
                   duration_text(planned.computing), duration_text(planned.communicating),
                   duration_text(planned.on_one_device),
                   with_prefix(static_cast<double>(planned.outcome.peak)),
                   planned.outcome.is_optimal()
                       ? std::string("the best of the ways that were found")
                       : fmt::format("at most {:.1f}% above the best of the ways that were found",
                                     100 * planned.outcome.gap()),
                   cluster.name))
            << "\n";
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
  command
      ->add_option("--cluster", arguments->cluster,
                   "the cluster: a name, or the file of a description")
      ->required();
  command
      ->add_option("--hosts", arguments->hosts,
                   "hosts of the cluster, where its description leaves them open")
      ->check(check_positive);
  command->add_option("--mesh", arguments->mesh,
                      "name of a mesh of the cluster; otherwise its first one");
  command->add_option("-o,--output", arguments->output, "file for the plan, JSON")->required();
  command
      ->add_option("--memory-limit", arguments->memory_limit,
                   "bytes of a device, as 64M; otherwise what its description says")
      ->check(check_memory_limit);
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  command->add_option("--claims", arguments->claims,
                      "file for the claims that prove the plan, as rules");
  command->add_flag("--own-operators", arguments->has_own_operators,
                    "each operator is on one device (stages of a pipeline, branches), instead of "
                    "a part of it on all of them");
  command
      ->add_option("--microbatches", arguments->microbatches,
                   "with --own-operators: so many parts of the batch go one after the other")
      ->check(check_positive);
  command->callback([arguments, &exit_code] {
    const auto code = make(*arguments);
    exit_code = code ? *code : report_error(code.error());
  });
}

struct RunPlanArguments : VerifyArguments {
  std::uint64_t seed = 0;
};

/// Random inputs of the model, by name.
Result<std::vector<interpreter::NamedTensor>> drawn_inputs(const Graph& graph, std::uint64_t seed) {
  std::vector<interpreter::NamedTensor> inputs;
  for (const NodeId id : graph.inputs()) {
    const Node& node = graph.node(id);
    const TensorType& type = graph.type(node.output());
    const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
    const std::string& name = graph.input_name(node);
    if (!sizes)
      return bad_input(
          fmt::format("input '{}' has sizes that are not known: fix them by --shape", name));
    inputs.push_back({name, interpreter::random_tensor(type.data_type, *sizes, seed,
                                                       interpreter::stream_of(name))});
  }
  return inputs;
}

/// What a rank has of the inputs and weights.
Result<std::vector<interpreter::Tensor>> inputs_of_rank(
    const Graph& single, const plans::Program& program,
    const std::vector<interpreter::NamedTensor>& inputs, std::size_t rank) {
  std::vector<interpreter::Tensor> result;
  for (const plans::ProgramInput& input : program.inputs) {
    interpreter::Tensor whole;
    const Node& node = single.node(single.producer(input.single));
    if (node.kind == NodeKind::constant) {
      whole = interpreter::Tensor::of(single.constant(node));
    } else {
      for (const interpreter::NamedTensor& given : inputs)
        if (given.name == single.input_name(node)) whole = given.value;
    }
    LEMMA_ASSIGN_OR_RETURN(interpreter::Tensor part,
                           plans::part_of(whole, input.placement, program.mesh, rank));
    result.push_back(std::move(part));
  }
  return result;
}

/// The largest difference from what one device computes, relative to the largest element; infinite where sizes differ, or
/// one of two elements is no number or infinite and the other is not the same.
double largest_difference(const interpreter::Tensor& expected, const interpreter::Tensor& actual) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (expected.sizes() != actual.sizes()) return infinity;
  const std::vector<double> x = expected.reals(), y = actual.reals();
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return infinity;
    difference = std::max(difference, std::abs(x[i] - y[i]));
  }
  for (const double element : x)
    if (std::isfinite(element)) largest = std::max(largest, std::abs(element));
  return largest > 0 ? difference / largest : difference;
}

/// What the ranks have computed and sent, by rank.
struct RankResults {
  std::vector<std::vector<interpreter::Tensor>> outputs;
  std::vector<std::uint64_t> bytes, messages;

  explicit RankResults(std::size_t ranks) : outputs(ranks), bytes(ranks), messages(ranks) {}
};

/// A thread for each rank; or this process is one of those that a launcher has started. Then each gives what it has to all.
template <typename Run>
Result<void> run_on_all(std::size_t ranks, Run& run) {
  const std::size_t started = ranks::launch_of_environment().size;
  if (started == 1)
    return plans::run_as_threads(
        ranks, [&](plans::Communicator& communicator) { return run.compute(communicator); });
  if (started != ranks)
    return bad_input(fmt::format("the plan is for {} ranks, but {} were started", ranks, started));
  return plans::run_as_process(rank_module("lemma_mpi_plans.so"), ranks,
                               [&](plans::Communicator& communicator) -> Result<void> {
                                 LEMMA_RETURN_IF_ERROR(run.compute(communicator));
                                 return run.share(communicator);
                               });
}

plans::Group all_ranks(const plans::Communicator& communicator) {
  plans::Group all(communicator.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

/// Gives all what each has sent.
Result<void> share_counts(RankResults& results, plans::Communicator& communicator) {
  for (auto* counts : {&results.bytes, &results.messages}) {
    const std::uint64_t own = (*counts)[communicator.rank()];
    LEMMA_RETURN_IF_ERROR(communicator.all_gather(all_ranks(communicator),
                                                  std::as_bytes(std::span(&own, 1)),
                                                  std::as_writable_bytes(std::span(*counts))));
  }
  return {};
}

class PlanRun {
 public:
  PlanRun(const Graph& single, const plans::Program& program,
          std::vector<interpreter::NamedTensor> inputs)
      : single_(single),
        program_(program),
        inputs_(std::move(inputs)),
        results_(static_cast<std::size_t>(program.mesh.device_count())) {}

  Result<void> operator()() { return run_on_all(results_.outputs.size(), *this); }

  const RankResults& results() const { return results_; }

  Result<void> compute(plans::Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    LEMMA_ASSIGN_OR_RETURN(auto own, inputs_of_rank(single_, program_, inputs_, rank));
    LEMMA_ASSIGN_OR_RETURN(const plans::RankProgram rank_program,
                           plans::rank_program(program_, rank));
    LEMMA_ASSIGN_OR_RETURN(
        results_.outputs[rank],
        plans::run_rank(rank_program, std::move(own), plans::interpreter_engine(1), communicator));
    results_.bytes[rank] = communicator.bytes_sent();
    results_.messages[rank] = communicator.messages();
    return {};
  }

  /// Gives what each process has to all.
  Result<void> share(plans::Communicator& communicator) {
    const plans::Group all = all_ranks(communicator);
    const std::size_t rank = communicator.rank();
    LEMMA_RETURN_IF_ERROR(share_counts(results_, communicator));
    const std::vector<interpreter::Tensor> own = results_.outputs[rank];
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::vector<std::byte> bytes(own[i].bytes().size() * all.size());
      LEMMA_RETURN_IF_ERROR(communicator.all_gather(all, own[i].bytes(), bytes));
      for (std::size_t other = 0; other < all.size(); ++other) {
        interpreter::Tensor part =
            interpreter::Tensor::uninitialized(own[i].data_type(), own[i].sizes());
        std::copy_n(bytes.begin() + static_cast<long>(other * own[i].bytes().size()),
                    own[i].bytes().size(), part.writable_bytes().begin());
        results_.outputs[other].resize(own.size());
        results_.outputs[other][i] = std::move(part);
      }
    }
    return {};
  }

 private:
  const Graph& single_;
  const plans::Program& program_;
  std::vector<interpreter::NamedTensor> inputs_;
  RankResults results_;
};

/// The same for a program in which each rank has operators of its own.
class RankedRun {
 public:
  RankedRun(const Graph& single, const plans::RankedProgram& program,
            std::vector<interpreter::NamedTensor> inputs)
      : single_(single),
        program_(program),
        inputs_(std::move(inputs)),
        results_(program.rank_count()),
        parts_(program.outputs.size()) {}

  Result<void> operator()() { return run_on_all(program_.rank_count(), *this); }

  Result<void> compute(plans::Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    LEMMA_ASSIGN_OR_RETURN(const std::vector<plans::RankStage> stages,
                           plans::rank_stages(program_, rank));
    LEMMA_ASSIGN_OR_RETURN(plans::RankValueMap sources,
                           plans::source_tensors(single_, program_, rank, inputs_));
    LEMMA_ASSIGN_OR_RETURN(std::vector<interpreter::Tensor> outputs,
                           plans::run_stages(program_, stages, std::move(sources),
                                             plans::interpreter_engine(1), communicator));
    std::size_t next = 0;
    for (std::size_t i = 0; i < program_.outputs.size(); ++i)
      if (program_.outputs[i].rank == rank) parts_[i] = std::move(outputs[next++]);
    results_.bytes[rank] = communicator.bytes_sent();
    results_.messages[rank] = communicator.messages();
    return {};
  }

  Result<void> share(plans::Communicator& communicator) {
    LEMMA_RETURN_IF_ERROR(share_counts(results_, communicator));
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::size_t owner = program_.outputs[i].rank;
      // Behind the channels of the program.
      const auto channel = static_cast<std::uint32_t>(program_.transfers.size() + i);
      if (communicator.rank() == owner) {
        for (std::size_t other = 0; other < communicator.size(); ++other)
          if (other != owner)
            LEMMA_RETURN_IF_ERROR(communicator.send(other, channel, parts_[i].bytes()));
        continue;
      }
      const TensorType& type = program_.program.graph.type(program_.outputs[i].value);
      parts_[i] = interpreter::Tensor::uninitialized(type.data_type, *constant_sizes(*type.shape));
      LEMMA_RETURN_IF_ERROR(communicator.receive(owner, channel, parts_[i].writable_bytes()));
    }
    return {};
  }

  const RankResults& results() const { return results_; }

  Result<double> difference_from_one_device() const {
    LEMMA_ASSIGN_OR_RETURN(const auto expected, interpreter::run(single_, inputs_));
    double difference = 0;
    for (std::size_t i = 0; i < single_.outputs().size(); ++i) {
      const GraphOutput& output = single_.outputs()[i];
      LEMMA_ASSIGN_OR_RETURN(
          const interpreter::Tensor whole,
          plans::whole_output(program_, output.name, expected[i].type(), parts_));
      difference = std::max(difference, largest_difference(expected[i], whole));
    }
    return difference;
  }

 private:
  const Graph& single_;
  const plans::RankedProgram& program_;
  std::vector<interpreter::NamedTensor> inputs_;
  RankResults results_;
  std::vector<interpreter::Tensor> parts_;  // by RankedProgram::outputs
};

Result<double> difference_from_one_device(const Graph& single, const plans::Program& program,
                                          const std::vector<interpreter::NamedTensor>& inputs,
                                          const RankResults& results) {
  LEMMA_ASSIGN_OR_RETURN(const auto expected, interpreter::run(single, inputs));
  double difference = 0;
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    std::vector<interpreter::Tensor> parts;
    for (const auto& own : results.outputs) parts.push_back(own[i]);
    LEMMA_ASSIGN_OR_RETURN(const interpreter::Tensor whole,
                           plans::whole_of(parts, program.outputs[i].placement, program.mesh));
    for (std::size_t k = 0; k < single.outputs().size(); ++k)
      if (single.outputs()[k].name == program.outputs[i].name)
        difference = std::max(difference, largest_difference(expected[k], whole));
  }
  return difference;
}

std::string exchanges_text(const RankResults& results) {
  using Align = Table::Align;
  Table table({"rank", "messages", "bytes sent"}, {Align::right, Align::right, Align::right});
  for (std::size_t rank = 0; rank < results.outputs.size(); ++rank)
    table.add({fmt::format("{}", rank), fmt::format("{}", results.messages[rank]),
               fmt::format("{}", results.bytes[rank])});
  return table.text();
}

Result<ExitCode> run_plan(const RunPlanArguments& arguments) {
  FilePlan files;
  add_files(files, arguments);
  LEMMA_RETURN_IF_ERROR(files.check());
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(arguments.single, reading));
  LEMMA_ASSIGN_OR_RETURN(const AnyProgram any, program_of(arguments, model, {}));
  LEMMA_ASSIGN_OR_RETURN(const auto inputs, drawn_inputs(model.graph, arguments.seed));
  std::string exchanges;
  double difference = 0;
  if (any.ranked) {
    RankedRun run(model.graph, *any.ranked, inputs);
    LEMMA_RETURN_IF_ERROR(run());
    LEMMA_ASSIGN_OR_RETURN(difference, run.difference_from_one_device());
    exchanges = exchanges_text(run.results());
  } else {
    PlanRun run(model.graph, any.same, inputs);
    LEMMA_RETURN_IF_ERROR(run());
    LEMMA_ASSIGN_OR_RETURN(
        difference, difference_from_one_device(model.graph, any.same, inputs, run.results()));
    exchanges = exchanges_text(run.results());
  }
  if (speaks_for_all())
    std::cout << exchanges
              << fmt::format(
                     "\nthe outputs differ from those of one device by {:.1e} of the largest "
                     "element\n",
                     difference);
  return difference <= most_difference ? ExitCode::done : ExitCode::check_failed;
}

void add_run(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "run",
      "run a plan or the models of ranks on random inputs, a thread for each rank, and compare "
      "with one device");
  auto arguments = std::make_shared<RunPlanArguments>();
  add_program_options(*command, *arguments);
  command->add_option("--seed", arguments->seed, "seed of the random inputs")
      ->capture_default_str();
  command->callback([arguments, &exit_code] {
    const auto code = run_plan(*arguments);
    if (code)
      exit_code = *code;
    else if (speaks_for_all())
      exit_code = report_error(code.error());
    else
      exit_code = exit_code_of(code.error().kind);
  });
}

}  // namespace

void add_plan_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand("plan", "programs over many devices");
  command->require_subcommand(1);
  add_make(*command, exit_code);
  add_verify(*command, exit_code);
  add_run(*command, exit_code);
}

}  // namespace lemma
