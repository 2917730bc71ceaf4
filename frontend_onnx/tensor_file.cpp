#include "frontend_onnx/tensor_file.h"

#include <onnx/onnx_pb.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace lemma {

namespace {

Result<std::string> read_whole(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return bad_input("no such file");
  std::ifstream stream(file, std::ios::binary);
  std::string contents((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  if (!stream && !stream.eof()) return bad_input("cannot be read");
  if (contents.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return unsupported("a tensor file of more than 2 GiB");
  return contents;
}

/// Elements of one of the typed fields, each narrowed to the stored width.
template <typename Stored, typename Field>
std::string narrow(const Field& field) {
  std::string bytes(sizeof(Stored) * static_cast<std::size_t>(field.size()), '\0');
  std::size_t position = 0;
  for (const auto element : field) {
    const auto stored = static_cast<Stored>(element);
    std::memcpy(bytes.data() + position, &stored, sizeof(Stored));
    position += sizeof(Stored);
  }
  return bytes;
}

/// The fields in which onnx.proto says that each element type is held when not in raw_data.
Result<std::string> bytes_of_typed_fields(const onnx::TensorProto& tensor, DataType type) {
  switch (type) {
    case DataType::f32:
    case DataType::complex64: return narrow<float>(tensor.float_data());
    case DataType::f64:
    case DataType::complex128: return narrow<double>(tensor.double_data());
    case DataType::i64: return narrow<std::int64_t>(tensor.int64_data());
    case DataType::u32: return narrow<std::uint32_t>(tensor.uint64_data());
    case DataType::u64: return narrow<std::uint64_t>(tensor.uint64_data());
    case DataType::i32: return narrow<std::int32_t>(tensor.int32_data());
    case DataType::string:
    case DataType::undefined: return unsupported(fmt::format("a tensor of type {}", name(type)));
    default: break;
  }
  if (bits(type) == 16) return narrow<std::uint16_t>(tensor.int32_data());
  return narrow<std::uint8_t>(tensor.int32_data());
}

Result<NamedConstant> decode(const std::string& contents) {
  onnx::TensorProto tensor;
  if (!tensor.ParseFromArray(contents.data(), static_cast<int>(contents.size())) ||
      !tensor.has_data_type())
    return bad_input("this is no serialized tensor");
  if (tensor.data_type() < 0 || tensor.data_type() >= data_type_count)
    return bad_input(fmt::format("there is no element type {}", tensor.data_type()));
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() > 0)
    return unsupported("the tensor's data lies in another file");
  const auto type = static_cast<DataType>(tensor.data_type());
  if (bits(type) == 0) return unsupported(fmt::format("a tensor of type {}", name(type)));
  std::string bytes;
  if (tensor.has_raw_data()) {
    bytes = std::move(*tensor.mutable_raw_data());
  } else {
    LEMMA_ASSIGN_OR_RETURN(bytes, bytes_of_typed_fields(tensor, type));
  }
  auto owner = std::make_shared<const std::string>(std::move(bytes));
  const auto view = std::as_bytes(std::span(*owner));
  LEMMA_ASSIGN_OR_RETURN(
      Constant value,
      Constant::create({type, Shape(tensor.dims().begin(), tensor.dims().end())}, owner, view));
  return NamedConstant{tensor.name(), std::move(value)};
}

}  // namespace

Result<NamedConstant> read_tensor_file(const std::filesystem::path& file) {
  auto contents = read_whole(file);
  if (!contents) return with_context(file.string(), std::move(contents.error()));
  auto tensor = decode(*contents);
  if (!tensor) return with_context(file.string(), std::move(tensor.error()));
  return tensor;
}

Result<Constant> parse_tensor(const std::string& contents) {
  LEMMA_ASSIGN_OR_RETURN(NamedConstant tensor, decode(contents));
  return std::move(tensor.value);
}

std::string serialize_tensor(std::string_view name, const Constant& value) {
  onnx::TensorProto tensor;
  tensor.set_name(std::string(name));
  tensor.set_data_type(static_cast<std::int32_t>(value.type().data_type));
  for (const Dimension& size : *value.type().shape) tensor.add_dims(size.offset());
  tensor.set_raw_data(value.bytes().data(), value.bytes().size());
  return tensor.SerializeAsString();
}

}  // namespace lemma
