#include "ir/operator.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

namespace lemma {

namespace {

Result<void> normalize_axis(std::int64_t& axis, std::size_t rank, std::string_view attribute) {
  const auto limit = static_cast<std::int64_t>(rank);
  if (axis < -limit || axis >= limit)
    return bad_input(fmt::format("{} {} is out of range for {} axes", attribute, axis, rank));
  if (axis < 0) axis += limit;
  return {};
}

Result<void> normalize_axes(Integers& axes, std::size_t rank, std::string_view attribute) {
  for (std::int64_t& axis : axes) LEMMA_RETURN_IF_ERROR(normalize_axis(axis, rank, attribute));
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return bad_input(fmt::format("{} names an axis twice", attribute));
  return {};
}

Result<void> normalize_role(const AttributeSpecification& specification,
                            std::span<const TensorType> inputs, AttributeValue& value) {
  if (!names_axes(specification.role)) return {};
  if (inputs.empty() || !inputs[0].shape) return bad_input("the rank of input 0 is unknown");
  const std::size_t rank = inputs[0].shape->size();
  if (specification.role == AttributeRole::axis)
    return normalize_axis(std::get<std::int64_t>(value), rank, specification.name);
  auto& axes = std::get<Integers>(value);
  const bool of_output = specification.role == AttributeRole::output_axes;
  return normalize_axes(axes, rank + (of_output ? axes.size() : 0), specification.name);
}

}  // namespace

bool Instance::assumes(ConstraintKind kind, const Dimension& a, const Dimension& b) const {
  if (constraints == nullptr) return false;
  constraints->state(kind, a, b);
  return constraints->assumes();
}

bool Instance::are_equal(const Dimension& a, const Dimension& b) const {
  if (a == b || assumes(ConstraintKind::equal, a, b)) return true;
  return a.is_constant() != b.is_constant() || !(a - b).is_constant();
}

bool Instance::is_at_most(const Dimension& a, const Dimension& b) const {
  if (assumes(ConstraintKind::at_most, a, b)) return true;
  if (a.is_constant() != b.is_constant()) return true;  // seen without computing the difference
  const Dimension room = b - a;
  return !room.is_constant() || room.offset() >= 0;
}

bool Instance::divides(const Dimension& divisor, const Dimension& size) const {
  return divisor.is(1) || assumes(ConstraintKind::divides, divisor, size) ||
         !divisor.is_constant() || !size.is_constant() || exact_div(size, divisor);
}

namespace {

/// The operators that were made on demand. They are read without a lock: a place is filled before its id is known.
class MadeOperators {
 public:
  const OperatorRecord& operator[](std::size_t place) const { return *records_[place]; }
  std::size_t size() const { return size_.load(); }

  std::optional<OperatorId> find(std::string_view name) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = ids_.find(name); known != ids_.end()) return known->second;
    }
    // Making one may ask for others.
    std::optional<OperatorRecord> made = made_operator(name);
    if (!made) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (const auto known = ids_.find(name); known != ids_.end()) return known->second;
    const std::size_t place = size_.load();
    if (place == records_.size()) return std::nullopt;
    records_[place] = std::make_unique<OperatorRecord>(*made);
    size_.store(place + 1);
    const OperatorId id{static_cast<std::uint16_t>(all_operators().size() + place)};
    ids_.emplace(std::string(name), id);
    return id;
  }

 private:
  static constexpr std::size_t capacity = 16'384;
  std::mutex mutex_;
  std::atomic<std::size_t> size_ = 0;
  std::vector<std::unique_ptr<OperatorRecord>> records_ =
      std::vector<std::unique_ptr<OperatorRecord>>(capacity);
  std::map<std::string, OperatorId, std::less<>> ids_;
};

MadeOperators& made_operators() {
  static MadeOperators operators;
  return operators;
}

}  // namespace

const OperatorRecord& record(OperatorId id) {
  const auto table = all_operators();
  return id.v < table.size() ? table[id.v] : made_operators()[id.v - table.size()];
}

std::size_t operator_id_limit() { return all_operators().size() + made_operators().size(); }

std::optional<OperatorId> find_operator(std::string_view name) {
  const auto table = all_operators();
  auto where = std::lower_bound(
      table.begin(), table.end(), name,
      [](const OperatorRecord& record, std::string_view key) { return record.name < key; });
  if (where == table.end() || where->name != name) return made_operators().find(name);
  return OperatorId{static_cast<std::uint16_t>(where - table.begin())};
}

OperatorId operator_named(std::string_view name) {
  const auto id = find_operator(name);
  if (!id) throw std::logic_error(fmt::format("no operator is named '{}'", name));
  return *id;
}

namespace {

Result<void> check_arity(const OperatorRecord& record, const Instance& instance) {
  const auto count = static_cast<int>(instance.inputs.size());
  if (count < record.inputs.minimum ||
      (record.inputs.maximum >= 0 && count > record.inputs.maximum))
    return bad_input(fmt::format("{} inputs are given, but {} to {} are allowed", count,
                                 record.inputs.minimum, record.inputs.maximum));
  for (int i = 0; i < record.inputs.minimum; ++i)
    if (!instance.has(static_cast<std::size_t>(i)))
      return bad_input(fmt::format("input {} is missing", i));
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    if (instance.has(i) && !instance.inputs[i].is_known())
      return unsupported(fmt::format("input {} has the type {}", i, text(instance.inputs[i])));
  const auto outputs = static_cast<int>(instance.output_count);
  if (outputs < record.outputs.minimum ||
      (record.outputs.maximum >= 0 && outputs > record.outputs.maximum))
    return bad_input(fmt::format("{} outputs are asked for, but {} to {} are allowed", outputs,
                                 record.outputs.minimum, record.outputs.maximum));
  return {};
}

}  // namespace

namespace {

/// The default of an attribute; parsed once for all operators.
Result<AttributeValue> default_of(const AttributeSpecification& specification) {
  static const auto table = [] {
    absl::flat_hash_map<const AttributeSpecification*, AttributeValue> result;
    for (const OperatorRecord& operator_record : all_operators())
      for (const AttributeSpecification& declared : operator_record.attributes)
        if (auto value = parse_attribute_value(declared.kind, declared.default_text))
          result.emplace(&declared, std::move(*value));
    return result;
  }();
  if (const auto known = table.find(&specification); known != table.end()) return known->second;
  return parse_attribute_value(specification.kind, specification.default_text);
}

}  // namespace

namespace {

Result<void> check_choice(const AttributeSpecification& specification,
                          const AttributeValue& value) {
  const auto* given = std::get_if<std::string>(&value);
  const auto choices = specification.choices;
  if (given == nullptr || choices.empty() ||
      std::find(choices.begin(), choices.end(), *given) != choices.end())
    return {};
  return unsupported(
      fmt::format("{} '{}' is none of: {}", specification.name, *given, fmt::join(choices, ", ")));
}

}  // namespace

Result<Attributes> complete_attributes(const OperatorRecord& record,
                                       std::span<const TensorType> inputs, Attributes attributes,
                                       std::size_t output_count) {
  LEMMA_RETURN_IF_ERROR(check_arity(record, {inputs, attributes, output_count}));
  for (const auto& [name, value] : attributes) {
    auto where = std::find_if(record.attributes.begin(), record.attributes.end(),
                              [&name = name](const auto& s) { return s.name == name; });
    if (where == record.attributes.end())
      return bad_input(fmt::format("there is no attribute '{}'", name));
    if (kind_of(value) != where->kind)
      return bad_input(fmt::format("attribute '{}' has the kind {}, not {}", name,
                                   lemma::name(kind_of(value)), lemma::name(where->kind)));
    if (where->role == AttributeRole::number && std::holds_alternative<RealSymbol>(value))
      return unsupported(
          fmt::format("the result depends on the value of '{}', which is a parameter", name));
    LEMMA_RETURN_IF_ERROR(check_choice(*where, value));
  }
  for (const AttributeSpecification& specification : record.attributes) {
    const AttributeValue* given = attributes.find(specification.name);
    if (given == nullptr && specification.default_text == "required")
      return bad_input(fmt::format("attribute '{}' is missing", specification.name));
    if (given == nullptr && specification.default_text == "optional") continue;
    if (given != nullptr && !names_axes(specification.role)) continue;
    AttributeValue value;
    if (given != nullptr) {
      value = *given;
    } else {
      LEMMA_ASSIGN_OR_RETURN(value, default_of(specification));
    }
    LEMMA_RETURN_IF_ERROR(normalize_role(specification, inputs, value));
    attributes.set(std::string(specification.name), std::move(value));
  }
  if (record.normalize == nullptr) return attributes;
  return record.normalize({inputs, attributes, output_count});
}

namespace {

/// Whether the sizes are so few and simple that their product cannot overflow: seen without
/// computing it.
bool is_small(const Shape& shape) {
  std::int64_t factor = 1;
  for (const Dimension& size : shape) {
    const auto& terms = size.terms();
    if (terms.size() > 1 ||
        (terms.size() == 1 && (size.offset() != 0 || terms[0].atoms.size() > 4)))
      return false;
    const std::int64_t next = terms.empty() ? size.offset() : terms[0].coefficient;
    if (next < 0 || next > 1'000'000'000 ||
        __builtin_mul_overflow(factor, std::max<std::int64_t>(next, 1), &factor))
      return false;
    for (const Dimension::Term& term : terms)
      for (const Dimension::AtomPointer& atom : term.atoms)
        if (atom->kind != AtomKind::symbol) return false;
  }
  return shape.size() <= 16;
}

}  // namespace

Result<std::vector<TensorType>> infer_types(const OperatorRecord& record,
                                            const Instance& instance) {
  LEMMA_RETURN_IF_ERROR(check_arity(record, instance));
  LEMMA_ASSIGN_OR_RETURN(std::vector<TensorType> types, record.infer(instance));
  if (types.size() != instance.output_count)
    return internal_error(fmt::format("the shape rule gives {} outputs, not {}", types.size(),
                                      instance.output_count));
  for (const TensorType& type : types) {
    if (!has_sizes(*type.shape))
      return bad_input(fmt::format("the output would have the shape {}", text(*type.shape)));
    if (!is_small(*type.shape) && !element_count(*type.shape).is_valid())
      return bad_input(fmt::format("the output shape {} overflows", text(*type.shape)));
  }
  return types;
}

bool unfolds(const Instance& instance) {
  const auto least = lower_bound(instance.shape(0)[0]);
  return instance.shape(0)[0].is_constant() || (least && *least >= 1);
}

Result<std::vector<Constraint>> constraints_of(const OperatorRecord& record, Instance instance) {
  Constraints stated;
  instance.constraints = &stated;
  LEMMA_RETURN_IF_ERROR(check_arity(record, instance));
  LEMMA_RETURN_IF_ERROR(record.infer(instance));
  return stated.stated();
}

}  // namespace lemma
