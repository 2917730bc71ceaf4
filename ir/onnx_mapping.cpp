#include "ir/onnx_mapping.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "ir/operator.h"

namespace lemma {

namespace {

const AttributeSpecification* specification_of(const OperatorRecord& record,
                                               std::string_view attribute) {
  for (const AttributeSpecification& specification : record.attributes)
    if (specification.name == attribute) return &specification;
  return nullptr;
}

const OnnxParameter* parameter_at(const OnnxMapping& mapping, int input, int opset) {
  for (const OnnxParameter& parameter : mapping.parameters)
    if (parameter.input == input && opset >= parameter.input_since) return &parameter;
  return nullptr;
}

tl::unexpected<Error> not_representable(std::string_view attribute) {
  return unsupported(fmt::format("attribute '{}' has a value of another kind", attribute));
}

tl::unexpected<Error> wrong_kind(std::string_view attribute, std::string_view given,
                                 AttributeKind wanted) {
  return bad_input(
      fmt::format("attribute '{}' is given as {}, not {}", attribute, given, name(wanted)));
}

Shape to_dimensions(const Integers& values) { return {values.begin(), values.end()}; }

/// ONNX knows three numeric kinds; the record may say more precisely what they mean.
Result<AttributeValue> to_kind(const AttributeSpecification& specification, AttributeValue value) {
  const AttributeKind kind = specification.kind;
  if (kind_of(value) == kind) return value;
  if (const auto* integers = std::get_if<Integers>(&value))
    if (kind == AttributeKind::dimensions) return AttributeValue(to_dimensions(*integers));
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (kind == AttributeKind::data_type && *integer >= 0 && *integer < data_type_count)
      return AttributeValue(static_cast<DataType>(*integer));
    if (kind == AttributeKind::integers) return AttributeValue(Integers{*integer});
    if (kind == AttributeKind::dimension) return AttributeValue(Dimension(*integer));
    // An element type that the records do not know is no mistake of the model.
    if (kind == AttributeKind::data_type) return not_representable(specification.name);
  }
  return wrong_kind(specification.name, name(kind_of(value)), kind);
}

Result<Integers> known_integers(const Shape& elements, std::string_view attribute) {
  const auto sizes = constant_sizes(elements);
  if (!sizes) return unsupported(fmt::format("'{}' is not a constant", attribute));
  return *sizes;
}

/// The contents of a parameter input, as the kind the record wants.
Result<AttributeValue> parameter_value(const AttributeSpecification& specification,
                                       const OnnxOperand& operand) {
  const std::string_view name = specification.name;
  if (operand.constant != nullptr && is_real(operand.type.data_type)) {
    const Reals values = operand.constant->reals();
    if (specification.kind == AttributeKind::reals) return AttributeValue(values);
    if (specification.kind == AttributeKind::real && values.size() == 1)
      return AttributeValue(values.front());
    // Sizes may be given as reals (the depth of OneHot).
    const bool whole = values.size() == 1 && std::trunc(values.front()) == values.front() &&
                       std::abs(values.front()) < 0x1p53;
    if (specification.kind == AttributeKind::dimension && whole)
      return AttributeValue(Dimension(static_cast<std::int64_t>(values.front())));
    return wrong_kind(name, lemma::name(operand.type.data_type), specification.kind);
  }
  if (operand.elements == nullptr)
    return unsupported(fmt::format("'{}' is not known before run time", name));
  const Shape& elements = *operand.elements;
  switch (specification.kind) {
    case AttributeKind::dimensions: return AttributeValue(elements);
    case AttributeKind::integers: {
      LEMMA_ASSIGN_OR_RETURN(Integers values, known_integers(elements, name));
      return AttributeValue(std::move(values));
    }
    case AttributeKind::dimension:
      if (elements.size() != 1) return not_representable(name);
      return AttributeValue(elements.front());
    case AttributeKind::integer: {
      LEMMA_ASSIGN_OR_RETURN(const Integers values, known_integers(elements, name));
      if (values.size() != 1) return not_representable(name);
      return AttributeValue(values.front());
    }
    default: return not_representable(name);
  }
}

/// Graphs, lists of strings and the like are values of no attribute of a record, and tensors only by way of a hook.
Result<void> check_unusual_attributes(const OperatorRecord& record, const OnnxMapping& mapping,
                                      const OnnxCall& call) {
  for (const auto& [name, tensor] : call.tensors)
    if (const auto* specification = specification_of(record, name);
        specification != nullptr && mapping.import_hook == nullptr)
      return wrong_kind(name, "a tensor", specification->kind);
  for (const auto& [name, kind] : call.others) {
    if (const auto* specification = specification_of(record, name))
      return wrong_kind(name, kind, specification->kind);
    return unsupported(fmt::format("attribute '{}' is {}", name, kind));
  }
  for (const auto& [name, values] : call.strings) {
    if (const auto* specification = specification_of(record, name))
      return wrong_kind(name, "strings", specification->kind);
    if (!mapping.takes_strings) return unsupported(fmt::format("attribute '{}' is strings", name));
  }
  return {};
}

}  // namespace

std::vector<OnnxMatch> onnx_candidates(std::string_view domain, std::string_view name, int opset) {
  if (domain == "ai.onnx") domain = "";
  std::vector<OnnxMatch> matches;
  for (const OperatorRecord& record : all_operators())
    for (const OnnxMapping& mapping : record.onnx)
      if (mapping.name == name && mapping.domain == domain && opset >= mapping.since &&
          opset <= mapping.until)
        matches.push_back({&record, &mapping});
  return matches;
}

Result<ImportedCall> import_call(const OperatorRecord& record, const OnnxMapping& mapping,
                                 const OnnxCall& call) {
  ImportedCall imported;
  LEMMA_RETURN_IF_ERROR(check_unusual_attributes(record, mapping, call));
  for (const auto& [name, value] : call.attributes) {
    const AttributeSpecification* specification = specification_of(record, name);
    if (specification == nullptr) {
      if (mapping.import_hook != nullptr) continue;  // the hook decides what it means
      return unsupported(fmt::format("attribute '{}' is not supported", name));
    }
    LEMMA_ASSIGN_OR_RETURN(AttributeValue converted, to_kind(*specification, value));
    imported.attributes.set(name, std::move(converted));
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const OnnxOperand& operand = call.inputs[i];
    const auto position = static_cast<int>(i);
    const OnnxParameter* parameter = parameter_at(mapping, position, call.opset);
    if (parameter == nullptr) {
      imported.inputs.push_back(operand.present() ? position : -1);
    } else if (operand.present()) {
      const AttributeSpecification* specification = specification_of(record, parameter->attribute);
      if (specification == nullptr) return internal_error("parameter without specification");
      LEMMA_ASSIGN_OR_RETURN(AttributeValue value, parameter_value(*specification, operand));
      imported.attributes.set(std::string(parameter->attribute), std::move(value));
    }
  }
  if (mapping.import_hook == nullptr) {
    if (!call.tensors.empty())
      return unsupported(fmt::format("attribute '{}' is a tensor", call.tensors.front().first));
    return imported;
  }
  return mapping.import_hook(call, std::move(imported));
}

namespace {

/// The first that is standard, or else the first of the runtime. A domain other than that of ONNX is written as of its
/// operator set 1.
const OnnxMapping* mapping_for_export(const OperatorRecord& record, int opset,
                                      std::string_view runtime) {
  const OnnxMapping* own = nullptr;
  for (const OnnxMapping& mapping : record.onnx) {
    const int set = mapping.domain.empty() ? opset : 1;
    if (mapping.import_only || set < mapping.since || set > mapping.until) continue;
    if (mapping.runtime.empty()) return &mapping;
    if (own == nullptr && mapping.runtime == runtime) own = &mapping;
  }
  return own;
}

Result<OnnxInput> parameter_input(const AttributeValue& value) {
  if (const auto* dimensions = std::get_if<Shape>(&value))
    return OnnxInput(OnnxIntegersInput{*dimensions, false});
  if (const auto* integers = std::get_if<Integers>(&value))
    return OnnxInput(OnnxIntegersInput{to_dimensions(*integers), false});
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return OnnxInput(OnnxIntegersInput{{Dimension(*integer)}, true});
  if (const auto* dimension = std::get_if<Dimension>(&value))
    return OnnxInput(OnnxIntegersInput{{*dimension}, true});
  if (const auto* reals = std::get_if<Reals>(&value))
    return OnnxInput(Constant::of(DataType::f32, {static_cast<std::int64_t>(reals->size())},
                                  std::vector<float>(reals->begin(), reals->end())));
  if (const auto* real = std::get_if<double>(&value))
    return OnnxInput(Constant::scalar_f32(static_cast<float>(*real)));
  return internal_error("a parameter of this kind cannot be an ONNX input");
}

/// Attributes whose ONNX form is an attribute at this operator set.
Result<void> export_attributes(const OnnxMapping& mapping, const Instance& instance, int opset,
                               ExportedCall& exported) {
  for (const auto& [name, value] : instance.attributes) {
    const bool is_input =
        std::any_of(mapping.parameters.begin(), mapping.parameters.end(),
                    [&name = name, opset](const OnnxParameter& parameter) {
                      return parameter.attribute == name && opset >= parameter.input_since;
                    });
    if (is_input) continue;
    if (const auto* dimensions = std::get_if<Shape>(&value)) {
      const auto sizes = constant_sizes(*dimensions);
      if (!sizes)
        return unsupported(fmt::format("operator set {} has no symbolic '{}'", opset, name));
      exported.attributes.set(name, *sizes);
    } else if (const auto* dimension = std::get_if<Dimension>(&value)) {
      if (!dimension->is_constant())
        return unsupported(fmt::format("operator set {} has no symbolic '{}'", opset, name));
      exported.attributes.set(name, dimension->offset());
    } else if (const auto* type = std::get_if<DataType>(&value)) {
      exported.attributes.set(name, static_cast<std::int64_t>(*type));
    } else {
      exported.attributes.set(name, value);
    }
  }
  return {};
}

}  // namespace

Result<ExportedCall> export_call(const OperatorRecord& record, const Instance& instance, int opset,
                                 std::string_view runtime) {
  const OnnxMapping* mapping = mapping_for_export(record, opset, runtime);
  if (mapping == nullptr)
    return unsupported(fmt::format("{} has no form in operator set {}", record.name, opset));
  ExportedCall exported;
  exported.name = mapping->name;
  exported.domain = mapping->domain;
  LEMMA_RETURN_IF_ERROR(export_attributes(*mapping, instance, opset, exported));
  // Operands fill the positions that parameters leave free.
  std::size_t operand = 0;
  for (int position = 0;; ++position) {
    const OnnxParameter* parameter = parameter_at(*mapping, position, opset);
    const bool later_parameter = std::any_of(mapping->parameters.begin(), mapping->parameters.end(),
                                             [position, opset](const OnnxParameter& p) {
                                               return p.input >= position && opset >= p.input_since;
                                             });
    if (parameter == nullptr && operand >= instance.inputs.size() && !later_parameter) break;
    if (parameter != nullptr) {
      const AttributeValue* value = instance.attributes.find(parameter->attribute);
      if (value == nullptr) {
        exported.inputs.emplace_back(OnnxAbsent{});
      } else {
        LEMMA_ASSIGN_OR_RETURN(OnnxInput input, parameter_input(*value));
        exported.inputs.push_back(std::move(input));
      }
    } else if (operand < instance.inputs.size() && instance.has(operand)) {
      exported.inputs.emplace_back(OnnxOperandInput{operand++});
    } else {
      ++operand;
      exported.inputs.emplace_back(OnnxAbsent{});
    }
  }
  while (!exported.inputs.empty() && std::holds_alternative<OnnxAbsent>(exported.inputs.back()))
    exported.inputs.pop_back();
  if (mapping->export_hook == nullptr) return exported;
  return mapping->export_hook(instance, opset, std::move(exported));
}

}  // namespace lemma
