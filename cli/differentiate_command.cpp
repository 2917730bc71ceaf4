#include <filesystem>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/error_line.h"
#include "cli/file_plan.h"
#include "cli/number_check.h"
#include "frontend_onnx/export.h"
#include "programs/shape_option.h"
#include "targets/data_files.h"
#include "training/spell.h"
#include "training/training_file.h"

namespace lemma {

namespace {

struct DifferentiateArguments {
  std::string model, output, rules;
  std::vector<std::string> shapes;
  training::TrainingOptions training;
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

Result<training::TrainingModel> written_step(const DifferentiateArguments& arguments) {
  FilePlan plan;
  read_model(plan, arguments.model);
  plan.writes(arguments.output, "-o");
  LEMMA_RETURN_IF_ERROR(plan.check());
  const std::filesystem::path rules_directory =
      arguments.rules.empty() ? data_directory() / "rules" : std::filesystem::path(arguments.rules);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Substitution> rules,
                         training::spelling_rules(rules_directory));
  LEMMA_ASSIGN_OR_RETURN(const auto shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(
      training::TrainingModel step,
      training::training_model(arguments.model, shapes, arguments.training, rules));
  LEMMA_RETURN_IF_ERROR(export_model(step.model, arguments.output));
  LEMMA_ASSIGN_OR_RETURN(const auto without_proof,
                         training::spellings_without_proof(rules_directory));
  for (const Substitution& rule : without_proof)
    if (step.rules.contains(rule.name))
      std::cerr << fmt::format(
          "lemma: note: the rule {} has no proof; it is compared on samples (docs/gradients.md)\n",
          rule.name);
  return step;
}

ExitCode run_differentiate(const DifferentiateArguments& arguments) {
  const auto step = written_step(arguments);
  if (!step) {
    std::cerr << error_line(arguments.model, step.error().message) << "\n";
    return exit_code_of(step.error().kind);
  }
  std::cout << fmt::format("{} parameters, {} nodes, written to {}\n", step->parameters.size(),
                           step->model.graph.live_nodes().size(), printable(arguments.output));
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
                  "multiply the loss before it is differentiated, and divide the gradients by it")
      ->check(check_positive)
      ->capture_default_str();
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
  command->add_option("--rules", arguments->rules, "folder of the rules, if not the shipped one");
  command->callback([arguments, &exit_code] { exit_code = run_differentiate(*arguments); });
}

}  // namespace lemma
