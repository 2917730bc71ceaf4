#include "frontend_onnx/copy.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/file_mapping.h"
#include "frontend_onnx/wire.h"
#include "ir/files.h"

namespace lemma {

namespace fs = std::filesystem;
using frontend::FileMapping;

namespace {

fs::path folder_of(const fs::path& file) {
  return file.has_parent_path() ? file.parent_path() : fs::path(".");
}

bool stays_inside(const fs::path& location) {
  return !location.empty() && location.is_relative() &&
         std::find(location.begin(), location.end(), "..") == location.end();
}

bool have_same_bytes(const FileMapping& a, const FileMapping& b) {
  return std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

Result<AtomicFile> written_copy(const FileMapping& source, const fs::path& target) {
  LEMMA_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(target));
  LEMMA_RETURN_IF_ERROR(file.write(source.bytes()));
  LEMMA_RETURN_IF_ERROR(file.finish());
  return file;
}

/// False if another file has its place.
Result<bool> copy_beside(const fs::path& source, const fs::path& target) {
  LEMMA_ASSIGN_OR_RETURN(const auto original, FileMapping::open(source));
  std::error_code error;
  if (!fs::exists(target, error)) {
    LEMMA_RETURN_IF_ERROR(make_folder(folder_of(target)));
    LEMMA_ASSIGN_OR_RETURN(AtomicFile file, written_copy(*original, target));
    LEMMA_RETURN_IF_ERROR(file.publish());
  }
  // What is there may be of another model, now or since a moment ago.
  LEMMA_ASSIGN_OR_RETURN(const auto there, FileMapping::open(target));
  return have_same_bytes(*original, *there);
}

}  // namespace

Result<std::vector<std::string>> external_locations(const fs::path& model) {
  LEMMA_ASSIGN_OR_RETURN(const auto file, FileMapping::open(model));
  const std::span<const std::byte> bytes = file->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // Parsing one tensor at a time needs no memory for its data.
  LEMMA_ASSIGN_OR_RETURN(const std::string stripped,
                         strip(text, text, frontend::MessageKind::model));
  std::set<std::string> locations;
  const google::protobuf::LogSilencer no_messages;  // what it would print is returned instead
  const auto note = [&locations](std::string_view content) -> Result<frontend::Rope> {
    ::onnx::TensorProto tensor;
    if (!tensor.ParseFromArray(content.data(), static_cast<int>(content.size())))
      return bad_input("a tensor is damaged");
    for (const auto& entry : tensor.external_data())
      if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL && entry.key() == "location")
        locations.insert(entry.value());
    return frontend::Rope();
  };
  LEMMA_RETURN_IF_ERROR(rewrite_tensors(stripped, frontend::MessageKind::model, note));
  return std::vector<std::string>(locations.begin(), locations.end());
}

Result<std::uintmax_t> model_bytes(const fs::path& model) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> locations, external_locations(model));
  std::error_code error;
  std::uintmax_t bytes = fs::file_size(model, error);
  if (error) return bad_input(fmt::format("{}: {}", model.string(), error.message()));
  for (const std::string& location : locations) {
    const std::uintmax_t more = fs::file_size(folder_of(model) / location, error);
    if (!error) bytes += more;
  }
  return bytes;
}

Result<bool> copy_model(const fs::path& model, const fs::path& target) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> locations, external_locations(model));
  LEMMA_RETURN_IF_ERROR(make_folder(folder_of(target)));
  std::error_code error;
  if (!fs::equivalent(folder_of(model), folder_of(target), error)) {
    for (const std::string& location : locations) {
      if (!stays_inside(location))
        return bad_input(
            fmt::format("{}: its data '{}' is not below its folder", model.string(), location));
      LEMMA_ASSIGN_OR_RETURN(const bool copied, copy_beside(folder_of(model) / location,
                                                            folder_of(target) / location));
      if (!copied) return false;
    }
  }
  LEMMA_ASSIGN_OR_RETURN(const auto original, FileMapping::open(model));
  LEMMA_ASSIGN_OR_RETURN(AtomicFile file, written_copy(*original, target));
  LEMMA_RETURN_IF_ERROR(file.publish());
  return true;
}

}  // namespace lemma
