#include "backend/prove/check_program.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/prove/check_phases.h"
#include "backend/prove/check_residents.h"
#include "backend/prove/memory_history.h"
#include "backend/prove/region_runs.h"

namespace lemma::backend {

namespace {

std::int64_t run_count(const Region& region) {
  std::int64_t count = 1;
  for (const Region::Axis& axis : region.axes)
    if (axis.stride != 1) count *= axis.extent;
  return count;
}

class ProgramChecker {
 public:
  explicit ProgramChecker(const TaskProgram& program)
      : program_(program), buffers_(program.graph.buffers), arena_(program.arena_bytes) {}

  Result<void> run() {
    LEMMA_RETURN_IF_ERROR(check_buffers());
    for (const BufferNumber output : program_.graph.outputs)
      outputs_.emplace_back(buffers_[output].bytes());
    LEMMA_RETURN_IF_ERROR(check_operators());
    LEMMA_RETURN_IF_ERROR(check_steps());
    LEMMA_RETURN_IF_ERROR(check_residents(program_));
    LEMMA_ASSIGN_OR_RETURN(const std::vector<OrderedStep> order, execution_order(program_));
    for (const OrderedStep& step : order) {
      const Task task = program_.units[step.unit][step.index].task;
      auto done = run_step(step, program_.accesses[task.op][task.number]);
      if (!done)
        return with_context(
            fmt::format("task {} of unit {}, part {} of '{}'", step.index, step.unit, task.number,
                        program_.graph.operators[task.op].name),
            std::move(done.error()));
    }
    return check_outputs();
  }

 private:
  /// Whether a buffer has its contents: as many bytes, or residues that take the place of elements
  /// of f32 (emit/prime_field.h).
  static bool has_contents(const Buffer& buffer) {
    if (!buffer.contents) return false;
    const bool is_of_field =
        buffer.type == DataType::f32 && buffer.contents->type().data_type == DataType::u64;
    return is_of_field
               ? static_cast<std::int64_t>(buffer.contents->element_count()) == buffer.elements
               : buffer.contents->bytes().size() == buffer.bytes();
  }

  Result<void> check_buffers() const {
    for (const Buffer& buffer : buffers_) {
      const bool is_planned = buffer.memory == Memory::arena || buffer.memory == Memory::weights;
      const std::uint64_t limit =
          buffer.memory == Memory::arena ? program_.arena_bytes : program_.weight_bytes;
      if (buffer.elements < 0 ||
          (is_planned && (buffer.offset > limit || buffer.bytes() > limit - buffer.offset)))
        return internal_error(fmt::format("'{}' lies outside its memory", buffer.name));
      if (is_planned && buffer.offset % buffer_alignment != 0)
        return internal_error(fmt::format("'{}' is not aligned", buffer.name));
      if (buffer.memory == Memory::weights && !has_contents(buffer))
        return internal_error(fmt::format("'{}' has no contents", buffer.name));
    }
    LEMMA_RETURN_IF_ERROR(check_positions(program_.graph.inputs, Memory::input));
    LEMMA_RETURN_IF_ERROR(check_positions(program_.graph.outputs, Memory::output));
    return check_weights();
  }

  Result<void> check_positions(const std::vector<BufferNumber>& list, Memory memory) const {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i] >= buffers_.size() || buffers_[list[i]].memory != memory ||
          buffers_[list[i]].position != i)
        return internal_error("an input or output has no buffer of its own");
    for (const Buffer& buffer : buffers_)
      if (buffer.memory == memory && buffer.position >= list.size())
        return internal_error(fmt::format("'{}' is no input or output", buffer.name));
    return {};
  }

  /// No two share memory: their contents differ.
  Result<void> check_weights() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const Buffer& buffer : buffers_)
      if (buffer.memory == Memory::weights && buffer.elements > 0)
        places.emplace_back(buffer.offset, buffer.offset + buffer.bytes());
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i)
      if (places[i].first < places[i - 1].second) return internal_error("weights share memory");
    return {};
  }

  /// The parts of an operator are as many elements as its result; that none is written twice is found later.
  Result<void> check_operators() const {
    const auto& operators = program_.graph.operators;
    if (program_.chosen_kernels.size() != operators.size() ||
        program_.accesses.size() != operators.size())
      return internal_error("not every operator has a kernel");
    for (OperatorNumber op = 0; op < operators.size(); ++op) {
      auto done = check_operator(operators[op], op);
      if (!done)
        return with_context(fmt::format("'{}'", operators[op].name), std::move(done.error()));
    }
    return {};
  }

  Result<void> check_operator(const TaskOperator& op, OperatorNumber number) const {
    if (program_.chosen_kernels[number] >= op.kernels.size())
      return internal_error("there is no such kernel");
    const Kernel& kernel = program_.kernel(number);
    const std::vector<TaskAccess>& accesses = program_.accesses[number];
    if (static_cast<std::int64_t>(accesses.size()) != kernel.task_count())
      return internal_error("there is not one access for each task");
    LEMMA_RETURN_IF_ERROR(check_phases(op));
    std::int64_t written = 0, points = 1;
    for (const std::int64_t extent : kernel.extents) points *= extent;
    for (std::size_t task = 0; task < accesses.size(); ++task) {
      std::int64_t elements = 1;
      for (const auto& [begin, end] : kernel.box(static_cast<std::int64_t>(task)))
        elements *= end - begin;
      LEMMA_RETURN_IF_ERROR(check_access(op, accesses[task], elements, points));
      LEMMA_RETURN_IF_ERROR(check_phase_accesses(op, kernel, buffers_,
                                                 static_cast<std::int64_t>(task), accesses[task]));
      written += elements;
    }
    if (written != points) return internal_error("the tasks do not make all of the results");
    return {};
  }

  /// `elements` of the `points` of the grid are the task's.
  Result<void> check_access(const TaskOperator& op, const TaskAccess& access, std::int64_t elements,
                            std::int64_t points) const {
    if (access.writes.size() != op.result_count)
      return internal_error("a task does not write all results");
    for (std::size_t i = 0; i < op.result_count; ++i)
      LEMMA_RETURN_IF_ERROR(check_write(op.results()[i], access.writes[i], elements, points));
    for (const Region& read : access.reads) {
      LEMMA_RETURN_IF_ERROR(check_region(read));
      if (std::find(op.operands().begin(), op.operands().end(), read.buffer) == op.operands().end())
        return internal_error("a task reads what is no operand");
    }
    return {};
  }

  /// Checks a write. Not inlined: GCC 12 warns of accesses out of bounds in the copies of errors
  /// otherwise.
  [[gnu::noinline]] Result<void> check_write(BufferNumber number, const Region& write,
                                             std::int64_t elements, std::int64_t points) const {
    LEMMA_RETURN_IF_ERROR(check_region(write));
    const Buffer& result = buffers_[number];
    if (write.buffer != number || result.elements % points != 0 ||
        element_count(write) != elements * (result.elements / points))
      return internal_error("a task does not write its part of a result");
    if (result.memory != Memory::arena && result.memory != Memory::output)
      return internal_error("a result lies where nothing may be written");
    return {};
  }

  Result<void> check_region(const Region& region) const {
    bool is_right = region.buffer < buffers_.size() && region.base >= 0;
    for (const Region::Axis& axis : region.axes)
      is_right = is_right && axis.extent >= 1 && axis.stride >= 1;
    if (!is_right || region.last() >= buffers_[region.buffer].elements)
      return internal_error("a task touches what lies outside a buffer");
    return {};
  }

  Result<void> check_steps() const {
    std::vector<std::vector<bool>> is_run;
    for (const auto& accesses : program_.accesses) is_run.emplace_back(accesses.size(), false);
    for (const std::vector<Step>& unit : program_.units)
      for (const Step& step : unit) {
        const auto& [op, number] = step.task;
        if (op >= is_run.size() || number >= is_run[op].size())
          return internal_error("a step has no task");
        if (is_run[op][number])
          return internal_error(fmt::format("part {} of '{}' is run twice", number,
                                            program_.graph.operators[op].name));
        is_run[op][number] = true;
        for (const CounterNumber signal : step.signals)
          if (signal >= program_.counters) return internal_error("a step signals no counter");
        for (const Wait& wait : step.waits)
          if (wait.counter >= program_.counters)
            return internal_error("a step waits for no counter");
      }
    for (OperatorNumber op = 0; op < is_run.size(); ++op)
      if (std::find(is_run[op].begin(), is_run[op].end(), false) != is_run[op].end())
        return internal_error(
            fmt::format("not all of '{}' is run", program_.graph.operators[op].name));
    return {};
  }

  Result<void> run_step(const OrderedStep& step, const TaskAccess& access) {
    for (const Region& read : access.reads) {
      auto done = run_read(step, read);
      if (!done) return name_buffer(read.buffer, std::move(done.error()));
    }
    for (const Region& write : access.writes) {
      const Buffer& buffer = buffers_[write.buffer];
      auto done = visit_runs(write, [&](std::int64_t first, std::int64_t end) {
        return memory_of(buffer)->write(step, write.buffer, place(buffer, first),
                                        place(buffer, end));
      });
      if (!done) return name_buffer(write.buffer, std::move(done.error()));
    }
    return {};
  }

  /// Pieces are looked at one by one only where not all of the buffer may be read, nor all from the first to the last.
  Result<void> run_read(const OrderedStep& step, const Region& region) {
    constexpr std::int64_t many = 1024;
    const Buffer& buffer = buffers_[region.buffer];
    MemoryHistory* const memory = memory_of(buffer);
    if (memory == nullptr) return {};
    memory->add_reader(step, region, place(buffer, 0), byte_size(buffer.type));
    if (memory->holds_all(step, region.buffer, buffer.bytes())) return {};
    const std::uint64_t begin = place(buffer, region.base), end = place(buffer, region.last() + 1);
    if (run_count(region) > many && memory->check_read(step, region.buffer, begin, end)) return {};
    return visit_runs(region, [&](std::int64_t first, std::int64_t last) {
      return memory->check_read(step, region.buffer, place(buffer, first), place(buffer, last));
    });
  }

  tl::unexpected<Error> name_buffer(BufferNumber buffer, Error error) const {
    return with_context(fmt::format("'{}'", buffers_[buffer].name), std::move(error));
  }

  static std::uint64_t place(const Buffer& buffer, std::int64_t element) {
    const std::uint64_t start = buffer.memory == Memory::arena ? buffer.offset : 0;
    return start + static_cast<std::uint64_t>(element) * byte_size(buffer.type);
  }

  /// Null for what is only read.
  MemoryHistory* memory_of(const Buffer& buffer) {
    if (buffer.memory == Memory::arena) return &arena_;
    return buffer.memory == Memory::output ? &outputs_[buffer.position] : nullptr;
  }

  Result<void> check_outputs() const {
    for (const BufferNumber output : program_.graph.outputs)
      if (!outputs_[buffers_[output].position].holds(output, 0, buffers_[output].bytes()))
        return internal_error(
            fmt::format("not all of the output '{}' is written", buffers_[output].name));
    return {};
  }

  const TaskProgram& program_;
  const std::vector<Buffer>& buffers_;
  MemoryHistory arena_;
  std::vector<MemoryHistory> outputs_;
};

}  // namespace

Result<void> check_program(const TaskProgram& program) { return ProgramChecker(program).run(); }

}  // namespace lemma::backend
