#include "plans/on_ranks/ranked_run.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/data_type.h"
#include "ir/rebuild.h"

namespace lemma::plans {

namespace {

using interpreter::NamedTensor;
using interpreter::Tensor;

std::string stage_name_of(ValueId value) { return fmt::format("v{}", value.v); }

/// The operand of a message or an exchange on a rank, and its result; none() where there is none.
struct Ends {
  ValueId operand = ValueId::none(), result = ValueId::none();
};

Ends ends_of(const RankedProgram& program, std::size_t rank, const Step& step) {
  if (step.kind == StepKind::send) return {program.transfers[step.number].value, ValueId::none()};
  if (step.kind == StepKind::receive)
    return {ValueId::none(), program.transfers[step.number].value};
  const GroupExchange& exchange = program.exchanges[step.number];
  const std::size_t place = place_in(exchange.ranks, rank);
  return {exchange.operands[place], exchange.results[place]};
}

class StageBuilder {
 public:
  StageBuilder(const RankedProgram& program, std::size_t rank)
      : program_(program), graph_(program.program.graph), rank_(rank) {
    for (const RankSource& source : program.sources[rank]) available_.insert(source.value);
  }

  Result<std::vector<RankStage>> operator()() && {
    stages_.emplace_back();
    for (const Step& step : program_.steps[rank_]) {
      if (step.kind == StepKind::compute) {
        LEMMA_RETURN_IF_ERROR(compute(graph_.node(step.node)));
        continue;
      }
      stages_.back().then = step;
      const Ends ends = ends_of(program_, rank_, step);
      if (!ends.operand.is_none()) LEMMA_RETURN_IF_ERROR(need(ends.operand));
      close();
      if (!ends.result.is_none()) available_.insert(ends.result);
      stages_.emplace_back();
    }
    for (const RankOutput& output : program_.outputs)
      if (output.rank == rank_) LEMMA_RETURN_IF_ERROR(need(output.value));
    close();
    LEMMA_RETURN_IF_ERROR(choose_outputs());
    return std::move(stages_);
  }

 private:
  Result<void> compute(const Node& node) {
    bool is_there = true;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      is_there = is_there && is_known(node.output(i));
    if (is_there) return {};
    std::vector<ValueId> operands;
    for (const ValueId operand : node.inputs) {
      operands.push_back(ValueId::none());
      if (operand.is_none()) continue;
      LEMMA_ASSIGN_OR_RETURN(operands.back(), local(operand));
    }
    LEMMA_ASSIGN_OR_RETURN(
        const std::vector<ValueId> outputs,
        add_copy(stages_.back().graph, node, node.attributes, std::move(operands)));
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      local_.insert_or_assign(node.output(i), outputs[i]);
      computed_.insert(node.output(i));
    }
    return {};
  }

  bool is_known(ValueId value) const {
    return available_.contains(value) || local_.contains(value);
  }

  /// A value in the graph of the present stage.
  Result<ValueId> local(ValueId value) {
    if (const auto known = local_.find(value); known != local_.end()) return known->second;
    RankStage& stage = stages_.back();
    const Node& node = graph_.node(graph_.producer(value));
    if (node.kind == NodeKind::constant)
      return local_[value] = stage.graph.add_constant(graph_.constant(node));
    if (!available_.contains(value))
      return internal_error(fmt::format("rank {} reads a value that it does not have", rank_));
    LEMMA_ASSIGN_OR_RETURN(local_[value],
                           stage.graph.add_input(stage_name_of(value), graph_.type(value)));
    stage.inputs.push_back(value);
    readers_[value].push_back(stages_.size() - 1);
    return local_[value];
  }

  /// A value that is sent, exchanged or given after the present stage.
  Result<void> need(ValueId value) {
    readers_[value].push_back(stages_.size() - 1);
    const bool is_constant = graph_.node(graph_.producer(value)).kind == NodeKind::constant;
    if (is_constant && !available_.contains(value)) {
      LEMMA_RETURN_IF_ERROR(local(value));
      computed_.insert(value);
    }
    if (!is_known(value))
      return internal_error(fmt::format("rank {} gives a value that it does not have", rank_));
    return {};
  }

  void close() {
    const std::size_t stage = stages_.size() - 1;
    for (const ValueId value : computed_) {
      made_in_.emplace(value, std::pair(stage, local_.at(value)));
      available_.insert(value);
    }
    computed_.clear();
    local_.clear();
  }

  /// What is read behind the stage that computes it; and where each value is read for the last time.
  Result<void> choose_outputs() {
    for (const auto& [value, readers] : readers_) {
      const auto made = made_in_.find(value);
      if (made != made_in_.end()) {
        RankStage& stage = stages_[made->second.first];
        LEMMA_RETURN_IF_ERROR(stage.graph.add_output(stage_name_of(value), made->second.second));
        stage.outputs.push_back(value);
      }
      const bool is_given =
          std::any_of(program_.outputs.begin(), program_.outputs.end(),
                      [&](const RankOutput& o) { return o.rank == rank_ && o.value == value; });
      if (!is_given) stages_[readers.back()].last_used.push_back(value);
    }
    return {};
  }

  const RankedProgram& program_;
  const Graph& graph_;
  std::size_t rank_;
  std::vector<RankStage> stages_;
  std::set<ValueId> available_, computed_;  // before the present stage, in it
  std::map<ValueId, ValueId> local_;        // in the present stage
  std::map<ValueId, std::vector<std::size_t>> readers_;
  std::map<ValueId, std::pair<std::size_t, ValueId>> made_in_;
};

/// Copies a block to its place in a tensor, row by row of the last axis.
void put(Tensor& whole, const Tensor& part, const Window& window) {
  const interpreter::Sizes &all = whole.sizes(), &sizes = part.sizes();
  if (part.element_count() == 0) return;
  const std::size_t width = part.bytes().size() / static_cast<std::size_t>(part.element_count());
  const std::size_t rank = sizes.size();
  const std::size_t row = rank == 0 ? 1 : static_cast<std::size_t>(sizes[rank - 1]);
  std::vector<std::int64_t> index(rank, 0);
  const auto count = static_cast<std::size_t>(part.element_count());
  const std::span<std::byte> bytes = whole.writable_bytes();
  for (std::size_t at = 0; at < count; at += row) {
    std::size_t to = 0;
    for (std::size_t axis = 0; axis < rank; ++axis)
      to = to * static_cast<std::size_t>(all[axis]) +
           static_cast<std::size_t>(index[axis] + (window.empty() ? 0 : window[axis].begin));
    std::copy_n(part.bytes().begin() + static_cast<long>(at * width), row * width,
                bytes.begin() + static_cast<long>(to * width));
    for (std::size_t axis = rank < 2 ? 0 : rank - 1; axis-- > 0;) {
      if (++index[axis] < sizes[axis]) break;
      index[axis] = 0;
    }
  }
}

Result<Tensor> received_tensor(const TensorType& type, std::size_t from, std::uint32_t channel,
                               Communicator& communicator) {
  const auto sizes = constant_sizes(*type.shape);
  if (!sizes) return unsupported("a message of a tensor of unknown size");
  Tensor received = Tensor::uninitialized(type.data_type, *sizes);
  LEMMA_RETURN_IF_ERROR(communicator.receive(from, channel, received.writable_bytes()));
  return received;
}

/// A message or an exchange of a rank.
Result<void> communicate(const RankedProgram& program, const Step& step, RankValueMap& values,
                         Communicator& communicator, const ExchangeSchedules* schedules) {
  const Graph& graph = program.program.graph;
  if (step.kind == StepKind::exchange) {
    const GroupExchange& exchange = program.exchanges[step.number];
    const Ends ends = ends_of(program, communicator.rank(), step);
    LEMMA_ASSIGN_OR_RETURN(
        Tensor result,
        exchange_on_group(
            {exchange.op, exchange.attributes, ends.operand, ends.result, graph.type(ends.operand)},
            exchange.ranks, 0, communicator, values.at(ends.operand), schedules));
    values.insert_or_assign(ends.result, std::move(result));
    return {};
  }
  const Transfer& transfer = program.transfers[step.number];
  const auto channel = static_cast<std::uint32_t>(step.number);
  if (step.kind == StepKind::send)
    return communicator.send(transfer.to, channel, values.at(transfer.value).bytes());
  LEMMA_ASSIGN_OR_RETURN(Tensor received, received_tensor(graph.type(transfer.value), transfer.from,
                                                          channel, communicator));
  values.insert_or_assign(transfer.value, std::move(received));
  return {};
}

/// What a rank does behind a stage, for what is told when it ends there.
std::string described(const RankedProgram& program, const Step& step) {
  if (step.kind == StepKind::exchange) {
    const GroupExchange& exchange = program.exchanges[step.number];
    return fmt::format("{} of ranks {}", exchange.op, fmt::join(exchange.ranks, ", "));
  }
  const Transfer& transfer = program.transfers[step.number];
  return step.kind == StepKind::send
             ? fmt::format("Send on channel '{}' to rank {}", transfer.channel, transfer.to)
             : fmt::format("Recv on channel '{}' from rank {}", transfer.channel, transfer.from);
}

std::size_t byte_count(const TensorType& type) {
  const auto sizes = *constant_sizes(*type.shape);
  return byte_size(type.data_type) * static_cast<std::size_t>(interpreter::element_count(sizes));
}

}  // namespace

Result<std::vector<RankStage>> rank_stages(const RankedProgram& program, std::size_t rank) {
  return StageBuilder(program, rank)();
}

Result<RankValueMap> source_tensors(const Graph& single, const RankedProgram& program,
                                    std::size_t rank, std::span<const NamedTensor> inputs) {
  RankValueMap values;
  for (const RankSource& source : program.sources[rank]) {
    const Node& node = single.node(single.producer(source.single));
    Tensor whole;
    if (node.kind == NodeKind::constant) {
      whole = Tensor::of(single.constant(node));
    } else {
      for (const NamedTensor& given : inputs)
        if (given.name == single.input_name(node)) whole = given.value;
    }
    if (!source.window.empty()) {
      Graph graph;
      LEMMA_ASSIGN_OR_RETURN(const ValueId x, graph.add_input("x", whole.type()));
      LEMMA_ASSIGN_OR_RETURN(const ValueId y, cut(graph, x, source.window));
      LEMMA_RETURN_IF_ERROR(graph.add_output("y", y));
      const std::vector<NamedTensor> given = {{"x", whole}};
      LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> parts, interpreter::run(graph, given));
      whole = std::move(parts[0]);
    }
    values.insert_or_assign(source.value, std::move(whole));
  }
  return values;
}

Result<std::vector<Tensor>> run_stages(const RankedProgram& program,
                                       const std::vector<RankStage>& stages, RankValueMap values,
                                       const StageEngine& engine, Communicator& communicator,
                                       const ExchangeSchedules* schedules) {
  LEMMA_RETURN_IF_ERROR(communicator.begin_step());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const RankStage& stage = stages[i];
    if (!stage.outputs.empty()) {
      communicator.enter(fmt::format("stage {}", i + 1));
      std::vector<NamedTensor> given;
      for (const ValueId input : stage.inputs)
        given.push_back({stage_name_of(input), values.at(input)});
      LEMMA_ASSIGN_OR_RETURN(std::vector<Tensor> results, engine(i, stage.graph, given));
      for (std::size_t k = 0; k < results.size(); ++k)
        values.insert_or_assign(stage.outputs[k], std::move(results[k]));
    }
    if (stage.then) {
      communicator.enter(fmt::format("{} behind stage {}", described(program, *stage.then), i + 1));
      LEMMA_RETURN_IF_ERROR(communicate(program, *stage.then, values, communicator, schedules));
    }
    for (const ValueId value : stage.last_used) values.erase(value);
  }
  std::vector<Tensor> outputs;
  for (const RankOutput& output : program.outputs)
    if (output.rank == communicator.rank()) outputs.push_back(values.at(output.value));
  return outputs;
}

std::vector<MessageChannel> message_channels(const RankedProgram& program) {
  std::vector<MessageChannel> result;
  for (const Transfer& transfer : program.transfers)
    result.push_back({static_cast<std::uint32_t>(result.size()), transfer.from, transfer.to,
                      byte_count(program.program.graph.type(transfer.value))});
  return result;
}

Result<std::vector<PassedValue>> passed_values(const Graph& single, const RankedProgram& program,
                                               std::string_view next) {
  std::vector<PassedValue> result;
  auto channel = static_cast<std::uint32_t>(program.transfers.size());
  for (std::size_t rank = 0; rank < program.rank_count(); ++rank)
    for (const RankSource& source : program.sources[rank]) {
      const Node& node = single.node(single.producer(source.single));
      if (node.kind != NodeKind::input) continue;
      const std::string name = single.input_name(node) + std::string(next);
      std::optional<std::size_t> giver;
      bool is_state = false;
      for (std::size_t i = 0; i < program.outputs.size(); ++i) {
        const RankOutput& output = program.outputs[i];
        if (output.name != name) continue;
        is_state = true;
        if (output.window == source.window && (!giver || output.rank == rank)) giver = i;
      }
      if (is_state && !giver)
        return bad_input(fmt::format(
            "output '{}' is placed otherwise than input '{}' of rank {}, and cannot be handed to "
            "the next step",
            name, single.input_name(node), rank));
      if (giver) result.push_back({*giver, rank, source.value, channel++});
    }
  return result;
}

std::vector<MessageChannel> passed_channels(const RankedProgram& program,
                                            std::span<const PassedValue> passed) {
  std::vector<MessageChannel> result;
  for (const PassedValue& value : passed) {
    const std::size_t from = program.outputs[value.output].rank;
    if (from != value.rank)
      result.push_back(
          {value.channel, from, value.rank, byte_count(program.program.graph.type(value.source))});
  }
  return result;
}

Result<void> pass_on(const RankedProgram& program, std::span<const PassedValue> passed,
                     std::span<const Tensor> outputs, RankValueMap& sources,
                     Communicator& communicator) {
  if (passed.empty()) return {};
  std::map<std::size_t, std::size_t> own;  // place among the rank's outputs, by output
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    if (program.outputs[i].rank == communicator.rank()) own.emplace(i, own.size());
  communicator.enter("what the next step reads");
  for (const PassedValue& value : passed) {
    const auto given = own.find(value.output);
    if (given == own.end()) continue;
    const Tensor& tensor = outputs[given->second];
    if (value.rank == communicator.rank())
      sources.insert_or_assign(value.source, tensor);
    else
      LEMMA_RETURN_IF_ERROR(communicator.send(value.rank, value.channel, tensor.bytes()));
  }
  for (const PassedValue& value : passed) {
    const std::size_t from = program.outputs[value.output].rank;
    if (value.rank != communicator.rank() || from == value.rank) continue;
    LEMMA_ASSIGN_OR_RETURN(Tensor received,
                           received_tensor(program.program.graph.type(value.source), from,
                                           value.channel, communicator));
    sources.insert_or_assign(value.source, std::move(received));
  }
  return {};
}

Result<Tensor> whole_output(const RankedProgram& program, const std::string& name,
                            const TensorType& type, const std::vector<Tensor>& parts) {
  const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
  if (!sizes) return unsupported(fmt::format("the sizes of output '{}' are not known", name));
  Tensor whole = Tensor::uninitialized(type.data_type, *sizes);
  for (std::size_t i = 0; i < program.outputs.size(); ++i)
    if (program.outputs[i].name == name) put(whole, parts[i], program.outputs[i].window);
  return whole;
}

}  // namespace lemma::plans
