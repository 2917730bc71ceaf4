#include "plans/rank_sources/rank_sources.h"

#include <climits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interpreter/tensor.h"
#include "ir/data_type.h"
#include "plans/on_ranks/rank_program.h"
#include "plans/on_ranks/ranked_run.h"

namespace lemma::plans {

namespace {

using Sizes = std::vector<std::int64_t>;

/// The type of C++ in which elements are added up; empty where that is not written.
std::string_view element_type(DataType type) {
  switch (type) {
    case DataType::f32: return "float";
    case DataType::f64: return "double";
    case DataType::i8: return "std::int8_t";
    case DataType::i16: return "std::int16_t";
    case DataType::i32: return "std::int32_t";
    case DataType::i64: return "std::int64_t";
    case DataType::u8: return "std::uint8_t";
    case DataType::u16: return "std::uint16_t";
    case DataType::u32: return "std::uint32_t";
    case DataType::u64: return "std::uint64_t";
    default: return "";
  }
}

/// How many blocks there are before an axis.
std::int64_t product_before(const Sizes& sizes, std::int64_t axis) {
  std::int64_t product = 1;
  for (std::int64_t i = 0; i < axis; ++i) product *= sizes[static_cast<std::size_t>(i)];
  return product;
}

/// Writes the statements of one rank.
class Writer {
 public:
  explicit Writer(StageSources& stages) : stages_(stages) {}

  RankSources& result() { return result_; }

  /// The number of a value's tensor, which is of this type on the rank.
  Result<std::size_t> slot(ValueId value, const TensorType& type) {
    const auto [known, is_new] = slots_.emplace(value, result_.slot_bytes.size());
    if (!is_new) return known->second;
    const auto sizes = type.shape ? constant_sizes(*type.shape) : std::nullopt;
    if (!sizes || !is_computable(type.data_type))
      return unsupported(fmt::format("a tensor of the type {}", text(type)));
    const std::size_t bytes =
        byte_size(type.data_type) * static_cast<std::size_t>(interpreter::element_count(*sizes));
    if (bytes > INT_MAX) return unsupported("a tensor of more than 2 GB on a rank");
    result_.slot_bytes.push_back(bytes);
    return known->second;
  }

  Result<void> compute(const Graph& graph, const std::vector<ValueId>& inputs,
                       const std::vector<ValueId>& outputs) {
    LEMMA_ASSIGN_OR_RETURN(const std::size_t number, stages_.add(graph));
    std::vector<std::size_t> given, made;
    for (const std::size_t input : stages_.all()[number].inputs) {
      const ValueId here = graph.node(graph.inputs()[input]).output();
      LEMMA_ASSIGN_OR_RETURN(const std::size_t place, slot(inputs[input], graph.type(here)));
      given.push_back(place);
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(const std::size_t place,
                             slot(outputs[i], graph.type(graph.outputs()[i].value)));
      made.push_back(place);
    }
    add(fmt::format("compute({}, {{{}}}, {{{}}})", StageSources::name(number),
                    fmt::join(given, ", "), fmt::join(made, ", ")));
    return {};
  }

  /// A collective of a group; axes of its attributes count from so many axes of devices on.
  Result<void> exchange(const Exchange& exchange, const TensorType& result_type, std::size_t group,
                        std::int64_t parts, std::size_t axes_in_front) {
    LEMMA_ASSIGN_OR_RETURN(const std::size_t operand,
                           slot(exchange.operand, exchange.operand_type));
    LEMMA_ASSIGN_OR_RETURN(const std::size_t made, slot(exchange.result, result_type));
    const std::string tensors = fmt::format("{}, {}, groups[{}]", operand, made, group);
    Sizes sizes = *constant_sizes(*exchange.operand_type.shape);
    const Attributes& given = exchange.attributes;
    const auto axis = [&](std::string_view name) {
      return given.integer(name) - static_cast<std::int64_t>(axes_in_front);
    };
    const std::string& op = exchange.op;
    if (op == "AllGather" || op == "OwnPart") {
      add(fmt::format("{}({}, {})", op == "AllGather" ? "all_gather" : "own_part", tensors,
                      product_before(sizes, axis("axis"))));
    } else if (op == "AllToAll") {
      const std::int64_t split = axis("split_axis"), concat = axis("concat_axis");
      const std::int64_t before_split = product_before(sizes, split);
      sizes[static_cast<std::size_t>(split)] /= parts;
      add(fmt::format("all_to_all({}, {}, {})", tensors, before_split,
                      product_before(sizes, concat)));
    } else if (op == "ReduceScatter") {
      LEMMA_ASSIGN_OR_RETURN(const std::string how, reduction(exchange));
      add(fmt::format("reduce_scatter({}, {}, {})", tensors, product_before(sizes, axis("axis")),
                      how));
    } else if (op == "AllReduce") {
      LEMMA_ASSIGN_OR_RETURN(const std::string how, reduction(exchange));
      add(fmt::format("all_reduce({}, {})", tensors, how));
    } else if (op == "Broadcast") {
      add(fmt::format("broadcast({}, {})", tensors, given.dimension("root").offset()));
    } else if (op == "Permute") {
      add(fmt::format("shift({}, {}, {})", tensors, given.integer("shift"),
                      given.integer("ring") != 0));
    } else {
      return unsupported(fmt::format("{} cannot be written for MPI", op));
    }
    return {};
  }

  void add(const std::string& statement) {
    result_.statements += fmt::format("  rank.{};\n", statement);
  }

 private:
  static Result<std::string> reduction(const Exchange& exchange) {
    const std::string_view type = element_type(exchange.operand_type.data_type);
    if (type.empty())
      return unsupported(fmt::format("{} of elements of the type {} cannot be written for MPI",
                                     exchange.op, text(exchange.operand_type)));
    return fmt::format("ranks::reduce<{}>, ranks::Reduction::{}, sizeof({})", type,
                       exchange.attributes.string("reduction"), type);
  }

  StageSources& stages_;
  RankSources result_;
  std::map<ValueId, std::size_t> slots_;
};

TensorType without_axes(TensorType type, std::size_t count) {
  type.shape->erase(type.shape->begin(), type.shape->begin() + static_cast<long>(count));
  return type;
}

Window window_on(const Graph& single, ValueId value, const Placement& placement, const Mesh& mesh,
                 std::size_t rank) {
  return window_of(placement, mesh, rank, *constant_sizes(*single.type(value).shape));
}

}  // namespace

Result<RankSources> rank_sources(const Graph& single, const Program& program, std::size_t rank,
                                 StageSources& stages) {
  LEMMA_ASSIGN_OR_RETURN(const RankProgram own, rank_program(program, rank));
  const std::size_t axes = program.mesh.rank();
  const auto local = [&](ValueId value) { return without_axes(program.graph.type(value), axes); };
  Writer writer(stages);
  writer.result().groups.assign(own.groups.begin(), own.groups.end());
  for (const ProgramInput& input : program.inputs) {
    LEMMA_ASSIGN_OR_RETURN(const std::size_t slot, writer.slot(input.value, local(input.value)));
    writer.result().sources.push_back(
        {{slot, window_on(single, input.single, input.placement, program.mesh, rank)},
         input.single});
  }
  for (const Stage& stage : own.stages) {
    if (!stage.outputs.empty())
      LEMMA_RETURN_IF_ERROR(writer.compute(stage.graph, stage.inputs, stage.outputs));
    for (const Exchange& exchange : stage.exchanges) {
      const auto axis = static_cast<std::size_t>(exchange.attributes.integer("device_axis"));
      LEMMA_RETURN_IF_ERROR(writer.exchange(exchange, local(exchange.result), axis,
                                            program.mesh.axes[axis].size, axes - 1));
    }
  }
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    const ProgramOutput& output = program.outputs[i];
    if (is_partial(output.placement))
      return unsupported(fmt::format("output '{}' is left as parts of a sum", output.name));
    LEMMA_ASSIGN_OR_RETURN(const std::size_t slot,
                           writer.slot(own.outputs[i], local(own.outputs[i])));
    for (const GraphOutput& wanted : single.outputs())
      if (wanted.name == output.name)
        writer.result().outputs.push_back(
            {{slot, window_on(single, wanted.value, output.placement, program.mesh, rank)},
             output.name});
  }
  return std::move(writer.result());
}

Result<RankSources> rank_sources(const Graph& /*single*/, const RankedProgram& program,
                                 std::size_t rank, StageSources& stages) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<RankStage> own, rank_stages(program, rank));
  const Graph& graph = program.program.graph;
  Writer writer(stages);
  for (const RankSource& source : program.sources[rank]) {
    LEMMA_ASSIGN_OR_RETURN(const std::size_t slot,
                           writer.slot(source.value, graph.type(source.value)));
    writer.result().sources.push_back({{slot, source.window}, source.single});
  }
  for (const RankStage& stage : own) {
    if (!stage.outputs.empty())
      LEMMA_RETURN_IF_ERROR(writer.compute(stage.graph, stage.inputs, stage.outputs));
    if (!stage.then) continue;
    if (stage.then->kind == StepKind::exchange) {
      const GroupExchange& exchange = program.exchanges[stage.then->number];
      const std::size_t place = place_in(exchange.ranks, rank);
      auto& groups = writer.result().groups;
      groups.push_back(exchange.ranks);
      LEMMA_RETURN_IF_ERROR(
          writer.exchange({exchange.op, exchange.attributes, exchange.operands[place],
                           exchange.results[place], graph.type(exchange.operands[place])},
                          graph.type(exchange.results[place]), groups.size() - 1,
                          static_cast<std::int64_t>(exchange.ranks.size()), 0));
      continue;
    }
    const Transfer& transfer = program.transfers[stage.then->number];
    LEMMA_ASSIGN_OR_RETURN(const std::size_t slot,
                           writer.slot(transfer.value, graph.type(transfer.value)));
    const bool is_sent = stage.then->kind == StepKind::send;
    writer.add(fmt::format("{}({}, {}, {})", is_sent ? "send" : "receive", slot,
                           is_sent ? transfer.to : transfer.from, stage.then->number));
  }
  for (const RankOutput& output : program.outputs) {
    if (output.rank != rank) continue;
    LEMMA_ASSIGN_OR_RETURN(const std::size_t slot,
                           writer.slot(output.value, graph.type(output.value)));
    writer.result().outputs.push_back({{slot, output.window}, output.name});
  }
  return std::move(writer.result());
}

}  // namespace lemma::plans
