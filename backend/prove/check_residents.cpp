#include "backend/prove/check_residents.h"

#include <algorithm>

#include <fmt/format.h>

#include "backend/prove/region_runs.h"

namespace lemma::backend {

namespace {

class ResidentChecker {
 public:
  explicit ResidentChecker(const TaskProgram& program)
      : program_(program), residents_(program.residents) {}

  Result<void> run() const {
    LEMMA_RETURN_IF_ERROR(check_room());
    for (UnitNumber unit = 0; unit < program_.units.size(); ++unit) {
      auto done = check_parts(residents_.parts[unit]);
      if (!done) return with_context(fmt::format("unit {}", unit), std::move(done.error()));
      for (const Step& step : program_.units[unit]) {
        done = check_task(step.task, residents_.parts[unit]);
        if (!done)
          return with_context(fmt::format("part {} of '{}'", step.task.number,
                                          program_.graph.operators[step.task.op].name),
                              std::move(done.error()));
      }
    }
    return {};
  }

 private:
  Result<void> check_room() const {
    bool is_right = residents_.parts.size() == program_.units.size() &&
                    residents_.reads.size() == program_.accesses.size();
    for (OperatorNumber op = 0; is_right && op < residents_.reads.size(); ++op)
      is_right = residents_.reads[op].size() == program_.accesses[op].size();
    if (!is_right) return internal_error("kept weights are not those of the program's tasks");
    const std::uint64_t limit = program_.device.shared_bytes_per_unit;
    if (residents_.offset % resident_alignment != 0 || residents_.offset > limit ||
        residents_.bytes > limit - residents_.offset)
      return internal_error("kept weights lie outside the memory of a unit");
    const std::uint64_t addresses = address_bytes(program_.graph);
    for (OperatorNumber op = 0; op < program_.graph.operators.size(); ++op)
      if (const std::uint64_t taken = addresses + program_.kernel(op).shared_bytes;
          taken > residents_.offset && taken <= limit)
        return internal_error("kept weights lie where tasks keep something");
    return {};
  }

  Result<void> check_parts(const std::vector<ResidentPart>& parts) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const ResidentPart& part : parts) {
      LEMMA_RETURN_IF_ERROR(check_part(part));
      places.emplace_back(part.place, part.place + part.bytes());
    }
    std::sort(places.begin(), places.end());
    for (std::size_t i = 1; i < places.size(); ++i)
      if (places[i].first < places[i - 1].second)
        return internal_error("kept weights share memory");
    return {};
  }

  /// Numbers are bounded before they are multiplied.
  Result<void> check_part(const ResidentPart& part) const {
    const auto& buffers = program_.graph.buffers;
    if (part.buffer >= buffers.size() || buffers[part.buffer].memory != Memory::weights)
      return internal_error("what is kept is no weights");
    const std::uint64_t size = buffers[part.buffer].bytes(), most = residents_.bytes;
    for (const std::uint64_t bytes :
         {part.from, part.row_bytes, part.from_stride, part.to_stride, part.place})
      if (bytes % resident_word != 0) return internal_error("kept weights are no whole words");
    if (part.place % resident_alignment != 0) return internal_error("kept weights are not aligned");
    if (part.rows == 0 || part.row_bytes == 0 || part.rows > most || part.row_bytes > most ||
        part.place > most || part.to_stride > most || part.from_stride > size)
      return internal_error("kept weights have no extent, or too large a one");
    if (part.rows > 1 && part.to_stride < part.row_bytes)
      return internal_error("rows of kept weights share memory");
    if (part.from > size || (part.rows - 1) * part.from_stride + part.row_bytes > size - part.from)
      return internal_error("what is kept lies outside its buffer");
    if (part.bytes() > most - part.place)
      return internal_error("kept weights lie outside the memory of a unit");
    return {};
  }

  Result<void> check_task(const Task& task, const std::vector<ResidentPart>& parts) const {
    const std::vector<ResidentRead>& reads = residents_.reads[task.op][task.number];
    if (reads.empty()) return {};
    const std::vector<ResidentLayout>& layouts = program_.kernel(task.op).residents;
    const TaskOperator& op = program_.graph.operators[task.op];
    if (reads.size() != layouts.size())
      return internal_error("a task does not read all weights from its unit, nor none");
    for (std::size_t i = 0; i < reads.size(); ++i) {
      if (reads[i].argument != layouts[i].argument || reads[i].argument >= op.operands().size() ||
          reads[i].part >= parts.size())
        return internal_error("a task reads kept weights that there are not");
      const BufferNumber buffer = op.arguments[reads[i].argument];
      if (parts[reads[i].part].buffer != buffer)
        return internal_error("a task reads kept weights of another buffer");
      LEMMA_RETURN_IF_ERROR(check_layout(layouts[i], buffer));
      for (const Region& region : program_.accesses[task.op][task.number].reads)
        if (region.buffer == buffer)
          LEMMA_RETURN_IF_ERROR(check_region(region, layouts[i], reads[i], parts[reads[i].part]));
    }
    return {};
  }

  Result<void> check_layout(const ResidentLayout& layout, BufferNumber buffer) const {
    std::int64_t elements = 1;
    for (const std::int64_t size : layout.sizes) elements *= size;
    if (layout.strides.size() != layout.sizes.size() ||
        elements != program_.graph.buffers[buffer].elements)
      return internal_error("kept weights have not the sizes of their buffer");
    return {};
  }

  /// Row by row of the tensor. Not inlined: GCC 12 warns of accesses out of bounds in the copies of errors otherwise.
  [[gnu::noinline]] Result<void> check_region(const Region& region, const ResidentLayout& layout,
                                              const ResidentRead& read,
                                              const ResidentPart& part) const {
    const std::int64_t row = layout.sizes.empty() ? 1 : layout.sizes.back();
    return visit_runs(region, [&](std::int64_t first, std::int64_t end) -> Result<void> {
      while (first < end) {
        const std::int64_t next = std::min(end, (first / row + 1) * row);
        LEMMA_RETURN_IF_ERROR(check_row(first, next, layout, read, part));
        first = next;
      }
      return {};
    });
  }

  /// Elements that differ in the last index alone.
  [[gnu::noinline]] Result<void> check_row(std::int64_t first, std::int64_t end,
                                           const ResidentLayout& layout, const ResidentRead& read,
                                           const ResidentPart& part) const {
    const auto bytes =
        static_cast<std::int64_t>(byte_size(program_.graph.buffers[part.buffer].type));
    if (end - first > 1 && layout.strides.back() != 1)
      return internal_error("neighbouring weights are not kept side by side");
    std::int64_t place = read.origin, rest = first;
    for (std::size_t axis = layout.sizes.size(); axis-- > 0; rest /= layout.sizes[axis])
      place += rest % layout.sizes[axis] * layout.strides[axis] * bytes;
    const std::int64_t behind = first * bytes - static_cast<std::int64_t>(part.from);
    const auto stride = static_cast<std::int64_t>(part.from_stride);
    const std::int64_t row = part.rows > 1 && stride > 0 && behind > 0 ? behind / stride : 0;
    const std::int64_t within = behind - row * stride;
    if (behind < 0 || row >= static_cast<std::int64_t>(part.rows) ||
        within + (end - first) * bytes > static_cast<std::int64_t>(part.row_bytes))
      return internal_error("a task reads weights that its unit does not keep");
    if (place != static_cast<std::int64_t>(part.place) +
                     row * static_cast<std::int64_t>(part.to_stride) + within)
      return internal_error("a task reads kept weights at another place");
    return {};
  }

  const TaskProgram& program_;
  const ResidentWeights& residents_;
};

}  // namespace

Result<void> check_residents(const TaskProgram& program) {
  if (program.residents.is_empty()) return {};
  return ResidentChecker(program).run();
}

}  // namespace lemma::backend
