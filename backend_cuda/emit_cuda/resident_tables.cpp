#include "backend_cuda/emit_cuda/resident_tables.h"

#include <fmt/format.h>

#include "backend/emit/tables_text.h"

namespace lemma::backend {

namespace {

/// "{from, to, rows, bytes of a row, from row to row of the weights, of shared memory}"
std::string part_text(const TaskProgram& program, const ResidentPart& part) {
  return fmt::format("{{{}, {}, {}, {}, {}, {}}}",
                     program.graph.buffers[part.buffer].offset + part.from,
                     program.residents.offset + part.place, part.rows, part.row_bytes,
                     part.from_stride, part.to_stride);
}

}  // namespace

std::string residents_text(const TaskProgram& program) {
  const ResidentWeights& residents = program.residents;
  const std::string qualifier = "__device__ const";
  Table parts("ResidentPart", "resident_parts", qualifier);
  Table first_part("std::uint32_t", "first_part", qualifier);
  Table reads("ResidentRead", "resident_reads", qualifier);
  Table first_read("std::uint32_t", "first_read", qualifier);
  std::size_t part_total = 0, read_total = 0;
  for (UnitNumber unit = 0; unit < program.units.size() && !residents.is_empty(); ++unit) {
    first_part.add(fmt::format("{}", part_total));
    for (const ResidentPart& part : residents.parts[unit]) parts.add(part_text(program, part));
    part_total += residents.parts[unit].size();
    for (const Step& step : program.units[unit]) {
      first_read.add(fmt::format("{}", read_total));
      const auto& of_task = residents.reads[step.task.op][step.task.number];
      for (const ResidentRead& read : of_task)
        reads.add(fmt::format("{{{}, {}}}", read.argument,
                              static_cast<std::int64_t>(residents.offset) + read.origin));
      read_total += of_task.size();
    }
  }
  first_part.add(fmt::format("{}", part_total));
  first_read.add(fmt::format("{}", read_total));
  return parts.finish("{0, 0, 0, 0, 0, 0}") + first_part.finish("0") + reads.finish("{0, 0}") +
         first_read.finish("0");
}

}  // namespace lemma::backend
