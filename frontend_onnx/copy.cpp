#include "frontend_onnx/copy.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/external_data.h"
#include "frontend_onnx/file_mapping.h"
#include "frontend_onnx/wire.h"
#include "outputs/files.h"

namespace lemma {

namespace fs = std::filesystem;
using frontend::FileMapping;

namespace {

bool stays_inside(const fs::path& location) {
  return !location.empty() && location.is_relative() &&
         std::find(location.begin(), location.end(), "..") == location.end();
}

/// A data file that is written, but has no name yet.
struct DataCopy {
  std::string location;  // in the original
  std::string digest, name;
  OutputFile file;
};

Result<DataCopy> copy_data(const fs::path& source, const std::string& location,
                           const fs::path& target, const OutputOptions& options) {
  const auto original = FileMapping::open(source);
  if (!original) return with_context(source.string(), original.error());
  frontend::ContentDigest digest;
  digest.add((*original)->bytes());
  std::string text = digest.text();
  std::string name = frontend::data_file_name(text, 0);
  LEMMA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(folder_of(target) / name, options));
  LEMMA_RETURN_IF_ERROR(file.write((*original)->bytes()));
  LEMMA_RETURN_IF_ERROR(file.finish());
  return DataCopy{location, std::move(text), std::move(name), std::move(file)};
}

Result<OutputFile> write_rope(const frontend::Rope& content, const fs::path& target,
                              const OutputOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(target, options));
  for (const frontend::Rope::Piece& piece : content.pieces()) {
    LEMMA_RETURN_IF_ERROR(file.write(std::as_bytes(std::span(piece.text))));
    LEMMA_RETURN_IF_ERROR(file.write(piece.view.bytes));
  }
  LEMMA_RETURN_IF_ERROR(file.finish());
  return file;
}

/// The model, with its tensors' data where the copies are.
Result<OutputFile> write_renamed(const std::shared_ptr<const FileMapping>& model,
                                 const std::vector<DataCopy>& copies, const fs::path& target,
                                 const OutputOptions& options) {
  std::map<std::string, std::string> names;
  for (const DataCopy& copy : copies) names[copy.location] = copy.name;
  LEMMA_ASSIGN_OR_RETURN(const frontend::Rope content, frontend::with_locations(model, names));
  return write_rope(content, target, options);
}

Result<void> copy_with_data(const fs::path& model, const std::vector<std::string>& locations,
                            const fs::path& target, const OutputOptions& options,
                            const CompleteModel& before_publishing) {
  LEMMA_ASSIGN_OR_RETURN(const auto original, FileMapping::open(model));
  std::vector<DataCopy> copies;
  for (const std::string& location : locations) {
    if (!stays_inside(location))
      return bad_input(
          fmt::format("{}: its data '{}' is not below its folder", model.string(), location));
    LEMMA_ASSIGN_OR_RETURN(DataCopy copy,
                           copy_data(folder_of(model) / location, location, target, options));
    copies.push_back(std::move(copy));
  }
  // Nothing has its name before all is written: a full disk leaves nothing.
  std::optional<OutputFile> file;
  {
    LEMMA_ASSIGN_OR_RETURN(OutputFile first, write_renamed(original, copies, target, options));
    file.emplace(std::move(first));
  }
  bool are_renamed = false;
  for (DataCopy& copy : copies) {
    LEMMA_ASSIGN_OR_RETURN(std::string name,
                           frontend::publish_data(copy.file.path(), folder_of(target), copy.digest,
                                                  [&copy](const fs::path& place) {
                                                    return copy.file.publish_new(place);
                                                  }));
    are_renamed = are_renamed || name != copy.name;
    copy.name = std::move(name);
  }
  if (are_renamed) {
    LEMMA_ASSIGN_OR_RETURN(OutputFile second, write_renamed(original, copies, target, options));
    file.emplace(std::move(second));
  }
  if (before_publishing) before_publishing(file->path(), folder_of(target));
  return file->publish();
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

std::vector<fs::path> model_files(const fs::path& model) {
  std::vector<fs::path> files = {model};
  if (const auto locations = external_locations(model))
    for (const std::string& location : *locations) files.push_back(folder_of(model) / location);
  return files;
}

std::optional<fs::perms> model_permissions(const fs::path& model) {
  std::error_code error;
  const fs::file_status status = fs::status(model, error);
  if (error || status.type() != fs::file_type::regular) return std::nullopt;
  fs::perms result = status.permissions() & fs::perms::all;
  for (const fs::path& file : model_files(model)) {
    const fs::file_status data_status = fs::status(file, error);
    if (error || data_status.type() != fs::file_type::regular) continue;
    result &= data_status.permissions() | fs::perms::owner_all;
  }
  return result;
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

Result<void> copy_model(const fs::path& model, const fs::path& target,
                        const CompleteModel& before_publishing) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::string> locations, external_locations(model));
  LEMMA_ASSIGN_OR_RETURN(const OutputTarget place, output_target(target));
  if (!place.is_stream()) LEMMA_RETURN_IF_ERROR(make_folder(folder_of(place.path)));
  const OutputOptions options{model_permissions(model)};
  std::error_code error;
  if (!locations.empty() && place.is_stream())
    return unsupported("a model with external data needs a file, not a device or a pipe");
  if (!locations.empty() && !fs::equivalent(folder_of(model), folder_of(place.path), error))
    return copy_with_data(model, locations, place.path, options, before_publishing);
  LEMMA_ASSIGN_OR_RETURN(const auto original, FileMapping::open(model));
  LEMMA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(target, options));
  LEMMA_RETURN_IF_ERROR(file.write(original->bytes()));
  LEMMA_RETURN_IF_ERROR(file.finish());
  if (before_publishing && !place.is_stream())
    before_publishing(file.path(), folder_of(place.path));
  return file.publish();
}

}  // namespace lemma
