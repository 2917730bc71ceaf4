#include "ir/operator_registration.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "base/number_text.h"
#include "ir/operator_library.h"

namespace lemma {

namespace {

/// What was registered before the table was made.
struct Registered {
  std::mutex mutex;
  std::map<std::string_view, OperatorRecord> records;  // by name
  std::map<std::string, std::string, std::less<>> origins;
  bool is_taken = false;
};

Registered& registered() {
  static Registered all;
  return all;
}

bool is_name(std::string_view name) {
  return !name.empty() && name[0] >= 'A' && name[0] <= 'Z' &&
         std::all_of(name.begin(), name.end(), is_ascii_letter_or_digit);
}

/// Names that Lemma makes of those of other operators (made_operators/).
bool is_made_name(std::string_view name) {
  return name.find("Gradient") != std::string_view::npos || name.ends_with("PerDevice");
}

Result<void> check_arity(std::string_view what, Arity arity, int least) {
  if (arity.minimum >= least && (arity.maximum == -1 || arity.maximum >= arity.minimum)) return {};
  return bad_input(fmt::format(
      "{} to {} {}: the least number is {} or more, and the greatest not below it, or -1",
      arity.minimum, arity.maximum, what, least));
}

Result<void> check_attributes(std::span<const AttributeSpecification> attributes) {
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    const AttributeSpecification& one = attributes[i];
    if (one.name.empty()) return bad_input("an attribute without a name");
    for (std::size_t j = 0; j < i; ++j)
      if (attributes[j].name == one.name)
        return bad_input(fmt::format("two attributes are named '{}'", one.name));
    if (one.default_text == "required" || one.default_text == "optional") continue;
    if (const auto value = parse_attribute_value(one.kind, one.default_text); !value)
      return bad_input(
          fmt::format("the default of attribute '{}': {}", one.name, value.error().message));
  }
  return {};
}

std::string text_of(const OnnxMapping& mapping) {
  return fmt::format("{}{}{}", mapping.domain, mapping.domain.empty() ? "" : ".", mapping.name);
}

Result<void> check_forms(const OperatorRecord& record) {
  for (const OnnxMapping& mapping : record.onnx) {
    if (mapping.name.empty()) return bad_input("an ONNX form without a name");
    if (mapping.since < 1 || mapping.until < mapping.since)
      return bad_input(fmt::format("the ONNX form {} is of operator sets {} to {}",
                                   text_of(mapping), mapping.since, mapping.until));
  }
  return {};
}

/// What can be seen of a record by itself.
Result<void> check_record(const OperatorRecord& record) {
  if (!is_name(record.name))
    return bad_input("a name has letters and digits, and begins with a capital letter");
  if (is_made_name(record.name))
    return bad_input("names with 'Gradient' or 'PerDevice' are of operators that Lemma makes");
  if (record.summary.empty()) return bad_input("it has no summary");
  if (record.infer == nullptr) return bad_input("it has no shape rule");
  if (record.define == nullptr && record.compose == nullptr)
    return bad_input("it has neither a definition nor a composition");
  if (record.define != nullptr && record.compose != nullptr)
    return bad_input("it has a definition and a composition; its meaning is one of them");
  LEMMA_RETURN_IF_ERROR(check_arity("operands", record.inputs, 0));
  LEMMA_RETURN_IF_ERROR(check_arity("outputs", record.outputs, 1));
  LEMMA_RETURN_IF_ERROR(check_attributes(record.attributes));
  return check_forms(record);
}

bool overlap(const OnnxMapping& a, const OnnxMapping& b) {
  const auto domain = [](const OnnxMapping& one) {
    return one.domain == "ai.onnx" ? std::string_view() : one.domain;
  };
  return a.name == b.name && domain(a) == domain(b) && a.since <= b.until && b.since <= a.until;
}

/// What another operator has already; `whose` says where that is from.
Result<void> check_against(const OperatorRecord& record, const OperatorRecord& other,
                           std::string_view whose) {
  if (record.name == other.name)
    return bad_input(fmt::format("there is an operator of this name {}", whose));
  for (const OnnxMapping& mapping : record.onnx)
    for (const OnnxMapping& known : other.onnx)
      if (overlap(mapping, known))
        return bad_input(
            fmt::format("the ONNX form {} is that of {} {}", text_of(mapping), other.name, whose));
  return {};
}

Result<void> check_against_all(const OperatorRecord& record, const Registered& known,
                               std::span<const OperatorRecord> beside) {
  for (const OperatorRecord& own : own_operators())
    LEMMA_RETURN_IF_ERROR(check_against(record, own, "in Lemma"));
  for (const auto& [name, other] : known.records)
    LEMMA_RETURN_IF_ERROR(
        check_against(record, other, fmt::format("from {}", known.origins.find(name)->second)));
  for (const OperatorRecord& other : beside)
    LEMMA_RETURN_IF_ERROR(check_against(record, other, "beside it"));
  return {};
}

}  // namespace

Result<void> register_operators(std::span<const OperatorRecord> records, std::string_view origin) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  if (all.is_taken)
    return bad_input(fmt::format(
        "{}: operators are registered before the first one is used, and some were", origin));
  if (records.empty()) return bad_input(fmt::format("{}: there are no operators", origin));
  for (std::size_t i = 0; i < records.size(); ++i) {
    Result<void> sound = check_record(records[i]);
    if (sound) sound = check_against_all(records[i], all, records.first(i));
    if (!sound)
      return with_context(fmt::format("{}: operator '{}'", origin, records[i].name),
                          std::move(sound.error()));
  }
  for (const OperatorRecord& record : records) {
    all.records.emplace(record.name, record);
    all.origins.emplace(std::string(record.name), std::string(origin));
  }
  return {};
}

std::string_view origin_of(std::string_view name) {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  const auto found = all.origins.find(name);
  return found == all.origins.end() ? std::string_view() : std::string_view(found->second);
}

std::string unknown_operator(std::string_view name) {
  return fmt::format("there is no operator '{}'; one of a library is known with --operators FILE",
                     name);
}

std::string_view operator_library_mark() {
  static constexpr auto mark = operator_library::full_mark();
  return {mark.data(), mark.size() - 1};
}

std::vector<OperatorRecord> take_registered_operators() {
  Registered& all = registered();
  const std::lock_guard lock(all.mutex);
  all.is_taken = true;
  std::vector<OperatorRecord> result;
  for (const auto& [name, record] : all.records) result.push_back(record);
  return result;
}

}  // namespace lemma
