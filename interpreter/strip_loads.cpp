// Reading tensors along a strip, and saying why an element is undefined.

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "interpreter/strip_evaluator.h"

namespace lemma::interpreter {

void StripEvaluator::load(const Instruction& i) {
  const Load& load = program_.loads[i.index];
  bool affine = load.address.lanes.empty();
  for (const Load::Check& check : load.checks) affine = affine && check.index.lanes.empty();
  if (affine)
    load_affine(load, i.out);
  else
    load_gathered(load, i.out);
}

void StripEvaluator::load_nothing(RegisterId out) {
  const std::size_t count = count_of(out);
  use_own_memory(out);
  std::memset(own(out), 0, count * lane_size(program_.registers[out].lanes));
  all_ok_[out] = 0;
  std::fill_n(ok_[out], count, std::uint8_t{0});
}

void StripEvaluator::load_affine(const Load& load, RegisterId out) {
  for (const RegisterId id : load.index_registers)
    if (!is_defined(id)) return load_nothing(out);
  check_bases_.clear();
  for (const Load::Check& check : load.checks) {
    const std::int64_t start = base(check.index);
    check_bases_.push_back(start);
    if (check.index.along.empty() && (start < 0 || start >= check.size)) return load_nothing(out);
  }
  all_ok_[out] = 1;
  const std::byte* elements = inputs_[load.input];
  const std::int64_t address = base(load.address);
  if (uniform(out)) return load.access.load(elements, address, 0, own(out), 1);
  if (load.consecutive) {
    const std::int64_t first = address + along(load.address, 0);
    const std::byte* place =
        elements + first * static_cast<std::int64_t>(load.access.element_bytes);
    // Lanes may be read where they lie, if they lie as lanes do.
    if (load.access.is_lane_format &&
        reinterpret_cast<std::uintptr_t>(place) % load.access.element_bytes == 0) {
      data_[out] = place;
      return;
    }
    use_own_memory(out);
    return load.access.load(elements, first, 1, own(out), count_);
  }
  use_own_memory(out);
  for (std::size_t segment = 0; segment + 1 < segment_begin_.size(); ++segment)
    load_line(load, out, segment, address);
}

/// One segment: the lanes whose indices are inside form an interval.
void StripEvaluator::load_line(const Load& load, RegisterId out, std::size_t segment,
                               std::int64_t address) {
  const std::size_t begin = segment_begin_[segment];
  const auto count = static_cast<std::int64_t>(segment_begin_[segment + 1] - begin);
  std::int64_t low = 0, high = count;
  for (std::size_t c = 0; c < load.checks.size(); ++c) {
    const Load::Check& check = load.checks[c];
    if (check.index.along.empty()) continue;
    const std::int64_t first = check_bases_[c] + along(check.index, segment);
    const std::int64_t stride = step(check.index);
    const std::int64_t last = first + (count - 1) * stride;
    if (std::min(first, last) >= 0 && std::max(first, last) < check.size) continue;
    if (stride > 0) {
      low = std::max(low, -floor_divide(first, stride));
      high = std::min(high, floor_divide(check.size - 1 - first, stride) + 1);
    } else if (stride < 0) {
      low = std::max(low, -floor_divide(check.size - 1 - first, -stride));
      high = std::min(high, floor_divide(first, -stride) + 1);
    } else {
      high = 0;
    }
  }
  const std::size_t bytes = lane_size(program_.registers[out].lanes);
  std::byte* lanes = own(out) + begin * bytes;
  const std::int64_t stride = step(load.address);
  const std::int64_t first = address + along(load.address, segment);
  if (low == 0 && high == count) {
    load.access.load(inputs_[load.input], first, stride, lanes, static_cast<std::size_t>(count));
    if (tracks(out) && all_ok_[out] == 0) std::fill_n(ok_[out] + begin, count, std::uint8_t{1});
    return;
  }
  if (all_ok_[out] != 0) {
    all_ok_[out] = 0;
    std::fill_n(ok_[out], begin, std::uint8_t{1});
  }
  std::fill_n(ok_[out] + begin, count, std::uint8_t{0});
  std::memset(lanes, 0, static_cast<std::size_t>(count) * bytes);
  if (low >= high) return;
  const auto inside = static_cast<std::size_t>(high - low);
  load.access.load(inputs_[load.input], first + low * stride, stride,
                   lanes + static_cast<std::size_t>(low) * bytes, inside);
  std::fill_n(ok_[out] + begin + low, inside, std::uint8_t{1});
}

void StripEvaluator::load_gathered(const Load& load, RegisterId out) {
  const std::size_t count = count_of(out);
  write_linear(load.address, addresses_.data(), count);
  const std::uint8_t* ok = nullptr;
  if (tracks(out)) {
    ok = all_allowed(count);
    for (const Load::Check& check : load.checks) {
      write_linear(check.index, indices_.data(), count);
      // Negative indices are large unsigned ones.
      const auto size = static_cast<std::uint64_t>(check.size);
      for (std::size_t lane = 0; lane < count; ++lane)
        inside_[lane] &= static_cast<std::uint64_t>(indices_[lane]) < size ? 1 : 0;
    }
    for (const RegisterId id : load.index_registers)
      for (std::size_t lane = 0; lane < count; ++lane)
        inside_[lane] &= is_defined(id, lane) ? 1 : 0;
    all_ok_[out] = std::memchr(ok, 0, count) == nullptr ? 1 : 0;
    if (all_ok_[out] == 0)
      std::memcpy(ok_[out], ok, count);
    else
      ok = nullptr;
  }
  use_own_memory(out);
  load.access.gather(inputs_[load.input], addresses_.data(), ok, own(out), count);
}

// ---- Explanation -------------------------------------------------------------------------------

std::string StripEvaluator::explain(std::size_t lane) {
  explained_lane_ = lane;
  causes_.assign(program_.registers.size(), {});
  run();
  explained_lane_.reset();
  return causes_[program_.result];
}

std::int64_t StripEvaluator::value_at(const CompiledLinear& form, std::size_t lane) const {
  std::int64_t value = base(form);
  if (!form.along.empty()) {
    std::size_t segment = 0;
    while (segment_begin_[segment + 1] <= lane) ++segment;
    value += along(form, segment) +
             static_cast<std::int64_t>(lane - segment_begin_[segment]) * step(form);
  }
  for (const auto& [id, factor] : form.lanes)
    value += static_cast<const std::int64_t*>(data_[id])[lane] * factor;
  return value;
}

std::string StripEvaluator::describe_load(const Load& load, std::size_t lane) const {
  for (const Load::Check& check : load.checks) {
    const std::int64_t value = value_at(check.index, lane);
    if (value < 0 || value >= check.size)
      return fmt::format("index {} is outside axis {} of input {}, which has the size {}", value,
                         check.axis, load.input, check.size);
  }
  return "an index is undefined";
}

std::optional<std::string> StripEvaluator::cause_of(RegisterId id, std::size_t lane) const {
  if (is_defined(id, lane) || causes_[id].empty()) return std::nullopt;
  return causes_[id];
}

std::string StripEvaluator::operand_cause(const Instruction& i, std::size_t lane) const {
  auto of_form = [&](const CompiledLinear& form) -> std::string {
    for (const auto* list : {&form.uniform, &form.lanes})
      for (const auto& [id, factor] : *list)
        if (auto cause = cause_of(id, lane)) return *cause;
    return {};
  };
  switch (i.opcode) {
    case Opcode::linear:
    case Opcode::floor_divide: return of_form(program_.linears[i.index]);
    case Opcode::load: {
      const Load& load = program_.loads[i.index];
      for (const RegisterId id : load.index_registers)
        if (auto cause = cause_of(id, lane)) return *cause;
      return describe_load(load, lane);
    }
    case Opcode::select: {
      if (auto cause = cause_of(i.a, lane)) return *cause;
      const auto* condition = static_cast<const std::uint8_t*>(data_[i.a]);
      const bool then = condition[uniform(i.a) ? 0 : lane] != 0;
      return cause_of(then ? i.b : i.c, lane).value_or("");
    }
    case Opcode::unary:
    case Opcode::combine_lanes: return cause_of(i.a, lane).value_or(i.failure ? i.failure : "");
    case Opcode::binary:
    case Opcode::accumulate:
    case Opcode::logical_and:
      if (auto cause = cause_of(i.a, lane)) return *cause;
      return cause_of(i.b, lane).value_or(i.failure ? i.failure : "");
    default: return {};
  }
}

void StripEvaluator::note_cause(const Instruction& i) {
  std::size_t lane = *explained_lane_;
  if (program_.lane_sizes.empty()) {
    // Lanes belong to a reduction: the first undefined one is as good as any.
    const std::size_t count =
        i.opcode == Opcode::combine_lanes ? program_.lane_count : count_of(i.out);
    lane = 0;
    while (lane + 1 < count && is_defined(i.opcode == Opcode::combine_lanes ? i.a : i.out, lane))
      ++lane;
  }
  if (is_defined(i.out, lane))
    causes_[i.out].clear();
  else
    causes_[i.out] = operand_cause(i, lane);
}

}  // namespace lemma::interpreter
