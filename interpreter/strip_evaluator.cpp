#include "interpreter/strip_evaluator.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace lemma::interpreter {

StripEvaluator::StripEvaluator(const Program& program, std::span<const std::byte* const> inputs)
    : program_(program),
      inputs_(inputs.begin(), inputs.end()),
      data_(program.registers.size()),
      ok_(program.registers.size(), nullptr),
      all_ok_(program.registers.size(), 1),
      variables_(first_term_atom, 0),
      notes_(program.test_slots, 0),
      addresses_(program.lane_count),
      indices_(program.lane_count),
      inside_(program.lane_count) {
  // One cache line more, for the alignment of the first register.
  memory_.reset(new std::byte[program.memory + 64]);
  std::size_t tracked = 0;
  for (const RegisterInfo& info : program.registers) tracked += info.tracks ? 1 : 0;
  ok_memory_.reset(new std::uint8_t[tracked * program.lane_count + 1]);
  std::uint8_t* next = ok_memory_.get();
  for (RegisterId id = 0; id < program.registers.size(); ++id) {
    data_[id] = own(id);
    if (!program.registers[id].tracks) continue;
    ok_[id] = next;
    next += program.lane_count;
  }
  for (const auto& [id, bits] : program.constants)
    std::memcpy(own(id), &bits, lane_size(program.registers[id].lanes));
  set_segments({}, 0, 1);
}

void StripEvaluator::set_strip(std::int64_t start, std::size_t count) {
  set_segments(program_.lane_sizes, start, count);
}

void StripEvaluator::set_segments(std::span<const std::int64_t> sizes, std::int64_t start,
                                  std::size_t count) {
  count_ = count;
  rank_ = sizes.size();
  segment_begin_.clear();
  segment_values_.clear();
  if (rank_ == 0) {
    segment_begin_ = {0, count};
    return;
  }
  std::vector<std::int64_t> value(rank_);
  for (std::size_t axis = rank_; axis-- > 0;) {
    value[axis] = start % sizes[axis];
    start /= sizes[axis];
  }
  std::size_t lane = 0;
  while (lane < count) {
    segment_begin_.push_back(lane);
    segment_values_.insert(segment_values_.end(), value.begin(), value.end());
    const auto rest = static_cast<std::size_t>(sizes[rank_ - 1] - value[rank_ - 1]);
    lane += std::min(rest, count - lane);
    value[rank_ - 1] = 0;
    for (std::size_t axis = rank_ - 1; axis-- > 0;) {
      if (++value[axis] < sizes[axis]) break;
      value[axis] = 0;
    }
  }
  segment_begin_.push_back(count);
}

bool StripEvaluator::next_lane_block(LoopVariable variable, std::int64_t start,
                                     std::int64_t extent) {
  if (start >= extent) {
    set_segments({}, 0, 1);
    return false;
  }
  variables_[variable] = start;
  count_ = static_cast<std::size_t>(
      std::min(extent - start, static_cast<std::int64_t>(program_.lane_count)));
  rank_ = 1;
  segment_begin_ = {0, count_};
  segment_values_ = {start};
  return true;
}

void StripEvaluator::run() {
  const auto end = static_cast<std::uint32_t>(program_.code.size());
  for (std::uint32_t at = 0; at < end;) {
    const Instruction& instruction = program_.code[at];
    ++at;
    execute(instruction, at);
    if (explained_lane_ && instruction.tracks) note_cause(instruction);
  }
}

void StripEvaluator::execute(const Instruction& i, std::uint32_t& at) {
  switch (i.opcode) {
    case Opcode::unary: return apply_unary(i);
    case Opcode::binary:
    case Opcode::accumulate: return apply_binary(i);
    case Opcode::linear:
      write_linear(program_.linears[i.index], reinterpret_cast<std::int64_t*>(own(i.out)),
                   count_of(i.out));
      if (i.tracks) propagate_linear(i.out, program_.linears[i.index]);
      return;
    case Opcode::compare_linear: return compare(i);
    case Opcode::floor_divide: return divide(i);
    case Opcode::load: return load(i);
    case Opcode::test: return test(i);
    case Opcode::jump_if_none:
      if (notes_[i.index] == 0) at = i.target;
      return;
    case Opcode::jump_if_all:
      if (notes_[i.index] == 2) at = i.target;
      return;
    case Opcode::select: return select(i);
    case Opcode::logical_and: return logical_and(i);
    case Opcode::loop_begin:
      variables_[i.index] = 0;
      if (i.number == 0) at = i.target;
      return;
    case Opcode::loop_end:
      if (++variables_[i.index] < i.number) at = i.target + 1;
      return;
    case Opcode::lane_loop_begin:
      if (!next_lane_block(i.index, 0, i.number)) at = i.target;
      return;
    case Opcode::lane_loop_end:
      if (next_lane_block(i.index, variables_[i.index] + static_cast<std::int64_t>(count_),
                          i.number))
        at = i.target + 1;
      return;
    case Opcode::reduce_begin: return begin_reduction(i);
    case Opcode::combine_lanes: return combine_lanes(i);
  }
}

std::int64_t StripEvaluator::base(const CompiledLinear& form) const {
  auto sum = static_cast<std::uint64_t>(form.constant);
  for (const auto& [variable, factor] : form.variables)
    sum += static_cast<std::uint64_t>(variables_[variable]) * static_cast<std::uint64_t>(factor);
  for (const auto& [id, factor] : form.uniform)
    sum += *static_cast<const std::uint64_t*>(data_[id]) * static_cast<std::uint64_t>(factor);
  return static_cast<std::int64_t>(sum);
}

std::int64_t StripEvaluator::along(const CompiledLinear& form, std::size_t segment) const {
  std::int64_t sum = 0;
  for (std::size_t axis = 0; axis < form.along.size(); ++axis)
    sum += form.along[axis] * segment_values_[segment * rank_ + axis];
  return sum;
}

void StripEvaluator::write_linear(const CompiledLinear& form, std::int64_t* out,
                                  std::size_t count) const {
  const std::int64_t start = base(form);
  if (form.along.empty()) {
    std::fill_n(out, count, start);
  } else {
    const std::int64_t stride = step(form);
    for (std::size_t segment = 0; segment + 1 < segment_begin_.size(); ++segment) {
      const std::int64_t first = start + along(form, segment);
      const std::size_t begin = segment_begin_[segment], end = segment_begin_[segment + 1];
      for (std::size_t i = begin; i < end; ++i)
        out[i] = first + static_cast<std::int64_t>(i - begin) * stride;
    }
  }
  for (const auto& [id, factor] : form.lanes) {
    const auto* lanes = static_cast<const std::uint64_t*>(data_[id]);
    for (std::size_t i = 0; i < count; ++i)
      out[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(out[i]) +
                                         lanes[i] * static_cast<std::uint64_t>(factor));
  }
}

void StripEvaluator::propagate(RegisterId out, std::initializer_list<RegisterId> operands) {
  bool defined = true;
  for (const RegisterId id : operands) defined = defined && is_defined(id);
  const std::size_t count = count_of(out);
  if (defined) {
    all_ok_[out] = 1;
    return;
  }
  std::uint8_t* ok = ok_[out];
  bool own_included = false;
  for (const RegisterId id : operands) own_included = own_included || id == out;
  if (!own_included || all_ok_[out] != 0) std::fill_n(ok, count, std::uint8_t{1});
  all_ok_[out] = 0;
  for (const RegisterId id : operands) {
    if (id == out || is_defined(id)) continue;
    const std::uint8_t* other = ok_[id];
    if (uniform(id)) {
      if (other[0] == 0) std::fill_n(ok, count, std::uint8_t{0});
    } else {
      for (std::size_t i = 0; i < count; ++i) ok[i] &= other[i];
    }
  }
}

void StripEvaluator::propagate_linear(RegisterId out, const CompiledLinear& form) {
  propagate(out, {});
  for (const auto& [id, factor] : form.uniform) propagate(out, {out, id});
  for (const auto& [id, factor] : form.lanes) propagate(out, {out, id});
}

void StripEvaluator::exclude(RegisterId out, const std::uint8_t* allowed) {
  const std::size_t count = count_of(out);
  if (std::memchr(allowed, 0, count) == nullptr) return;
  if (all_ok_[out] != 0) std::fill_n(ok_[out], count, std::uint8_t{1});
  all_ok_[out] = 0;
  for (std::size_t lane = 0; lane < count; ++lane) ok_[out][lane] &= allowed[lane];
}

/// `out` is undefined where `operand` is and, if there is a condition, the condition has that value.
void StripEvaluator::require(RegisterId out, RegisterId operand, const std::uint8_t* condition,
                             std::uint8_t value) {
  if (is_defined(operand)) return;
  const std::size_t count = count_of(out);
  std::uint8_t* ok = ok_[out];
  const std::uint8_t* other = ok_[operand];
  if (uniform(operand) && condition == nullptr) {
    for (std::size_t i = 0; i < count; ++i) ok[i] &= other[0];
  } else if (uniform(operand)) {
    const std::uint8_t whole = other[0];
    for (std::size_t i = 0; i < count; ++i) ok[i] &= whole | (condition[i] ^ value);
  } else if (condition == nullptr) {
    for (std::size_t i = 0; i < count; ++i) ok[i] &= other[i];
  } else if (value != 0) {
    for (std::size_t i = 0; i < count; ++i) ok[i] &= other[i] | (condition[i] ^ 1U);
  } else {
    for (std::size_t i = 0; i < count; ++i) ok[i] &= other[i] | condition[i];
  }
}

std::uint8_t* StripEvaluator::all_allowed(std::size_t count) {
  std::fill_n(inside_.data(), count, std::uint8_t{1});
  return inside_.data();
}

void StripEvaluator::apply_unary(const Instruction& i) {
  const std::size_t count = count_of(i.out);
  std::uint8_t* failures = i.failure != nullptr ? all_allowed(count) : nullptr;
  i.unary(data_[i.a], own(i.out), failures, count);
  if (!i.tracks) return;
  propagate(i.out, {i.a});
  if (failures != nullptr) exclude(i.out, failures);
}

void StripEvaluator::apply_binary(const Instruction& i) {
  const std::size_t count = count_of(i.out);
  std::uint8_t* failures = i.failure != nullptr ? all_allowed(count) : nullptr;
  i.binary(data_[i.a], data_[i.b], own(i.out), failures, count);
  if (!i.tracks) return;
  propagate(i.out, {i.a, i.b});
  if (failures != nullptr) exclude(i.out, failures);
}

namespace {

bool holds(ExpressionKind kind, std::int64_t difference) {
  return kind == ExpressionKind::less         ? difference < 0
         : kind == ExpressionKind::less_equal ? difference <= 0
                                              : difference == 0;
}

/// out[i] = (first + i * stride) kind 0: along a line the answer changes once, or is single.
void compare_line(ExpressionKind kind, std::int64_t first, std::int64_t stride, std::uint8_t* out,
                  std::size_t count) {
  const bool at_start = holds(kind, first);
  if (stride == 0) return void(std::memset(out, at_start ? 1 : 0, count));
  if (kind == ExpressionKind::equal) {
    std::memset(out, 0, count);
    const std::int64_t lane = -first / stride;
    if (first % stride == 0 && lane >= 0 && lane < static_cast<std::int64_t>(count)) out[lane] = 1;
    return;
  }
  const std::int64_t last = first + static_cast<std::int64_t>(count - 1) * stride;
  if (holds(kind, last) == at_start) return void(std::memset(out, at_start ? 1 : 0, count));
  // The first lane with the other answer: d >= 0 or d > 0 upwards, d <= 0 or d < 0 downwards.
  const std::int64_t bound = kind == ExpressionKind::less ? 0 : 1;
  const std::int64_t change =
      stride > 0 ? -floor_divide(first - bound, stride) : floor_divide(first - bound, -stride) + 1;
  std::memset(out, at_start ? 1 : 0, static_cast<std::size_t>(change));
  std::memset(out + change, at_start ? 0 : 1, count - static_cast<std::size_t>(change));
}

}  // namespace

void StripEvaluator::compare(const Instruction& i) {
  const CompiledLinear& form = program_.linears[i.index];
  auto* out = reinterpret_cast<std::uint8_t*>(own(i.out));
  const std::int64_t start = base(form);
  if (uniform(i.out)) {
    out[0] = holds(i.kind, start) ? 1 : 0;
  } else {
    for (std::size_t segment = 0; segment + 1 < segment_begin_.size(); ++segment) {
      const std::size_t begin = segment_begin_[segment];
      compare_line(i.kind, start + along(form, segment), step(form), out + begin,
                   segment_begin_[segment + 1] - begin);
    }
  }
  if (i.tracks) propagate(i.out, {});
}

void StripEvaluator::divide(const Instruction& i) {
  const CompiledLinear& form = program_.linears[i.index];
  auto* out = reinterpret_cast<std::int64_t*>(own(i.out));
  const std::size_t count = count_of(i.out);
  const std::int64_t stride = step(form);
  if (form.lanes.empty() && stride >= 0 && stride < i.number && !form.along.empty()) {
    // Quotient and remainder are carried along a line, without a division for each lane.
    const std::int64_t start = base(form);
    for (std::size_t segment = 0; segment + 1 < segment_begin_.size(); ++segment) {
      const std::int64_t first = start + along(form, segment);
      std::int64_t quotient = floor_divide(first, i.number);
      std::int64_t remainder = first - quotient * i.number;
      for (std::size_t lane = segment_begin_[segment]; lane < segment_begin_[segment + 1]; ++lane) {
        out[lane] = quotient;
        remainder += stride;
        const bool carry = remainder >= i.number;
        quotient += carry ? 1 : 0;
        remainder -= carry ? i.number : 0;
      }
    }
  } else {
    write_linear(form, out, count);
    for (std::size_t lane = 0; lane < count; ++lane) out[lane] = floor_divide(out[lane], i.number);
  }
  if (i.tracks) propagate_linear(i.out, form);
}

void StripEvaluator::test(const Instruction& i) {
  const auto* lanes = static_cast<const std::uint8_t*>(data_[i.a]);
  const std::size_t count = count_of(i.a);
  const bool any = std::memchr(lanes, 1, count) != nullptr;
  const bool all = std::memchr(lanes, 0, count) == nullptr;
  notes_[i.index] = all ? 2 : any ? 1 : 0;
}

void StripEvaluator::select(const Instruction& i) {
  const std::size_t count = count_of(i.out);
  const std::size_t bytes = lane_size(program_.registers[i.out].lanes);
  const std::uint8_t note = notes_[i.index];
  if (note != 1) {
    const RegisterId chosen = note == 2 ? i.b : i.c;
    if (uniform(chosen) == uniform(i.out)) {
      data_[i.out] = data_[chosen];
    } else {
      use_own_memory(i.out);
      fill_lanes(bytes, data_[chosen], own(i.out), count);
    }
    if (i.tracks) propagate(i.out, {i.a, chosen});
    return;
  }
  use_own_memory(i.out);
  const auto* condition = static_cast<const std::uint8_t*>(data_[i.a]);
  select_lanes(bytes, condition, data_[i.b], uniform(i.b), data_[i.c], uniform(i.c), own(i.out),
               count);
  if (!i.tracks) return;
  if (is_defined(i.a) && is_defined(i.b) && is_defined(i.c)) {
    all_ok_[i.out] = 1;
    return;
  }
  std::fill_n(ok_[i.out], count, std::uint8_t{1});
  require(i.out, i.a, nullptr, 0);
  require(i.out, i.b, condition, 1);
  require(i.out, i.c, condition, 0);
  all_ok_[i.out] = std::memchr(ok_[i.out], 0, count) == nullptr ? 1 : 0;
}

void StripEvaluator::logical_and(const Instruction& i) {
  const std::size_t count = count_of(i.out);
  const auto* left = static_cast<const std::uint8_t*>(data_[i.a]);
  if (notes_[i.index] == 0)  // the right operand has not been computed
    std::memset(own(i.out), 0, count);
  else
    i.binary(left, data_[i.b], own(i.out), nullptr, count);
  if (!i.tracks) return;
  if (notes_[i.index] == 0) return propagate(i.out, {i.a});
  if (is_defined(i.a) && is_defined(i.b)) {
    all_ok_[i.out] = 1;
    return;
  }
  std::fill_n(ok_[i.out], count, std::uint8_t{1});
  require(i.out, i.a, nullptr, 0);
  if (!uniform(i.a))
    require(i.out, i.b, left, 1);
  else if (left[0] != 0)
    require(i.out, i.b, nullptr, 0);
  all_ok_[i.out] = 0;
}

void StripEvaluator::begin_reduction(const Instruction& i) {
  const std::size_t count = i.index != 0 ? program_.lane_count : count_of(i.out);
  fill_lanes(lane_size(program_.registers[i.out].lanes), &i.number, own(i.out), count);
  if (!tracks(i.out)) return;
  all_ok_[i.out] = 1;
  if (explained_lane_) causes_[i.out].clear();
  if (i.index != 0) std::fill_n(ok_[i.out], count, std::uint8_t{1});
}

void StripEvaluator::combine_lanes(const Instruction& i) {
  const std::size_t bytes = lane_size(program_.registers[i.out].lanes);
  std::byte* lanes = own(i.a);
  std::fill_n(inside_.data(), program_.lane_count, std::uint8_t{1});
  bool ok = is_defined(i.a) || std::memchr(ok_[i.a], 0, program_.lane_count) == nullptr;
  for (std::size_t width = program_.lane_count / 2; width > 0; width /= 2) {
    i.binary(lanes, lanes + width * bytes, lanes, inside_.data(), width);
    if (i.failure != nullptr) ok = ok && std::memchr(inside_.data(), 0, width) == nullptr;
  }
  std::memcpy(own(i.out), lanes, bytes);
  if (!i.tracks) return;
  all_ok_[i.out] = ok ? 1 : 0;
  ok_[i.out][0] = ok ? 1 : 0;
}

std::optional<std::size_t> StripEvaluator::first_undefined() const {
  const RegisterId id = program_.result;
  if (is_defined(id)) return std::nullopt;
  for (std::size_t lane = 0; lane < count_of(id); ++lane)
    if (ok_[id][lane] == 0) return lane;
  return std::nullopt;
}

}  // namespace lemma::interpreter
