#include "cli/ranked_plan_run.h"

#include <chrono>
#include <span>

#include <fmt/format.h>

#include "cli/plan_program.h"
#include "plans/exchanges/exchanges.h"
#include "plans/on_ranks/ranked_run.h"
#include "plans/on_ranks/traffic.h"
#include "plans/task_programs/stage_programs.h"

namespace lemma {

namespace {

using interpreter::Tensor;

/// Runs a program in which each rank has operators of its own.
class RankedRun {
 public:
  RankedRun(const Graph& single, const plans::RankedProgram& program,
            std::vector<interpreter::NamedTensor> inputs, const RankedRunOptions& options,
            std::vector<plans::PassedValue> passed)
      : single_(single),
        program_(program),
        inputs_(std::move(inputs)),
        options_(options),
        passed_(std::move(passed)),
        passed_channels_(plans::passed_channels(program, passed_)),
        schedules_(options.schedules),
        results_(program.rank_count()),
        notes_(program.rank_count()),
        parts_(program.outputs.size()),
        numbers_(program.outputs.size(), std::vector<double>(options.steps)) {
    schedules_.channel = first_free_channel();
  }

  Result<void> operator()() { return run_on_all(program_.rank_count(), *this); }

  Result<void> compute(plans::Communicator& base) {
    const std::size_t rank = base.rank();
    LEMMA_ASSIGN_OR_RETURN(const std::vector<plans::RankStage> stages,
                           plans::rank_stages(program_, rank));
    LEMMA_ASSIGN_OR_RETURN(const plans::StageEngine engine, engine_of(stages, base));
    LEMMA_ASSIGN_OR_RETURN(const auto way,
                           plans::exchanging_by(*plans::exchange_of_name(options_.exchange), base,
                                                rank_module("lemma_nccl_plans.so")));
    plans::Communicator& communicator = way ? *way : base;
    LEMMA_ASSIGN_OR_RETURN(plans::RankValueMap sources,
                           plans::source_tensors(single_, program_, rank, inputs_));
    std::vector<plans::MessageChannel> channels = plans::message_channels(program_);
    channels.insert(channels.end(), passed_channels_.begin(), passed_channels_.end());
    LEMMA_RETURN_IF_ERROR(communicator.open_channels(channels));
    LEMMA_RETURN_IF_ERROR(plans::meet(base));
    const std::uint64_t bytes = communicator.bytes_sent(), messages = communicator.messages();
    LEMMA_RETURN_IF_ERROR(run_steps(stages, std::move(sources), engine, communicator));
    results_.bytes[rank] = communicator.bytes_sent() - bytes;
    results_.messages[rank] = communicator.messages() - messages;
    // What is still on its way must not meet a rank that has gone.
    LEMMA_RETURN_IF_ERROR(plans::meet(base));
    return check_traffic(rank);
  }

  /// Gives what each process has to all.
  Result<void> share(plans::Communicator& communicator) {
    LEMMA_RETURN_IF_ERROR(share_counts(results_, communicator));
    LEMMA_ASSIGN_OR_RETURN(notes_, share_text(notes_[communicator.rank()], communicator));
    std::uint32_t channel = first_free_channel() + 1;  // behind that of schedules
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const std::size_t owner = program_.outputs[i].rank;
      const TensorType& type = program_.program.graph.type(program_.outputs[i].value);
      if (communicator.rank() != owner)
        parts_[i] = Tensor::uninitialized(type.data_type, *constant_sizes(*type.shape));
      LEMMA_RETURN_IF_ERROR(give(communicator, owner, channel++, parts_[i].writable_bytes()));
      LEMMA_RETURN_IF_ERROR(
          give(communicator, owner, channel++, std::as_writable_bytes(std::span(numbers_[i]))));
    }
    return {};
  }

  /// What the ranks have given, once all are done.
  Result<RankResults> finish() {
    for (std::size_t rank = 0; rank < notes_.size(); ++rank)
      for (std::size_t begin = 0; begin < notes_[rank].size();) {
        const std::size_t end = notes_[rank].find('\n', begin);
        results_.interpreted.push_back(
            fmt::format("rank {}: {}", rank, notes_[rank].substr(begin, end - begin)));
        begin = end + 1;
      }
    results_.numbers.resize(options_.steps);
    for (const plans::ProgramOutput& output : program_.program.outputs) {
      for (const GraphOutput& single : single_.outputs()) {
        if (single.name != output.name) continue;
        LEMMA_ASSIGN_OR_RETURN(
            Tensor whole,
            plans::whole_output(program_, output.name, single_.type(single.value), parts_));
        if (whole.element_count() == 1) add_numbers(output.name);
        results_.outputs[0].push_back(std::move(whole));
      }
    }
    return std::move(results_);
  }

 private:
  /// Behind those of the program and of what steps pass on.
  std::uint32_t first_free_channel() const {
    return static_cast<std::uint32_t>(program_.transfers.size() + passed_.size());
  }

  static Result<void> give(plans::Communicator& communicator, std::size_t owner,
                           std::uint32_t channel, std::span<std::byte> bytes) {
    if (communicator.rank() != owner) return communicator.receive(owner, channel, bytes);
    for (std::size_t other = 0; other < communicator.size(); ++other)
      if (other != owner) LEMMA_RETURN_IF_ERROR(communicator.send(other, channel, bytes));
    return {};
  }

  Result<plans::StageEngine> engine_of(const std::vector<plans::RankStage>& stages,
                                       plans::Communicator& communicator) {
    if (!options_.has_task_programs) return plans::interpreter_engine(1);
    LEMMA_ASSIGN_OR_RETURN(plans::StagePrograms programs,
                           plans::stage_programs(plans::stage_graphs(stages), communicator));
    for (const std::string& note : programs.interpreted) notes_[communicator.rank()] += note + "\n";
    return std::move(programs.engine);
  }

  Result<void> run_steps(const std::vector<plans::RankStage>& stages, plans::RankValueMap sources,
                         const plans::StageEngine& engine, plans::Communicator& communicator) {
    const std::size_t rank = communicator.rank();
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t step = 0; step < options_.steps; ++step) {
      LEMMA_ASSIGN_OR_RETURN(
          std::vector<Tensor> outputs,
          plans::run_stages(program_, stages, sources, engine, communicator, &schedules_));
      LEMMA_RETURN_IF_ERROR(plans::pass_on(program_, passed_, outputs, sources, communicator));
      std::size_t next = 0;
      for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
        if (program_.outputs[i].rank != rank) continue;
        const Tensor& output = outputs[next++];
        if (output.element_count() == 1) numbers_[i][step] = output.reals()[0];
        if (step + 1 == options_.steps) parts_[i] = copy_of(output);
      }
      if (rank == 0)
        results_.seconds.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return {};
  }

  Result<void> check_traffic(std::size_t rank) {
    const plans::Traffic planned =
        plans::planned_traffic(program_, rank, passed_channels_, &schedules_);
    results_.planned_bytes[rank] = planned.bytes * options_.steps;
    results_.collectives[rank] = planned.collectives * options_.steps;
    return check_sent(results_, rank, planned.messages * options_.steps);
  }

  void add_numbers(const std::string& name) {
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      if (program_.outputs[i].name != name) continue;
      for (std::size_t step = 0; step < numbers_[i].size(); ++step)
        results_.numbers[step].push_back(numbers_[i][step]);
      return;
    }
  }

  const Graph& single_;
  const plans::RankedProgram& program_;
  std::vector<interpreter::NamedTensor> inputs_;
  const RankedRunOptions& options_;
  std::vector<plans::PassedValue> passed_;
  std::vector<plans::MessageChannel> passed_channels_;
  plans::ExchangeSchedules schedules_;
  RankResults results_;
  std::vector<std::string> notes_;            // by rank: lines
  std::vector<Tensor> parts_;                 // by RankedProgram::outputs, of the last step
  std::vector<std::vector<double>> numbers_;  // likewise: by step, of outputs of one element
};

}  // namespace

Result<RankResults> run_ranked(const Graph& single, const plans::RankedProgram& program,
                               const std::vector<interpreter::NamedTensor>& inputs,
                               const RankedRunOptions& options) {
  std::vector<plans::PassedValue> passed;
  if (options.steps > 1) {
    LEMMA_ASSIGN_OR_RETURN(passed, plans::passed_values(single, program, next_state));
  }
  RankedRun run(single, program, inputs, options, std::move(passed));
  LEMMA_RETURN_IF_ERROR(run());
  return run.finish();
}

}  // namespace lemma
