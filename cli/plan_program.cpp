#include "cli/plan_program.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "cli/number_check.h"
#include "costmodel/device.h"
#include "outputs/files.h"
#include "plans/assignment/assignment_file.h"
#include "plans/lift/rank_models.h"
#include "plans/lift/ranked_models.h"
#include "plans/partition/plan_file.h"
#include "plans/placement/placement_text.h"
#include "plans/planner/operator_times.h"
#include "plans/sharded_models/sharded_plan.h"
#include "programs/shape_option.h"
#include "targets/data_files.h"

namespace lemma {

namespace {

Result<plans::Mesh> mesh_of(const PlanArguments& arguments) {
  if (!arguments.mesh.empty()) return plans::parse_mesh(arguments.mesh);
  return plans::Mesh{{{"devices", static_cast<std::int64_t>(arguments.ranks.size())}}};
}

/// Places what a step of training gives of its state as the next step reads it.
void keep_state(const Graph& single, plans::PlanChoice& choice) {
  for (const NodeId id : single.inputs()) {
    const Node& node = single.node(id);
    const std::string next = single.input_name(node) + std::string(next_state);
    const auto placed = choice.sources.find(node.output());
    if (placed == choice.sources.end())
      choice.outputs.erase(next);
    else if (std::any_of(single.outputs().begin(), single.outputs().end(),
                         [&](const GraphOutput& output) { return output.name == next; }))
      choice.outputs[next] = placed->second;
  }
}

/// The program of a plan for this graph.
Result<AnyProgram> program_of_plan(plans::ShardedPlan plan, const Graph& graph, bool keeps_state) {
  if (const auto* assignment = std::get_if<plans::Assignment>(&plan)) {
    LEMMA_ASSIGN_OR_RETURN(plans::RankedProgram ranked, plans::assigned(graph, *assignment));
    return AnyProgram{{}, std::move(ranked)};
  }
  auto& choice = std::get<plans::PlanChoice>(plan);
  if (keeps_state) keep_state(graph, choice);
  LEMMA_ASSIGN_OR_RETURN(plans::Program program, plans::partitioned(graph, choice));
  return AnyProgram{std::move(program), {}};
}

/// One model for each rank, or one for all.
Result<AnyProgram> program_of_ranks(const PlanArguments& arguments,
                                    const std::vector<OnnxModel>& models, const OnnxModel& single) {
  LEMMA_ASSIGN_OR_RETURN(plans::Mesh mesh, mesh_of(arguments));
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

}  // namespace

bool is_plan_file(const std::string& file) { return file.ends_with(".json"); }

Result<plans::ShardedPlan> read_plan_file(const std::string& file, const Graph& graph) {
  LEMMA_ASSIGN_OR_RETURN(const std::string text, read_text_file(file));
  if (plans::is_assignment(text)) {
    LEMMA_ASSIGN_OR_RETURN(plans::Assignment assignment, plans::read_assignment(text, graph, file));
    return plans::ShardedPlan(std::move(assignment));
  }
  LEMMA_ASSIGN_OR_RETURN(plans::PlanChoice choice, plans::read_plan(text, graph, file));
  return plans::ShardedPlan(std::move(choice));
}

Result<AnyProgram> program_of_sharded(const OnnxModel& model, const std::string& configuration,
                                      const OnnxModel& single, bool keeps_state) {
  LEMMA_ASSIGN_OR_RETURN(plans::ShardedPlan plan, plans::sharded_plan(model, configuration));
  LEMMA_ASSIGN_OR_RETURN(AnyProgram own,
                         program_of_plan(std::move(plan), model.graph, keeps_state));
  AnyProgram result;
  if (own.ranked) {
    LEMMA_ASSIGN_OR_RETURN(result.ranked,
                           plans::on_single(std::move(*own.ranked), model.graph, single.graph));
  } else {
    LEMMA_ASSIGN_OR_RETURN(result.same, plans::on_single(own.same, model.graph, single.graph));
  }
  return result;
}

Result<AnyProgram> program_of(const PlanArguments& arguments, const OnnxModel& single) {
  const bool is_told = !arguments.mesh.empty() || !arguments.placements.empty();
  if (arguments.ranks.size() == 1 && is_plan_file(arguments.ranks[0])) {
    if (is_told) return bad_input("a plan says what --mesh and --place say: leave these out");
    if (!arguments.configuration.empty())
      return bad_input("--configuration is for a model with sharding specifications");
    LEMMA_ASSIGN_OR_RETURN(plans::ShardedPlan plan,
                           read_plan_file(arguments.ranks[0], single.graph));
    return program_of_plan(std::move(plan), single.graph, arguments.keeps_state);
  }
  std::vector<OnnxModel> models;
  for (const std::string& file : arguments.ranks) {
    LEMMA_ASSIGN_OR_RETURN(OnnxModel model, import_model(file));
    models.push_back(std::move(model));
  }
  const bool is_described = models.size() == 1 && plans::is_sharded(models[0]);
  if (!arguments.configuration.empty() && (is_told || !is_described))
    return bad_input("--configuration is for a model with sharding specifications");
  if (!is_described || is_told) return program_of_ranks(arguments, models, single);
  if (!arguments.shapes.empty()) {
    ImportOptions reading;
    LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
    LEMMA_ASSIGN_OR_RETURN(models[0], import_model(arguments.ranks[0], reading));
  }
  auto program =
      program_of_sharded(models[0], arguments.configuration, single, arguments.keeps_state);
  if (!program) return with_context(arguments.ranks[0], std::move(program.error()));
  return program;
}

void add_program_files(FilePlan& plan, const PlanArguments& arguments) {
  read_model(plan, arguments.single);
  for (const std::string& rank : arguments.ranks) {
    if (is_plan_file(rank))
      plan.reads(rank, "the plan");
    else
      read_model(plan, rank, "a rank's model");
  }
}

void add_cluster_options(CLI::App& command, ClusterArguments& arguments) {
  command
      .add_option("--cluster", arguments.name,
                  "the cluster that times are predicted for: a name, or the file of a description")
      ->required();
  command
      .add_option("--hosts", arguments.hosts,
                  "hosts of the cluster, where its description leaves them open")
      ->check(check_positive);
}

Result<PricedCluster> priced_cluster(const ClusterArguments& arguments) {
  LEMMA_ASSIGN_OR_RETURN(const auto file, cluster_file(arguments.name));
  LEMMA_ASSIGN_OR_RETURN(
      clusters::Cluster cluster,
      clusters::load_cluster(
          file, arguments.hosts == 0 ? std::nullopt : std::optional<std::size_t>(arguments.hosts)));
  LEMMA_ASSIGN_OR_RETURN(const auto description, device_file(cluster.devices.front().description));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(description));
  auto measured = std::make_shared<const plans::OperatorTimes>(cluster.operators, device);
  return PricedCluster{std::move(cluster),
                       OperatorCosts(priced_by_roofline(std::move(device)), {std::move(measured)})};
}

void add_program_options(CLI::App& command, PlanArguments& arguments) {
  command.add_option("single", arguments.single, "ONNX file of the single-device model")
      ->required();
  command
      .add_option("ranks", arguments.ranks,
                  "ONNX file of each rank, in order, or one for all of them; a plan (.json); or a "
                  "model with sharding specifications")
      ->required();
  command.add_option("--mesh", arguments.mesh,
                     "names and sizes of the axes of devices, as data=2,tensor=4; otherwise one "
                     "axis with the ranks");
  command.add_option("--place", arguments.placements,
                     "how an input or output is placed where shapes do not tell, as NAME:0 or "
                     "NAME:replicated,1 (may be repeated)");
  command.add_option("--configuration", arguments.configuration,
                     "of a model with sharding specifications: the name of the configuration of "
                     "devices, if it has several");
  command.add_option("--shape", arguments.shapes,
                     "fix an input's sizes in the single-device model, NAME:1,3,224,224 (may be "
                     "repeated)");
}

}  // namespace lemma
