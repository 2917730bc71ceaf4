#include "backend/traffic/traffic.h"

#include <algorithm>
#include <map>

#include "backend/traffic/cache.h"

namespace lemma::backend {

namespace {

using lowering::Linear;
using lowering::LoopVariable;
using lowering::LoweredOutput;
using lowering::Term;
using lowering::TermNumber;

double elements_of(const Region& region) {
  double elements = 1;
  for (const Region::Axis& axis : region.axes) elements *= static_cast<double>(axis.extent);
  return elements;
}

/// Several regions of a buffer have at most the whole of it.
double bytes_of(const std::vector<Region>& regions, const std::vector<Buffer>& buffers) {
  std::map<BufferNumber, double> elements;
  for (const Region& region : regions) elements[region.buffer] += elements_of(region);
  double bytes = 0;
  for (const auto& [buffer, count] : elements)
    bytes += std::min(count, static_cast<double>(buffers[buffer].elements)) *
             static_cast<double>(byte_size(buffers[buffer].type));
  return bytes;
}

/// What a task does not read from weights that its unit keeps.
std::vector<Region> reads_from_memory(const TaskProgram& program, const Task& task) {
  std::vector<Region> reads = program.accesses[task.op][task.number].reads;
  if (!program.has_residents(task)) return reads;
  std::erase_if(reads, [&](const Region& read) {
    const auto& residents = program.residents.reads[task.op][task.number];
    return std::any_of(residents.begin(), residents.end(), [&](const ResidentRead& resident) {
      return program.graph.operators[task.op].arguments[resident.argument] == read.buffer;
    });
  });
  return reads;
}

/// The accesses of one phase, in the order of its loops.
class PhaseAccesses {
 public:
  PhaseAccesses(const LoweredOutput& nest) : nest_(nest), values_(nest.graph.variable_count(), 0) {}

  /// Calls visit(input, element) for each read, and write(element) after those of an element.
  template <typename Visit, typename Write>
  Result<void> run(const std::vector<std::pair<std::int64_t, std::int64_t>>& box,
                   const Visit& visit, const Write& write) {
    return run_axis(0, 0, box, visit, write);
  }

 private:
  template <typename Visit, typename Write>
  Result<void> run_axis(std::size_t axis, std::int64_t element,
                        const std::vector<std::pair<std::int64_t, std::int64_t>>& box,
                        const Visit& visit, const Write& write) {
    if (axis == nest_.axes.size()) {
      LEMMA_RETURN_IF_ERROR(evaluate(nest_.root, visit));
      write(element);
      return {};
    }
    const std::int64_t extent = nest_.graph.extent(nest_.axes[axis]);
    const auto [first, end] = axis < box.size() ? box[axis] : std::pair(std::int64_t{0}, extent);
    for (std::int64_t i = first; i < end; ++i) {
      values_[nest_.axes[axis]] = i;
      LEMMA_RETURN_IF_ERROR(run_axis(axis + 1, element * extent + i, box, visit, write));
    }
    return {};
  }

  template <typename Visit>
  Result<void> evaluate(TermNumber id, const Visit& visit) {
    const Term& term = nest_.graph.term(id);
    if (is_reduction(term.kind)) return reduce(term, 0, visit);
    for (const TermNumber operand : term.operands) LEMMA_RETURN_IF_ERROR(evaluate(operand, visit));
    if (term.kind != ExpressionKind::read) return {};
    std::int64_t element = 0;
    const auto& sizes = nest_.graph.inputs()[term.input].sizes;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      LEMMA_ASSIGN_OR_RETURN(const std::int64_t index, value_of(term.indices[axis]));
      if (index < 0 || index >= sizes[axis]) return {};
      element = element * sizes[axis] + index;
    }
    visit(term.input, element);
    return {};
  }

  template <typename Visit>
  Result<void> reduce(const Term& term, std::size_t loop, const Visit& visit) {
    if (loop == term.bound.size()) return evaluate(term.operands[0], visit);
    for (std::int64_t i = 0; i < nest_.graph.extent(term.bound[loop]); ++i) {
      values_[term.bound[loop]] = i;
      LEMMA_RETURN_IF_ERROR(reduce(term, loop + 1, visit));
    }
    return {};
  }

  Result<std::int64_t> value_of(const Linear& form) const {
    std::int64_t value = form.constant;
    for (const auto& [atom, factor] : form.terms) {
      if (atom < lowering::first_term_atom) {
        value += values_[atom] * factor;
        continue;
      }
      const Term& term = nest_.graph.term(atom - lowering::first_term_atom);
      if (term.divisor <= 0) return unsupported("an index that depends on elements");
      LEMMA_ASSIGN_OR_RETURN(const std::int64_t dividend, value_of(term.linear));
      value += lowering::floor_divide(dividend, term.divisor) * factor;
    }
    return value;
  }

  const LoweredOutput& nest_;
  std::vector<std::int64_t> values_;  // of loop variables
};

/// Runs the tasks of an operator, each with an empty cache.
class OperatorAccesses {
 public:
  OperatorAccesses(const TaskProgram& program, OperatorNumber op, const CacheOptions& options,
                   Cache& cache)
      : program_(program),
        op_(program.graph.operators[op]),
        kernel_(program.kernel(op)),
        options_(options),
        cache_(cache) {}

  Result<void> run() {
    for (std::int64_t task = 0; task < kernel_.task_count(); ++task) {
      LEMMA_RETURN_IF_ERROR(run_task(kernel_.box(task)));
      cache_.empty();
    }
    return {};
  }

 private:
  using Box = std::vector<std::pair<std::int64_t, std::int64_t>>;

  Result<void> run_task(const Box& box) {
    if (op_.body.stitching == Stitching::block) return run_phases(box);
    return run_points(box, 0);
  }

  Result<void> run_points(Box box, std::size_t axis) {
    if (axis == box.size()) return run_phases(box);
    const auto [first, end] = box[axis];
    for (std::int64_t i = first; i < end; ++i) {
      box[axis] = {i, i + 1};
      LEMMA_RETURN_IF_ERROR(run_points(box, axis + 1));
    }
    return {};
  }

  Result<void> run_phases(const Box& box) {
    std::int64_t first_point = 0;
    for (std::size_t axis = 0; axis < box.size(); ++axis)
      first_point = first_point * kernel_.extents[axis] + box[axis].first;
    for (const Phase& phase : op_.body.phases) {
      const auto touch = [&](std::uint32_t argument, std::int64_t element, bool is_write) {
        access(argument, element, first_point, is_write);
      };
      auto done = PhaseAccesses(phase.nest)
                      .run(
                          box,
                          [&](std::uint32_t input, std::int64_t element) {
                            touch(phase.operands[input], element, false);
                          },
                          [&](std::int64_t element) { touch(phase.result, element, true); });
      if (!done) return done;
    }
    return {};
  }

  /// Each buffer, and each slot of shared buffers, has addresses of its own.
  void access(std::uint32_t argument, std::int64_t element, std::int64_t first_point,
              bool is_write) {
    constexpr unsigned space_bits = 40;
    const bool is_shared = argument >= op_.arguments.size();
    std::uint64_t space = 0, size = 0;
    if (is_shared) {
      const SharedBuffer& shared = op_.body.shared[argument - op_.arguments.size()];
      space = program_.graph.buffers.size() + shared.slot;
      size = byte_size(shared.type);
      element -= first_point * shared.elements_per_point;
    } else {
      space = op_.arguments[argument];
      size = byte_size(program_.graph.buffers[space].type);
    }
    const std::uint64_t line = static_cast<std::uint64_t>(element) * size / options_.line_bytes;
    cache_.access((space << space_bits) + line, is_write, is_shared);
  }

  const TaskProgram& program_;
  const TaskOperator& op_;
  const Kernel& kernel_;
  const CacheOptions& options_;
  Cache& cache_;
};

}  // namespace

Traffic planned_traffic(const TaskProgram& program) {
  Traffic traffic;
  for (OperatorNumber op = 0; op < program.accesses.size(); ++op)
    for (std::uint32_t task = 0; task < program.accesses[op].size(); ++task) {
      const TaskAccess& access = program.accesses[op][task];
      traffic.read += bytes_of(reads_from_memory(program, {op, task}), program.graph.buffers);
      traffic.written += bytes_of(access.writes, program.graph.buffers);
    }
  for (const std::vector<ResidentPart>& parts : program.residents.parts)
    for (const ResidentPart& part : parts) traffic.read += static_cast<double>(part.copied_bytes());
  return traffic;
}

Result<Traffic> simulated_traffic(const TaskProgram& program, const CacheOptions& options) {
  Cache cache(options.bytes / options.line_bytes);
  for (OperatorNumber op = 0; op < program.graph.operators.size(); ++op) {
    auto done = OperatorAccesses(program, op, options, cache).run();
    if (!done) return with_context(program.graph.operators[op].name, std::move(done.error()));
  }
  const auto bytes = static_cast<double>(options.line_bytes);
  return Traffic{static_cast<double>(cache.lines_read()) * bytes,
                 static_cast<double>(cache.lines_written()) * bytes};
}

}  // namespace lemma::backend
