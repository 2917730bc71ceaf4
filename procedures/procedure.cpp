#include "procedures/procedure.h"

#include <fmt/format.h>

namespace lemma {

namespace {

template <typename T>
const T* value_of(const Attributes& values, std::string_view name) {
  const AttributeValue* value = values.find(name);
  return value != nullptr ? std::get_if<T>(value) : nullptr;
}

tl::unexpected<Error> wrong_kind(const ProcedureCall& call, std::size_t i,
                                 std::string_view wanted) {
  return bad_input(fmt::format("input {} is {}, not {}", i,
                               i < call.inputs.size() ? text(call.inputs[i]) : "absent", wanted));
}

}  // namespace

std::int64_t NodeAttributes::integer(std::string_view name, std::int64_t otherwise) const {
  const auto* value = value_of<std::int64_t>(values, name);
  return value != nullptr ? *value : otherwise;
}

double NodeAttributes::real(std::string_view name, double otherwise) const {
  const auto* value = value_of<double>(values, name);
  return value != nullptr ? *value : otherwise;
}

std::string NodeAttributes::string(std::string_view name, std::string_view otherwise) const {
  const auto* value = value_of<std::string>(values, name);
  return value != nullptr ? *value : std::string(otherwise);
}

std::optional<Integers> NodeAttributes::integers(std::string_view name) const {
  const auto* value = value_of<Integers>(values, name);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

Result<const Constant*> ProcedureCall::tensor(std::size_t i) const {
  if (!has(i) || inputs[i].tensor() == nullptr) return wrong_kind(*this, i, "a tensor of numbers");
  return inputs[i].tensor();
}

Result<const Strings*> ProcedureCall::strings(std::size_t i) const {
  if (!has(i) || inputs[i].strings() == nullptr) return wrong_kind(*this, i, "a tensor of strings");
  return inputs[i].strings();
}

Result<const RunTimeValue::Sequence*> ProcedureCall::sequence(std::size_t i) const {
  if (!has(i) || inputs[i].sequence() == nullptr) return wrong_kind(*this, i, "a sequence");
  return inputs[i].sequence();
}

Result<std::int64_t> ProcedureCall::integer(std::size_t i) const {
  LEMMA_ASSIGN_OR_RETURN(const Constant* operand, tensor(i));
  if (is_real(operand->type().data_type) || operand->element_count() != 1)
    return wrong_kind(*this, i, "one integer");
  return operand->integers().front();
}

Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count)
    return bad_input(fmt::format("axis {} of a tensor of rank {} does not exist", axis, rank));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

const ProcedureRecord* find_procedure(std::string_view domain, std::string_view name,
                                      int operator_set) {
  for (const ProcedureRecord& record : all_procedures())
    if (record.domain == domain && record.name == name)
      return record.since <= operator_set ? &record : nullptr;
  return nullptr;
}

}  // namespace lemma
