#include "backend/emit/prime_field.h"

#include <fmt/format.h>

namespace lemma::backend {

namespace {

using lowering::TermNumber;

constexpr std::uint64_t growth = 2;  // from elements of f32 to residues

Result<void> check_type(DataType type) {
  if (is_real(type) && type != DataType::f32)
    return unsupported(
        fmt::format("a program over the prime field with elements of {}", name(type)));
  return {};
}

Result<void> check_types(const OperatorGraph& graph) {
  for (const Buffer& buffer : graph.buffers) LEMMA_RETURN_IF_ERROR(check_type(buffer.type));
  for (const TaskOperator& op : graph.operators)
    for (const Phase& phase : op.body.phases)
      for (TermNumber id = 0; id < phase.nest.graph.size(); ++id)
        LEMMA_RETURN_IF_ERROR(check_type(phase.nest.graph.term(id).type));
  return {};
}

/// Weights that were computed from others are residues already.
Result<Constant> residues_of(const Constant& contents, const lowering::Sizes& sizes) {
  if (contents.type().data_type == DataType::u64) return contents;
  std::vector<std::uint64_t> residues;
  residues.reserve(contents.element_count());
  for (const double value : contents.reals()) {
    LEMMA_ASSIGN_OR_RETURN(
        const std::uint64_t residue,
        lowering::constant_lane(value, 0, DataType::f32, lowering::Domain::prime_field));
    residues.push_back(residue);
  }
  return Constant::of(DataType::u64, sizes, residues);
}

}  // namespace

Result<TaskProgram> in_prime_field(TaskProgram program) {
  LEMMA_RETURN_IF_ERROR(check_types(program.graph));
  program.domain = lowering::Domain::prime_field;
  program.arena_bytes *= growth;
  program.weight_bytes *= growth;
  for (Buffer& buffer : program.graph.buffers) {
    buffer.offset *= growth;
    if (buffer.type != DataType::f32) continue;
    buffer.type = DataType::u64;
    if (!buffer.contents) continue;
    LEMMA_ASSIGN_OR_RETURN(buffer.contents, residues_of(*buffer.contents, buffer.sizes));
  }
  for (TaskOperator& op : program.graph.operators)
    for (Phase& phase : op.body.phases) {
      auto graph = phase.nest.graph.in_domain(program.domain);
      if (!graph)
        return with_context(fmt::format("{} '{}'", op.description, op.name),
                            std::move(graph.error()));
      phase.nest.graph = std::move(*graph);
    }
  return program;
}

}  // namespace lemma::backend
