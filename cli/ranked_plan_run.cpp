#include "cli/ranked_plan_run.h"

#include <algorithm>

#include "plans/on_ranks/ranked_run.h"

namespace lemma {

namespace {

/// Runs a program in which each rank has operators of its own.
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

}  // namespace

Result<RankedRunResult> run_ranked(const Graph& single, const plans::RankedProgram& program,
                                   const std::vector<interpreter::NamedTensor>& inputs) {
  RankedRun run(single, program, inputs);
  LEMMA_RETURN_IF_ERROR(run());
  LEMMA_ASSIGN_OR_RETURN(const double difference, run.difference_from_one_device());
  RankedRunResult result{run.results(), difference};
  // What is planned is known of programs that are the same on all ranks.
  result.results.planned_bytes.clear();
  result.results.collectives.clear();
  return result;
}

}  // namespace lemma
