#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/error_line.h"
#include "cli/number_check.h"
#include "cli/plan_program.h"
#include "cli/plan_results.h"
#include "cli/rank_job.h"
#include "cli/ranked_plan_run.h"
#include "interpreter/run.h"
#include "plans/exchanges/exchanges.h"
#include "plans/on_ranks/rank_program.h"
#include "plans/on_ranks/traffic.h"
#include "plans/task_programs/stage_programs.h"
#include "programs/shape_option.h"
#include "report/table.h"

namespace lemma {

namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

/// A run of reals over devices rounds in another order than on one.
constexpr double most_difference = 1e-3;

struct RunPlanArguments : PlanArguments {
  std::uint64_t seed = 0, steps = 1;
  std::string engine = engine_names.front(), exchange = plans::exchange_names().front(), inputs;
  std::vector<std::string> schedules;
  bool json = false;
};

/// A value that a step gives and the next one reads.
struct PassedOn {
  std::size_t output = 0, input = 0;
};

/// What a rank has of the inputs and weights.
Result<std::vector<Tensor>> inputs_of_rank(const Graph& single, const plans::Program& program,
                                           const std::vector<NamedTensor>& inputs,
                                           std::size_t rank) {
  std::vector<Tensor> result;
  for (const plans::ProgramInput& input : program.inputs) {
    Tensor whole;
    const Node& node = single.node(single.producer(input.single));
    if (node.kind == NodeKind::constant) {
      whole = Tensor::of(single.constant(node));
    } else {
      for (const NamedTensor& given : inputs)
        if (given.name == single.input_name(node)) whole = given.value;
    }
    LEMMA_ASSIGN_OR_RETURN(Tensor part, plans::part_of(whole, input.placement, program.mesh, rank));
    result.push_back(std::move(part));
  }
  return result;
}

/// State of a step of training, in the program. An error: a step gives it otherwise placed than the next one reads it.
Result<std::vector<PassedOn>> passed_on(const Graph& single, const plans::Program& program) {
  std::vector<PassedOn> result;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const Node& node = single.node(single.producer(program.inputs[i].single));
    if (node.kind != NodeKind::input) continue;
    const std::string next = single.input_name(node) + std::string(next_state);
    for (std::size_t k = 0; k < program.outputs.size(); ++k) {
      if (program.outputs[k].name != next) continue;
      if (!(program.outputs[k].placement == program.inputs[i].placement))
        return bad_input(fmt::format(
            "output '{}' is placed otherwise than input '{}', and cannot be handed to the next "
            "step",
            next, single.input_name(node)));
      result.push_back({k, i});
    }
  }
  return result;
}

/// The same on one device.
std::vector<PassedOn> passed_on(const Graph& single) {
  std::vector<PassedOn> result;
  for (std::size_t i = 0; i < single.inputs().size(); ++i) {
    const std::string next =
        single.input_name(single.node(single.inputs()[i])) + std::string(next_state);
    for (std::size_t k = 0; k < single.outputs().size(); ++k)
      if (single.outputs()[k].name == next) result.push_back({k, i});
  }
  return result;
}

class PlanRun {
 public:
  PlanRun(const Graph& single, const plans::Program& program, std::vector<NamedTensor> inputs,
          std::vector<PassedOn> state, const RunPlanArguments& arguments,
          const plans::ExchangeSchedules& schedules)
      : single_(single),
        program_(program),
        inputs_(std::move(inputs)),
        state_(std::move(state)),
        arguments_(arguments),
        schedules_(schedules),
        results_(static_cast<std::size_t>(program.mesh.device_count())) {}

  Result<void> operator()() {
    // All ranks have the same exchanges.
    LEMMA_ASSIGN_OR_RETURN(const plans::RankProgram first, plans::rank_program(program_, 0));
    std::vector<plans::GroupOfExchange> exchanges;
    for (const plans::Stage& stage : first.stages)
      for (const plans::Exchange& exchange : stage.exchanges)
        exchanges.push_back(
            {&exchange,
             first.groups[static_cast<std::size_t>(exchange.attributes.integer("device_axis"))]
                 .size()});
    LEMMA_ASSIGN_OR_RETURN(results_.schedules, used_schedules(schedules_, exchanges));
    return run_on_all(results_.outputs.size(), *this);
  }

  const RankResults& results() const { return results_; }

  Result<void> compute(plans::Communicator& base) {
    const std::size_t rank = base.rank();
    LEMMA_ASSIGN_OR_RETURN(const plans::RankProgram rank_program,
                           plans::rank_program(program_, rank));
    LEMMA_ASSIGN_OR_RETURN(const plans::StageEngine engine, engine_of(rank_program, base));
    LEMMA_ASSIGN_OR_RETURN(const auto way,
                           plans::exchanging_by(*plans::exchange_of_name(arguments_.exchange), base,
                                                rank_module("lemma_nccl_plans.so")));
    plans::Communicator& communicator = way ? *way : base;
    LEMMA_ASSIGN_OR_RETURN(auto own, inputs_of_rank(single_, program_, inputs_, rank));
    LEMMA_RETURN_IF_ERROR(plans::meet(base));
    const std::uint64_t bytes = communicator.bytes_sent(), messages = communicator.messages();
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs,
                           run_steps(rank_program, std::move(own), engine, communicator));
    for (const Tensor& output : outputs) results_.outputs[rank].push_back(copy_of(output));
    results_.bytes[rank] = communicator.bytes_sent() - bytes;
    results_.messages[rank] = communicator.messages() - messages;
    // What is still on its way must not meet a rank that has gone.
    LEMMA_RETURN_IF_ERROR(plans::meet(base));
    return check_traffic(rank_program, rank);
  }

  /// Gives what each process has to all.
  Result<void> share(plans::Communicator& communicator) {
    const plans::Group all = all_ranks(communicator);
    const std::size_t rank = communicator.rank();
    LEMMA_RETURN_IF_ERROR(share_counts(results_, communicator));
    const std::vector<Tensor> own = results_.outputs[rank];
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::vector<std::byte> bytes(own[i].bytes().size() * all.size());
      LEMMA_RETURN_IF_ERROR(communicator.all_gather(all, own[i].bytes(), bytes));
      for (std::size_t other = 0; other < all.size(); ++other) {
        Tensor part = Tensor::uninitialized(own[i].data_type(), own[i].sizes());
        std::copy_n(bytes.begin() + static_cast<long>(other * own[i].bytes().size()),
                    own[i].bytes().size(), part.writable_bytes().begin());
        results_.outputs[other].resize(own.size());
        results_.outputs[other][i] = std::move(part);
      }
    }
    return {};
  }

 private:
  Result<plans::StageEngine> engine_of(const plans::RankProgram& rank_program,
                                       plans::Communicator& communicator) {
    if (arguments_.engine == engine_names.front()) return plans::interpreter_engine(1);
    LEMMA_ASSIGN_OR_RETURN(plans::StagePrograms programs,
                           plans::stage_programs(plans::stage_graphs(rank_program), communicator));
    if (communicator.rank() == 0) results_.interpreted = std::move(programs.interpreted);
    return std::move(programs.engine);
  }

  Result<std::vector<Tensor>> run_steps(const plans::RankProgram& rank_program,
                                        std::vector<Tensor> own, const plans::StageEngine& engine,
                                        plans::Communicator& communicator) {
    std::vector<Tensor> outputs;
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t step = 0; step < arguments_.steps; ++step) {
      LEMMA_ASSIGN_OR_RETURN(outputs,
                             plans::run_rank(rank_program, own, engine, communicator, &schedules_));
      for (const PassedOn& state : state_) own[state.input] = outputs[state.output];
      if (communicator.rank() == 0) note_step(outputs, begin);
    }
    return outputs;
  }

  void note_step(const std::vector<Tensor>& outputs, std::chrono::steady_clock::time_point begin) {
    results_.seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    std::vector<double>& numbers = results_.numbers.emplace_back();
    for (const Tensor& output : outputs)
      if (output.element_count() == 1) numbers.push_back(output.reals()[0]);
  }

  Result<void> check_traffic(const plans::RankProgram& rank_program, std::size_t rank) {
    const plans::Traffic planned = plans::planned_traffic(rank_program, rank, &schedules_);
    results_.planned_bytes[rank] = planned.bytes * arguments_.steps;
    results_.collectives[rank] = planned.collectives * arguments_.steps;
    return check_sent(results_, rank, planned.messages * arguments_.steps);
  }

  const Graph& single_;
  const plans::Program& program_;
  std::vector<NamedTensor> inputs_;
  std::vector<PassedOn> state_;
  const RunPlanArguments& arguments_;
  const plans::ExchangeSchedules& schedules_;
  RankResults results_;
};

/// What one device computes in the last step, and the largest element that an output has had in any step: a momentum that tends
/// to 0 keeps the rounding errors of the larger terms that it was made of.
struct OnOneDevice {
  std::vector<Tensor> outputs;
  std::vector<double> largest;
};

Result<OnOneDevice> on_one_device(const Graph& single, std::vector<NamedTensor> inputs,
                                  std::uint64_t steps) {
  const std::vector<PassedOn> state = passed_on(single);
  OnOneDevice result;
  result.largest.resize(single.outputs().size());
  for (std::uint64_t step = 0; step < steps; ++step) {
    LEMMA_ASSIGN_OR_RETURN(result.outputs, interpreter::run(single, inputs));
    for (std::size_t k = 0; k < result.largest.size(); ++k)
      result.largest[k] = std::max(result.largest[k], largest_element(result.outputs[k]));
    for (const PassedOn& passed : state) inputs[passed.input].value = result.outputs[passed.output];
  }
  return result;
}

Result<double> difference_from_one_device(const Graph& single, const plans::Program& program,
                                          const std::vector<NamedTensor>& inputs,
                                          std::uint64_t steps, const RankResults& results) {
  LEMMA_ASSIGN_OR_RETURN(const OnOneDevice expected, on_one_device(single, inputs, steps));
  double difference = 0;
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    std::vector<Tensor> parts;
    for (const auto& own : results.outputs) parts.push_back(own[i]);
    LEMMA_ASSIGN_OR_RETURN(const Tensor whole,
                           plans::whole_of(parts, program.outputs[i].placement, program.mesh));
    for (std::size_t k = 0; k < single.outputs().size(); ++k)
      if (single.outputs()[k].name == program.outputs[i].name)
        difference = std::max(difference,
                              largest_difference(expected.outputs[k], whole, expected.largest[k]));
  }
  return difference;
}

/// The outputs of one element in a step: "loss 0.51".
std::string numbers_text(const plans::Program& program, const std::vector<double>& numbers,
                         const std::vector<Tensor>& outputs) {
  std::string text;
  std::size_t at = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].element_count() != 1) continue;
    text +=
        fmt::format("{}{} {:.6g}", text.empty() ? "" : ", ", program.outputs[i].name, numbers[at]);
    ++at;
  }
  return text;
}

void print_text(const plans::Program& program, const RunPlanArguments& arguments,
                const RankResults& results, double difference) {
  std::cout << exchanges_text(results) << "\n";
  if (arguments.steps > 1 && !results.numbers.back().empty())
    std::cout << printable(
                     fmt::format("{} in the first step; {} in step {}",
                                 numbers_text(program, results.numbers.front(), results.outputs[0]),
                                 numbers_text(program, results.numbers.back(), results.outputs[0]),
                                 arguments.steps))
              << "\n";
  std::cout << fmt::format(
      "the outputs differ from those of one device by {:.1e} of the largest element{}\n",
      difference, arguments.steps > 1 ? " of any step" : "");
}

void print_json(const plans::Program& program, const RunPlanArguments& arguments,
                const RankResults& results, double difference) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array(), steps = ranks;
  for (std::size_t rank = 0; rank < results.outputs.size(); ++rank) {
    ranks.push_back({{"messages", results.messages[rank]}, {"bytes", results.bytes[rank]}});
    ranks.back()["planned_bytes"] = results.planned_bytes[rank];
    ranks.back()["collectives"] = results.collectives[rank];
  }
  for (std::size_t step = 0; step < results.seconds.size(); ++step) {
    nlohmann::ordered_json entry = {{"seconds", results.seconds[step]}};
    std::size_t at = 0;
    for (std::size_t i = 0; i < results.outputs[0].size(); ++i)
      if (results.outputs[0][i].element_count() == 1)
        entry[program.outputs[i].name] = results.numbers[step][at++];
    steps.push_back(std::move(entry));
  }
  nlohmann::ordered_json schedules = nlohmann::ordered_json::array();
  for (const UsedSchedule& used : results.schedules) {
    const collectives::Counts counts = collectives::counts_of(*used.schedule);
    schedules.push_back({{"collective", clusters::name(used.schedule->collective)},
                         {"ranks", used.schedule->nodes},
                         {"method", used.schedule->method},
                         {"chunks", used.schedule->chunks},
                         {"steps", counts.steps},
                         {"sends", counts.total},
                         {"exchanges", used.exchanges}});
  }
  const nlohmann::ordered_json answer = {{"engine", arguments.engine},
                                         {"exchange", arguments.exchange},
                                         {"interpreted", results.interpreted},
                                         {"ranks", ranks},
                                         {"schedules", schedules},
                                         {"difference", difference},
                                         {"steps", steps}};
  std::cout << answer.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << "\n";
}

ExitCode exit_code_of(double difference) {
  return difference <= most_difference ? ExitCode::done : ExitCode::check_failed;
}

/// A program in which each rank has operators of its own.
Result<ExitCode> run_own_operators(const Graph& single, const plans::RankedProgram& program,
                                   const std::vector<NamedTensor>& inputs,
                                   const RunPlanArguments& arguments,
                                   const plans::ExchangeSchedules& schedules) {
  std::vector<plans::Exchange> exchanges;
  for (const plans::GroupExchange& exchange : program.exchanges)
    exchanges.push_back({exchange.op,
                         exchange.attributes,
                         {},
                         {},
                         program.program.graph.type(exchange.operands.front())});
  std::vector<plans::GroupOfExchange> groups;
  for (std::size_t i = 0; i < exchanges.size(); ++i)
    groups.push_back({&exchanges[i], program.exchanges[i].ranks.size()});
  LEMMA_ASSIGN_OR_RETURN(std::vector<UsedSchedule> used, used_schedules(schedules, groups));
  LEMMA_ASSIGN_OR_RETURN(RankResults results,
                         run_ranked(single, program, inputs,
                                    {arguments.engine != engine_names.front(), arguments.exchange,
                                     arguments.steps, schedules}));
  results.schedules = std::move(used);
  if (!speaks_for_all()) return ExitCode::done;
  LEMMA_ASSIGN_OR_RETURN(const OnOneDevice expected,
                         on_one_device(single, inputs, arguments.steps));
  double difference = 0;
  for (std::size_t i = 0; i < program.program.outputs.size(); ++i)
    for (std::size_t k = 0; k < single.outputs().size(); ++k)
      if (single.outputs()[k].name == program.program.outputs[i].name)
        difference = std::max(
            difference,
            largest_difference(expected.outputs[k], results.outputs[0][i], expected.largest[k]));
  print_notes(results.interpreted);
  if (arguments.json)
    print_json(program.program, arguments, results, difference);
  else
    print_text(program.program, arguments, results, difference);
  return exit_code_of(difference);
}

Result<ExitCode> run_plan(const RunPlanArguments& arguments) {
  FilePlan files;
  add_program_files(files, arguments);
  files.reads_below(arguments.inputs, "--inputs", "input_");
  for (const std::string& schedule : arguments.schedules) files.reads(schedule, "--schedule");
  LEMMA_RETURN_IF_ERROR(files.check());
  if (!arguments.schedules.empty() && arguments.exchange != "collectives" &&
      arguments.exchange != "send-receive")
    return bad_input("--schedule is for --exchange collectives or send-receive");
  LEMMA_ASSIGN_OR_RETURN(const plans::ExchangeSchedules schedules,
                         given_schedules(arguments.schedules));
  ImportOptions reading;
  LEMMA_ASSIGN_OR_RETURN(reading.shapes, parse_shape_options(arguments.shapes));
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, import_model(arguments.single, reading));
  PlanArguments asked = arguments;
  asked.keeps_state = arguments.steps > 1;
  LEMMA_ASSIGN_OR_RETURN(const AnyProgram any, program_of(asked, model));
  LEMMA_ASSIGN_OR_RETURN(const auto inputs,
                         given_inputs(model.graph, arguments.inputs, arguments.seed));
  if (any.ranked) return run_own_operators(model.graph, *any.ranked, inputs, arguments, schedules);
  const plans::Program& program = any.same;
  std::vector<PassedOn> state;
  if (arguments.steps > 1) {
    LEMMA_ASSIGN_OR_RETURN(state, passed_on(model.graph, program));
  }
  PlanRun run(model.graph, program, inputs, std::move(state), arguments, schedules);
  LEMMA_RETURN_IF_ERROR(run());
  if (!speaks_for_all()) return ExitCode::done;
  LEMMA_ASSIGN_OR_RETURN(
      const double difference,
      difference_from_one_device(model.graph, program, inputs, arguments.steps, run.results()));
  print_notes(run.results().interpreted);
  if (arguments.json)
    print_json(program, arguments, run.results(), difference);
  else
    print_text(program, arguments, run.results(), difference);
  return exit_code_of(difference);
}

}  // namespace

void add_plan_run(CLI::App& plan_command, ExitCode& exit_code) {
  auto* command = plan_command.add_subcommand(
      "run",
      "run a plan or the models of ranks on random inputs, a thread for each rank, and compare "
      "with one device");
  auto arguments = std::make_shared<RunPlanArguments>();
  add_program_options(*command, *arguments);
  command->add_option("--engine", arguments->engine, "what computes on a rank")
      ->check(CLI::IsMember(engine_names))
      ->capture_default_str();
  command->add_option("--exchange", arguments->exchange, "how ranks exchange tensors")
      ->check(CLI::IsMember(plans::exchange_names()))
      ->capture_default_str();
  command->add_option("--inputs", arguments->inputs,
                      "folder with inputs, input_0.pb, input_1.pb, ...; others are random");
  command
      ->add_option("--steps", arguments->steps,
                   "steps, one after the other: what is called NAME.next is NAME in the next one")
      ->check(check_positive)
      ->capture_default_str();
  command->add_option("--schedule", arguments->schedules,
                      "file of lemma plan collective: collectives of its kind and number of ranks "
                      "are carried out by this schedule (may be repeated)");
  command->add_flag("--json", arguments->json, "print JSON");
  command->add_option("--seed", arguments->seed, "seed of the random inputs")
      ->capture_default_str();
  command->callback(
      [arguments, &exit_code] { exit_code = exit_code_of_rank(run_plan(*arguments)); });
}

}  // namespace lemma
