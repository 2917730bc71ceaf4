// Sequences and optional values.

#include <array>

#include <fmt/format.h>

#include "procedures/constant_pieces.h"
#include "procedures/procedures.h"

namespace lemma::procedures {

namespace {

using Values = std::vector<RunTimeValue>;
using Sequence = RunTimeValue::Sequence;

Constant boolean(bool value) {
  return Constant::of(DataType::boolean, {},
                      std::vector<std::uint8_t>{value ? std::uint8_t{1} : std::uint8_t{0}});
}

/// A position in a sequence of `count`, from the end if it is negative. One past the end is a place to insert at.
Result<std::ptrdiff_t> position_in(const ProcedureCall& call, std::size_t input, std::size_t count,
                                   bool may_be_end) {
  LEMMA_ASSIGN_OR_RETURN(const std::int64_t position, call.integer(input));
  const auto size = static_cast<std::int64_t>(count);
  if (position < -size || position > size - (may_be_end ? 0 : 1))
    return bad_input(fmt::format("position {} in a sequence of {}", position, count));
  return static_cast<std::ptrdiff_t>(position < 0 ? position + size : position);
}

Result<Values> sequence_construct(const ProcedureCall& call) {
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i].is_nothing()) return bad_input(fmt::format("input {} is absent", i));
  return Values{Sequence(call.inputs.begin(), call.inputs.end())};
}

Result<Values> sequence_empty(const ProcedureCall&) { return Values{Sequence()}; }

Result<Values> sequence_at(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Sequence* sequence, call.sequence(0));
  LEMMA_ASSIGN_OR_RETURN(const std::ptrdiff_t position,
                         position_in(call, 1, sequence->size(), false));
  return Values{(*sequence)[static_cast<std::size_t>(position)]};
}

Result<Values> sequence_insert(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Sequence* sequence, call.sequence(0));
  if (!call.has(1)) return bad_input("SequenceInsert has nothing to insert");
  auto position = static_cast<std::ptrdiff_t>(sequence->size());
  if (call.has(2)) {
    LEMMA_ASSIGN_OR_RETURN(position, position_in(call, 2, sequence->size(), true));
  }
  Sequence result = *sequence;
  result.insert(result.begin() + position, call.inputs[1]);
  return Values{std::move(result)};
}

Result<Values> sequence_erase(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Sequence* sequence, call.sequence(0));
  if (sequence->empty()) return bad_input("SequenceErase of an empty sequence");
  auto position = static_cast<std::ptrdiff_t>(sequence->size()) - 1;
  if (call.has(1)) {
    LEMMA_ASSIGN_OR_RETURN(position, position_in(call, 1, sequence->size(), false));
  }
  Sequence result = *sequence;
  result.erase(result.begin() + position);
  return Values{std::move(result)};
}

Result<Values> sequence_length(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Sequence* sequence, call.sequence(0));
  const std::vector<std::int64_t> length = {static_cast<std::int64_t>(sequence->size())};
  return Values{Constant::of(DataType::i64, {}, length)};
}

/// How long the parts are into which SplitToSequence divides an axis.
Result<std::vector<std::int64_t>> split_lengths(const ProcedureCall& call, std::int64_t size) {
  if (!call.has(1)) return std::vector<std::int64_t>(static_cast<std::size_t>(size), 1);
  LEMMA_ASSIGN_OR_RETURN(const Constant* split, call.tensor(1));
  if (is_real(split->type().data_type) || split->type().rank() > 1)
    return bad_input("the lengths of SplitToSequence are no integers");
  std::vector<std::int64_t> lengths = split->integers();
  std::int64_t sum = 0;
  for (const std::int64_t length : lengths)
    if (length < 0 || __builtin_add_overflow(sum, length, &sum))
      return bad_input("a length of SplitToSequence is wrong");
  if (split->type().rank() == 0) {
    const std::int64_t length = lengths.front();
    if (length == 0) return bad_input("SplitToSequence into parts of length 0");
    lengths.clear();
    for (std::int64_t rest = size; rest > 0; rest -= length)
      lengths.push_back(std::min(rest, length));
  } else if (sum != size) {
    return bad_input(fmt::format("parts of {} in all, of an axis of size {}", sum, size));
  }
  return lengths;
}

Result<Values> split_to_sequence(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Constant* x, call.tensor(0));
  LEMMA_ASSIGN_OR_RETURN(const std::size_t axis,
                         axis_of(call.attributes.integer("axis", 0), x->type().rank()));
  const std::vector<std::int64_t> sizes = sizes_of(*x);
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::int64_t> lengths, split_lengths(call, sizes[axis]));
  const bool drops_axis = !call.has(1) && call.attributes.integer("keepdims", 1) == 0;
  std::vector<std::int64_t> without = sizes;
  without.erase(without.begin() + static_cast<std::ptrdiff_t>(axis));
  Sequence parts;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    LEMMA_ASSIGN_OR_RETURN(Constant part, piece(*x, axis, begin, length));
    if (drops_axis) {
      LEMMA_ASSIGN_OR_RETURN(part, with_sizes(part, without));
    }
    parts.emplace_back(std::move(part));
    begin += length;
  }
  return Values{std::move(parts)};
}

Result<Values> concat_from_sequence(const ProcedureCall& call) {
  LEMMA_ASSIGN_OR_RETURN(const Sequence* sequence, call.sequence(0));
  const bool has_new_axis = call.attributes.integer("new_axis", 0) != 0;
  std::vector<Constant> parts;
  std::size_t axis = 0;
  for (const RunTimeValue& element : *sequence) {
    if (element.tensor() == nullptr)
      return unsupported(fmt::format("ConcatFromSequence of {}", text(element)));
    Constant part = *element.tensor();
    std::vector<std::int64_t> sizes = sizes_of(part);
    LEMMA_ASSIGN_OR_RETURN(
        axis, axis_of(call.attributes.integer("axis", 0), sizes.size() + (has_new_axis ? 1 : 0)));
    if (has_new_axis) {
      sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(axis), 1);
      LEMMA_ASSIGN_OR_RETURN(part, with_sizes(part, sizes));
    }
    parts.push_back(std::move(part));
  }
  LEMMA_ASSIGN_OR_RETURN(Constant result, joined(parts, axis));
  return Values{std::move(result)};
}

// ---- Optional values ----------------------------------------------------------------------------

Result<Values> optional(const ProcedureCall& call) {
  return Values{call.inputs.empty() ? RunTimeValue() : call.inputs[0]};
}

Result<Values> optional_has_element(const ProcedureCall& call) {
  return Values{boolean(call.has(0))};
}

Result<Values> optional_get_element(const ProcedureCall& call) {
  if (!call.has(0)) return bad_input("the optional value is empty");
  return Values{call.inputs[0]};
}

Result<Values> identity(const ProcedureCall& call) {
  return Values{call.inputs.empty() ? RunTimeValue() : call.inputs[0]};
}

constexpr std::array sequence_procedures = {
    ProcedureRecord{"ConcatFromSequence", "", 11,
                    "the tensors of a sequence one after the other along an axis, or a new one",
                    concat_from_sequence},
    ProcedureRecord{"Identity", "", 1, "its operand, which may be no tensor of numbers", identity},
    ProcedureRecord{"Optional", "", 15, "an optional value with or without contents", optional},
    ProcedureRecord{"OptionalGetElement", "", 15, "the contents of an optional value",
                    optional_get_element},
    ProcedureRecord{"OptionalHasElement", "", 15, "whether an optional value has contents",
                    optional_has_element},
    ProcedureRecord{"SequenceAt", "", 11, "one element of a sequence", sequence_at},
    ProcedureRecord{"SequenceConstruct", "", 11, "a sequence of the operands", sequence_construct},
    ProcedureRecord{"SequenceEmpty", "", 11, "a sequence without elements", sequence_empty},
    ProcedureRecord{"SequenceErase", "", 11, "a sequence without one of its elements",
                    sequence_erase},
    ProcedureRecord{"SequenceInsert", "", 11, "a sequence with one more element", sequence_insert},
    ProcedureRecord{"SequenceLength", "", 11, "how many elements a sequence has", sequence_length},
    ProcedureRecord{"SplitToSequence", "", 11, "the parts of an axis as a sequence",
                    split_to_sequence},
};

}  // namespace

std::span<const ProcedureRecord> sequences() { return sequence_procedures; }

}  // namespace lemma::procedures
