#include "frontend_onnx/tensor_source.h"

#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/wire.h"

namespace lemma::frontend {

namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<TensorType> type_of(const ::onnx::TensorProto& tensor) {
  TensorType type;
  if (tensor.data_type() <= 0) return bad_input("the element type is missing");
  if (tensor.data_type() >= data_type_count)
    return bad_input(fmt::format("element type {} does not exist", tensor.data_type()));
  type.data_type = static_cast<DataType>(tensor.data_type());
  type.shape.emplace();
  for (const std::int64_t size : tensor.dims()) {
    if (size < 0) return bad_input(fmt::format("negative size {}", size));
    type.shape->emplace_back(size);
  }
  if (!element_count(*type.shape).is_valid())
    return bad_input(fmt::format("the shape {} overflows", text(type)));
  if (type.data_type == DataType::string && tensor.has_raw_data())
    return bad_input("text cannot be raw data");
  if (bits(type.data_type) == 0) return unsupported(fmt::format("a tensor of {}", text(type)));
  return type;
}

Result<std::uint64_t> byte_count(const TensorType& type) {
  const Dimension count = element_count(*type.shape) * Dimension(bits(type.data_type));
  if (!count.is_valid()) return bad_input(fmt::format("the shape {} overflows", text(type)));
  return (static_cast<std::uint64_t>(count.offset()) + 7) / 8;
}

}  // namespace

Result<std::optional<SharedBytes>> TensorSource::locate(const ::onnx::TensorProto& tensor) const {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() != stripped_key) continue;
    LEMMA_ASSIGN_OR_RETURN(SharedBytes bytes, stripped(entry.value()));
    return bytes;
  }
  if (tensor.data_location() != ::onnx::TensorProto::EXTERNAL) return std::nullopt;
  LEMMA_ASSIGN_OR_RETURN(SharedBytes bytes, external(tensor));
  return bytes;
}

bool TensorSource::opened_external_files() const {
  const std::lock_guard lock(mutex_);
  return !files_.empty();
}

Result<SharedBytes> TensorSource::stripped(std::string_view reference) const {
  const std::size_t first = reference.find(':');
  const std::size_t second = first == reference.npos ? first : reference.find(':', first + 1);
  if (second == reference.npos) return bad_input("damaged tensor reference");
  const auto offset = parse_number(reference.substr(first + 1, second - first - 1));
  const auto length = parse_number(reference.substr(second + 1));
  if (!offset || !length || *offset > model_.bytes.size() ||
      *length > model_.bytes.size() - *offset)
    return bad_input("damaged tensor reference");
  return SharedBytes{model_.owner, model_.bytes.subspan(*offset, *length)};
}

Result<SharedBytes> TensorSource::external(const ::onnx::TensorProto& tensor) const {
  std::string location;
  std::optional<std::uint64_t> offset = 0;
  std::optional<std::uint64_t> length;
  bool has_length = false;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_number(entry.value());
    if (entry.key() == "length") {
      length = parse_number(entry.value());
      has_length = true;
    }
  }
  if (!offset || (has_length && !length))
    return bad_input("offset or length of the external data is not a number");
  if (!has_length) {
    LEMMA_ASSIGN_OR_RETURN(const TensorType type, type_of(tensor));
    LEMMA_ASSIGN_OR_RETURN(length, byte_count(type));
  }
  auto file = open(location);
  if (!file)
    return with_context(fmt::format("external data '{}'", location), std::move(file.error()));
  const auto bytes = (*file)->bytes();
  if (*offset > bytes.size() || *length > bytes.size() - *offset)
    return bad_input(
        fmt::format("external data '{}': {} bytes at {} are wanted, but the file has {}", location,
                    *length, *offset, bytes.size()));
  return SharedBytes{*file, bytes.subspan(*offset, *length)};
}

Result<std::shared_ptr<const FileMapping>> TensorSource::open(const std::string& location) const {
  namespace fs = std::filesystem;
  const std::lock_guard lock(mutex_);
  if (const auto entry = files_.find(location); entry != files_.end()) return entry->second;
  if (!allow_external_ || folder_.empty()) return bad_input("external data is not allowed here");
  const fs::path relative(location);
  if (location.empty() || location.find('\0') != location.npos || relative.is_absolute())
    return bad_input("the location must be a path relative to the model");
  for (const fs::path& part : relative)
    if (part == "..") return bad_input("the location leaves the folder of the model");
  std::error_code error;
  const fs::path folder = fs::canonical(folder_, error);
  if (error) return bad_input(fmt::format("folder {}: {}", folder_.string(), error.message()));
  const fs::path target = fs::canonical(folder / relative, error);
  if (error) return bad_input(error.message());
  const fs::path inside = target.lexically_relative(folder);
  if (inside.empty() || *inside.begin() == "..")
    return bad_input("the location leaves the folder of the model through a symbolic link");
  LEMMA_ASSIGN_OR_RETURN(auto file, FileMapping::open(target));
  files_.emplace(location, file);
  return file;
}

namespace {

/// Elements of a typed field, converted to the stored type.
template <typename Stored, typename Field>
std::shared_ptr<std::vector<std::byte>> converted(const Field& field) {
  auto bytes = std::make_shared<std::vector<std::byte>>(field.size() * sizeof(Stored));
  std::byte* out = bytes->data();
  for (const auto element : field) {
    const auto stored = static_cast<Stored>(element);
    std::memcpy(out, &stored, sizeof(Stored));
    out += sizeof(Stored);
  }
  return bytes;
}

std::shared_ptr<std::vector<std::byte>> typed_data(DataType type,
                                                   const ::onnx::TensorProto& tensor) {
  switch (type) {
    case DataType::f32:
    case DataType::complex64: return converted<float>(tensor.float_data());
    case DataType::f64:
    case DataType::complex128: return converted<double>(tensor.double_data());
    case DataType::i64: return converted<std::int64_t>(tensor.int64_data());
    case DataType::u64: return converted<std::uint64_t>(tensor.uint64_data());
    case DataType::u32: return converted<std::uint32_t>(tensor.uint64_data());
    case DataType::i32: return converted<std::int32_t>(tensor.int32_data());
    default: break;
  }
  // Types of 16 and fewer bits stand as their bit patterns in int32_data; of types below 8 bits, a
  // byte's worth in each entry.
  return bits(type) == 16 ? converted<std::uint16_t>(tensor.int32_data())
                          : converted<std::uint8_t>(tensor.int32_data());
}

/// ONNX readers take any non-zero byte for true; a Constant holds 0 or 1.
SharedBytes normalized_booleans(SharedBytes bytes) {
  bool normal = true;
  for (const std::byte b : bytes.bytes) normal = normal && b <= std::byte{1};
  if (normal) return bytes;
  auto copy = std::make_shared<std::vector<std::byte>>(bytes.bytes.begin(), bytes.bytes.end());
  for (std::byte& b : *copy) b = b == std::byte{0} ? b : std::byte{1};
  const std::span<const std::byte> view(*copy);
  return {std::move(copy), view};
}

}  // namespace

Result<Constant> constant_from(const ::onnx::TensorProto& tensor, const TensorSource& source) {
  LEMMA_ASSIGN_OR_RETURN(TensorType type, type_of(tensor));
  if (tensor.has_segment()) return bad_input("tensors in segments are not supported");
  LEMMA_ASSIGN_OR_RETURN(auto located, source.locate(tensor));
  SharedBytes data;
  if (located) {
    data = std::move(*located);
  } else if (tensor.has_raw_data()) {
    auto copy = std::make_shared<std::string>(tensor.raw_data());
    data.bytes = std::as_bytes(std::span(*copy));
    data.owner = std::move(copy);
  } else {
    auto copy = typed_data(type.data_type, tensor);
    data.bytes = *copy;
    data.owner = std::move(copy);
  }
  if (type.data_type == DataType::boolean) data = normalized_booleans(std::move(data));
  return Constant::create(std::move(type), std::move(data.owner), data.bytes);
}

}  // namespace lemma::frontend
