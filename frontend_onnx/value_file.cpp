#include "frontend_onnx/value_file.h"

#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>

#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "frontend_onnx/envelope.h"
#include "frontend_onnx/tensor_file.h"

namespace lemma {

namespace {

using ::onnx::OptionalProto;
using ::onnx::SequenceProto;

Result<std::string> contents_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return bad_input("cannot be read");
  return std::string((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
}

Result<RunTimeValue> from_tensor(const ::onnx::TensorProto& tensor) {
  if (tensor.data_type() == ::onnx::TensorProto::STRING) {
    Strings strings = frontend::strings_from(tensor);
    std::int64_t count = 1;
    for (const std::int64_t size : strings.sizes)
      if (size < 0 || __builtin_mul_overflow(count, size, &count))
        return bad_input("the sizes of a tensor of strings are wrong");
    if (count != static_cast<std::int64_t>(strings.elements.size()))
      return bad_input(fmt::format("{} strings in a tensor of {}", strings.elements.size(), count));
    return RunTimeValue(std::move(strings));
  }
  LEMMA_ASSIGN_OR_RETURN(Constant constant, parse_tensor(tensor.SerializeAsString()));
  return RunTimeValue(std::move(constant));
}

Result<RunTimeValue> from_sequence(const SequenceProto& sequence) {
  RunTimeValue::Sequence elements;
  for (const auto& tensor : sequence.tensor_values()) {
    LEMMA_ASSIGN_OR_RETURN(RunTimeValue element, from_tensor(tensor));
    elements.push_back(std::move(element));
  }
  if (sequence.sequence_values_size() + sequence.optional_values_size() +
          sequence.map_values_size() + sequence.sparse_tensor_values_size() !=
      0)
    return unsupported("a sequence of something other than tensors");
  return RunTimeValue(std::move(elements));
}

Result<RunTimeValue> from_optional(const OptionalProto& optional) {
  if (optional.has_tensor_value()) return from_tensor(optional.tensor_value());
  if (optional.has_sequence_value()) return from_sequence(optional.sequence_value());
  if (optional.has_optional_value() || optional.has_map_value() ||
      optional.has_sparse_tensor_value())
    return unsupported("an optional value of an unusual kind");
  return RunTimeValue();
}

template <typename Message>
Result<Message> parsed(const std::string& bytes) {
  Message message;
  if (!message.ParseFromString(bytes)) return bad_input("it does not hold a value of this type");
  return message;
}

::onnx::TypeProto declared(const ModelEnvelope& model, const std::string& name) {
  ::onnx::ValueInfoProto value;
  const auto& declarations = model.data().declarations;
  if (const auto entry = declarations.find(name); entry != declarations.end())
    (void)value.ParseFromString(entry->second);
  return value.type();
}

Result<RunTimeValue> decoded(const std::string& bytes, const ::onnx::TypeProto& type) {
  if (type.has_sequence_type()) {
    LEMMA_ASSIGN_OR_RETURN(const auto sequence, parsed<SequenceProto>(bytes));
    return from_sequence(sequence);
  }
  if (type.has_optional_type()) {
    LEMMA_ASSIGN_OR_RETURN(const auto optional, parsed<OptionalProto>(bytes));
    return from_optional(optional);
  }
  if (!type.has_tensor_type()) return unsupported("a value of an unusual kind");
  LEMMA_ASSIGN_OR_RETURN(const auto tensor, parsed<::onnx::TensorProto>(bytes));
  return from_tensor(tensor);
}

}  // namespace

Strings frontend::strings_from(const ::onnx::TensorProto& tensor) {
  return {{tensor.dims().begin(), tensor.dims().end()},
          {tensor.string_data().begin(), tensor.string_data().end()}};
}

Result<RunTimeValue> read_value_file(const std::filesystem::path& file, const ModelEnvelope& model,
                                     const std::string& name) {
  auto bytes = contents_of(file);
  if (!bytes) return with_context(file.string(), std::move(bytes.error()));
  auto value = decoded(*bytes, declared(model, name));
  if (!value) return with_context(file.string(), std::move(value.error()));
  return value;
}

bool is_declared_as_container(const ModelEnvelope& model, const std::string& name) {
  const ::onnx::TypeProto type = declared(model, name);
  return type.has_sequence_type() || type.has_optional_type();
}

Result<std::string> serialize_value(std::string_view name, const RunTimeValue& value) {
  if (const Constant* tensor = value.tensor()) return serialize_tensor(name, *tensor);
  const Strings* strings = value.strings();
  if (strings == nullptr)
    return unsupported(
        fmt::format("output '{}' is {}, which cannot be written", name, text(value)));
  ::onnx::TensorProto tensor;
  tensor.set_name(std::string(name));
  tensor.set_data_type(::onnx::TensorProto::STRING);
  for (const std::int64_t size : strings->sizes) tensor.add_dims(size);
  for (const std::string& element : strings->elements) tensor.add_string_data(element);
  return tensor.SerializeAsString();
}

}  // namespace lemma
