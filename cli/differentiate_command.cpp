#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/memory_limit.h"
#include "cli/number_check.h"
#include "costmodel/device.h"
#include "frontend_onnx/export.h"
#include "memory_plan/graphs/graph_problem.h"
#include "memory_plan/order.h"
#include "memory_plan/plan_within.h"
#include "memory_plan/replay.h"
#include "programs/shape_option.h"
#include "report/memory_report.h"
#include "targets/data_files.h"
#include "training/spell.h"
#include "training/training_file.h"

namespace lemma {

namespace {

struct DifferentiateArguments {
  std::string model, output, rules;
  std::vector<std::string> shapes;
  std::string memory_limit, memory_picture;
  training::TrainingOptions training;
};

/// What is written, and what a limit of memory did to it.
struct WrittenStep {
  training::TrainingModel step;
  std::optional<backend::MemoryFigures> memory;
};

const std::map<std::string, training::Optimizer>& optimizers() {
  static const std::map<std::string, training::Optimizer> names = {
      {"none", training::Optimizer::none},
      {"sgd", training::Optimizer::sgd},
      {"momentum", training::Optimizer::momentum},
      {"adam", training::Optimizer::adam},
      {"adamw", training::Optimizer::adamw}};
  return names;
}

std::string name_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return fmt::format("{} {}", graph.op(node).name, graph.suggested_name(node.output()));
}

/// The order in which a graph's operations are written for a limit of memory, and what it costs by the description of this
/// processor's kind.
Result<std::vector<NodeId>> order_within(const Graph& graph, const std::string& limit,
                                         backend::MemoryFigures& figures) {
  LEMMA_ASSIGN_OR_RETURN(const auto file, device_file("cpu"));
  LEMMA_ASSIGN_OR_RETURN(Device device, load_device(file));
  const OperatorCosts costs(priced_by_roofline(std::move(device)));
  LEMMA_ASSIGN_OR_RETURN(const memory_plan::GraphProblem problem,
                         memory_plan::problem_of(graph, costs));
  const auto replay_of = [&](const memory_plan::Sequence& sequence) {
    return memory_plan::replay(problem.problem, plan_of(problem.problem, sequence));
  };
  LEMMA_ASSIGN_OR_RETURN(const memory_plan::Replay before,
                         replay_of(memory_plan::given_order(problem.problem)));
  figures.limit = limit == least_memory ? UINT64_MAX : bytes_of(limit);
  memory_plan::Outcome outcome;
  if (limit == least_memory) {
    outcome.sequence = memory_plan::low_memory_order(problem.problem).order;
    outcome.seconds_bound = before.seconds;
  } else {
    outcome = memory_plan::plan_within(problem.problem, figures.limit);
    if (!outcome.is_found())
      return bad_input(fmt::format(
          "the memory limit of {} bytes is too small: the least for which a plan is found is {} "
          "bytes",
          figures.limit, memory_plan::least_limit(problem.problem)));
  }
  LEMMA_ASSIGN_OR_RETURN(const memory_plan::Replay after, replay_of(outcome.sequence));
  figures.arena_before = before.peak;
  figures.seconds_before = before.seconds;
  figures.seconds = after.seconds;
  figures.seconds_bound = outcome.seconds_bound;
  figures.bounds_order = outcome.bounds_order;
  figures.method = memory_plan::name(outcome.method);
  figures.before = before.during;
  figures.after = after.during;
  for (memory_plan::NodeNumber number = 0; number < after.runs.size(); ++number)
    for (std::uint32_t run = 1; run < after.runs[number]; ++run)
      figures.repeated.push_back(name_of(graph, problem.nodes[number]));
  return nodes_of(problem, outcome.sequence);
}

Result<WrittenStep> written_step(const DifferentiateArguments& arguments) {
  FilePlan plan;
  read_model(plan, arguments.model);
  plan.writes(arguments.output, "-o");
  plan.writes(arguments.memory_picture, "--memory-picture");
  LEMMA_RETURN_IF_ERROR(plan.check());
  const std::filesystem::path rules_directory =
      arguments.rules.empty() ? data_directory() / "rules" : std::filesystem::path(arguments.rules);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> rules,
                         training::spelling_rules(rules_directory));
  LEMMA_ASSIGN_OR_RETURN(const auto shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(
      training::TrainingModel step,
      training::training_model(arguments.model, shapes, arguments.training, rules));
  std::optional<backend::MemoryFigures> memory;
  ExportOptions writing;
  Result<void> planned;
  if (!arguments.memory_limit.empty())
    writing.order = [&](const Graph& graph) {
      auto order = order_within(graph, arguments.memory_limit, memory.emplace());
      if (!order) planned = tl::unexpected(order.error());
      return order;
    };
  const auto exported = export_model(step.model, arguments.output, writing);
  LEMMA_RETURN_IF_ERROR(planned);  // without the name of the file that is not written
  LEMMA_RETURN_IF_ERROR(exported);
  if (memory && !arguments.memory_picture.empty())
    LEMMA_RETURN_IF_ERROR(write_memory_svg(arguments.memory_picture, arguments.output, *memory));
  LEMMA_ASSIGN_OR_RETURN(const auto without_proof,
                         training::spellings_without_proof(rules_directory));
  for (const Substitution& rule : without_proof)
    if (step.rules.contains(rule.name))
      std::cerr << fmt::format(
          "lemma: note: the rule {} has no proof; it is compared on samples (docs/gradients.md)\n",
          rule.name);
  return WrittenStep{std::move(step), std::move(memory)};
}

ExitCode run_differentiate(const DifferentiateArguments& arguments) {
  const auto written = written_step(arguments);
  if (!written) {
    std::cerr << error_line(arguments.model, written.error().message) << "\n";
    return exit_code_of(written.error().kind);
  }
  const training::TrainingModel* const step = &written->step;
  std::cout << fmt::format("{} parameters, {} nodes, written to {}\n", step->parameters.size(),
                           step->model.graph.live_nodes().size(), printable(arguments.output));
  if (written->memory) {
    const std::vector<std::uint64_t>& bytes = written->memory->after;
    std::cout << memory_text(*written->memory,
                             bytes.empty() ? 0 : *std::max_element(bytes.begin(), bytes.end()));
  }
  for (const std::string& name : step->without_gradient)
    std::cerr << printable(fmt::format("lemma: note: the loss does not depend on '{}'", name))
              << "\n";
  return ExitCode::done;
}

void add_numbers(CLI::App& command, training::TrainingOptions& training) {
  command.add_option("--momentum", training.momentum, "decay of the momentum")
      ->check(check_non_negative)
      ->capture_default_str();
  command
      .add_option("--beta1", training.first_decay, "decay of the mean of gradients (adam, adamw)")
      ->check(check_non_negative)
      ->capture_default_str();
  command
      .add_option("--beta2", training.second_decay,
                  "decay of the mean of their squares (adam, adamw)")
      ->check(check_non_negative)
      ->capture_default_str();
  command.add_option("--epsilon", training.epsilon, "added to the root of that (adam, adamw)")
      ->check(check_non_negative)
      ->capture_default_str();
  command.add_option("--weight-decay", training.weight_decay, "decay of the parameters (adamw)")
      ->check(check_non_negative)
      ->capture_default_str();
  command
      .add_option("--loss-scale", training.loss_scale,
                  "multiply the loss before it is differentiated, and divide the gradients by it; "
                  "otherwise 1, or with --mixed-precision found by each step for the next one")
      ->check(check_positive);
  command
      .add_option(
          "--mixed-precision", training.half,
          "f16 or bf16: compute the model and its gradients in this type; weights, loss and "
          "update stay f32, and a step whose gradients are not finite changes nothing")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, DataType>{{"f16", DataType::f16}, {"bf16", DataType::bf16}}));
}

}  // namespace

void add_differentiate_command(CLI::App& application, ExitCode& exit_code) {
  auto* command = application.add_subcommand(
      "differentiate", "write a step of training of an ONNX model: loss, gradients and update");
  auto arguments = std::make_shared<DifferentiateArguments>();
  command->add_option("model", arguments->model, "ONNX file")->required();
  command->add_option("-o,--output", arguments->output, "ONNX file to write")->required();
  command
      ->add_option("--loss", arguments->training.loss,
                   "cross-entropy or mse of the first output, or the name of an output that is the "
                   "loss")
      ->capture_default_str();
  command->add_option(
      "--wrt", arguments->training.parameters,
      "names of the weights or inputs to train, with * and ?; otherwise all weights "
      "with an axis");
  command
      ->add_option("--optimizer", arguments->training.optimizer,
                   "sgd, momentum, adam, adamw, or none for gradients as outputs")
      ->transform(CLI::CheckedTransformer(optimizers()))
      ->default_str("sgd");
  add_numbers(*command, arguments->training);
  command->add_option("--shape", arguments->shapes,
                      "fix an input's sizes, NAME:1,3,224,224 (may be repeated)");
  auto* limit = command->add_option(
      "--memory-limit", arguments->memory_limit,
      "bytes of what nodes compute, as 64M; nodes are written in another order and again where "
      "that "
      "is needed; 'least': the order that needs the least, where each is written once");
  limit->check(check_memory_limit);
  command
      ->add_option("--memory-picture", arguments->memory_picture,
                   "file for a picture of the memory over time, before and with the limit, SVG")
      ->needs(limit);
  command->add_option("--rules", arguments->rules, "folder of the rules, if not the shipped one");
  command->callback([arguments, &exit_code] { exit_code = run_differentiate(*arguments); });
}

}  // namespace lemma
