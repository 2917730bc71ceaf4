#include "frontend_onnx/tensor_writer.h"

#include <onnx/onnx_pb.h>

namespace lemma::frontend {

namespace {

using Tensor = ::onnx::TensorProto;

// Readers that map the file want large tensors on pages; 64 bytes suit vector loads.
std::uint64_t alignment_of(std::size_t size) { return size >= (1U << 20) ? 4096 : 64; }

}  // namespace

std::uint64_t DataFile::place(const SharedBytes& bytes) {
  const auto [where, is_new] =
      offsets_.try_emplace({bytes.bytes.data(), bytes.bytes.size()}, std::uint64_t{0});
  if (is_new) {
    const std::uint64_t alignment = alignment_of(bytes.bytes.size());
    where->second = (size_ + alignment - 1) / alignment * alignment;
    size_ = where->second + bytes.bytes.size();
    entries_.push_back({where->second, bytes});
  }
  return where->second;
}

Rope TensorWriter::tensor(const std::string& name, const Constant& constant) const {
  Rope out;
  for (const Dimension& size : *constant.type().shape)
    out.append_varint_field(Tensor::kDimsFieldNumber, static_cast<std::uint64_t>(size.offset()));
  out.append_varint_field(Tensor::kDataTypeFieldNumber,
                          static_cast<std::uint64_t>(constant.type().data_type));
  if (!name.empty()) out.append_bytes_field(Tensor::kNameFieldNumber, name);
  append_data({constant.owner(), constant.bytes()}, true, out);
  return out;
}

Result<Rope> TensorWriter::restored(std::string_view content) const {
  Tensor tensor;
  if (!tensor.ParseFromArray(content.data(), static_cast<int>(content.size())))
    return internal_error("a tensor cannot be read back");
  LEMMA_ASSIGN_OR_RETURN(auto data, source_.locate(tensor));
  Rope out;
  if (!data) {
    out.append(content);
    return out;
  }
  const bool was_external = tensor.data_location() == Tensor::EXTERNAL;
  tensor.clear_external_data();
  tensor.clear_data_location();
  out.append(tensor.SerializeAsString());
  append_data(std::move(*data), was_external || all_external_, out);
  return out;
}

void TensorWriter::append_data(SharedBytes bytes, bool may_be_external, Rope& tensor) const {
  if (file_ == nullptr || !may_be_external || bytes.bytes.size() < threshold_ ||
      bytes.bytes.empty()) {
    tensor.append_bytes_field(Tensor::kRawDataFieldNumber, std::move(bytes));
    return;
  }
  auto append_entry = [&tensor](std::string_view key, std::string_view value) {
    Rope entry;
    entry.append_bytes_field(::onnx::StringStringEntryProto::kKeyFieldNumber, key);
    entry.append_bytes_field(::onnx::StringStringEntryProto::kValueFieldNumber, value);
    tensor.append_message_field(Tensor::kExternalDataFieldNumber, std::move(entry));
  };
  append_entry("location", file_->location());
  append_entry("offset", std::to_string(file_->place(bytes)));
  append_entry("length", std::to_string(bytes.bytes.size()));
  tensor.append_varint_field(Tensor::kDataLocationFieldNumber, Tensor::EXTERNAL);
}

}  // namespace lemma::frontend
