#pragma once
// What the subcommands of `lemma plan` that read a program over many devices share.

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "batch/exit_code.h"
#include "cli/file_plan.h"
#include "costmodel/operator_costs.h"
#include "frontend_onnx/import.h"
#include "plans/by_rank/ranked_program.h"
#include "plans/clusters/cluster.h"
#include "plans/program.h"
#include "plans/relations/verification.h"
#include "plans/sharded_models/sharded_plan.h"

namespace lemma {

struct PlanArguments {
  std::string single, mesh, claims, configuration;
  std::vector<std::string> ranks, placements, shapes;
  bool lists_values = false;
  /// Of a plan: what a step of training gives of its state is placed as it is read.
  bool keeps_state = false;
};

/// One program of all ranks, or one of ranks that differ.
struct AnyProgram {
  plans::Program same;
  std::optional<plans::RankedProgram> ranked;

  const plans::Program& program() const { return ranked ? ranked->program : same; }
};

/// What times are predicted for.
struct ClusterArguments {
  std::string name;
  std::uint64_t hosts = 0;
};
/// The options --cluster, which is needed, and --hosts.
void add_cluster_options(CLI::App& command, ClusterArguments& arguments);
/// A cluster, and what operators take on its first device.
struct PricedCluster {
  clusters::Cluster cluster;
  OperatorCosts costs;
};
Result<PricedCluster> priced_cluster(const ClusterArguments& arguments);

void add_program_options(CLI::App& command, PlanArguments& arguments);
void add_program_files(FilePlan& plan, const PlanArguments& arguments);
Result<AnyProgram> program_of(const PlanArguments& arguments, const OnnxModel& single);
/// The program that a model's sharding specifications describe for a configuration (plans/sharded_models/sharded_plan.h).
Result<AnyProgram> program_of_sharded(const OnnxModel& model, const std::string& configuration,
                                      const OnnxModel& single, bool keeps_state = false);
bool is_plan_file(const std::string& file);
/// A plan of this graph, JSON of either kind.
Result<plans::ShardedPlan> read_plan_file(const std::string& file, const Graph& graph);

/// What is said of a verification, line by line.
std::vector<std::string> verdict_lines(const plans::Verification& verification);
std::size_t proved_claims(const plans::Relations& relations);
/// The claims that were proved, as rules.
std::string claims_text(const plans::Relations& relations);

/// An output that a step of training gives and the next one reads: "w.next" is the next "w" (docs/gradients.md).
inline constexpr std::string_view next_state = ".next";

/// `lemma plan calibrate`: what ranks take, as a description of a cluster.
void add_plan_calibrate(CLI::App& plan_command, ExitCode& exit_code);
/// `lemma plan collective`: schedules of collectives.
void add_plan_collective(CLI::App& plan_command, ExitCode& exit_code);
/// `lemma plan emit`: a plan as a directory of source.
void add_plan_emit(CLI::App& plan_command, ExitCode& exit_code);
/// `lemma plan export`: a plan as a model with sharding specifications.
void add_plan_export(CLI::App& plan_command, ExitCode& exit_code);
/// `lemma plan make`: a plan that is chosen or follows from placements, and is proved.
void add_plan_make(CLI::App& plan_command, ExitCode& exit_code);
/// `lemma plan replay`: when the devices of a cluster compute and communicate as recorded traces say.
void add_plan_replay(CLI::App& plan_command, ExitCode& exit_code);
/// `lemma plan report`: a page about a plan.
void add_plan_report(CLI::App& plan_command, ExitCode& exit_code);
/// `lemma plan run`: a program over many devices on random inputs, and whether it computes what one device computes.
void add_plan_run(CLI::App& plan_command, ExitCode& exit_code);
/// `lemma plan simulate`: when the devices of a plan compute and communicate.
void add_plan_simulate(CLI::App& plan_command, ExitCode& exit_code);

/// `lemma plan topology`: a network and a plan, chosen together.
void add_plan_topology(CLI::App& plan_command, ExitCode& exit_code);

}  // namespace lemma
