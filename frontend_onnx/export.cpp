#include "frontend_onnx/export.h"

#include <fmt/format.h>

#include "frontend_onnx/envelope.h"
#include "frontend_onnx/model_writer.h"
#include "frontend_onnx/spelling.h"
#include "ir/files.h"

namespace lemma {

namespace frontend {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Result<AtomicFile> write_model(const Rope& content, const std::filesystem::path& path) {
  LEMMA_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  for (const Rope::Piece& piece : content.pieces()) {
    LEMMA_RETURN_IF_ERROR(file.write(bytes_of(piece.text)));
    LEMMA_RETURN_IF_ERROR(file.write(piece.view.bytes));
  }
  LEMMA_RETURN_IF_ERROR(file.finish());
  return file;
}

Result<AtomicFile> write_data(const DataFile& content, const std::filesystem::path& path) {
  LEMMA_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  for (const DataFile::Entry& entry : content.entries()) {
    LEMMA_RETURN_IF_ERROR(file.pad_to(entry.offset));
    LEMMA_RETURN_IF_ERROR(file.write(entry.bytes.bytes));
  }
  LEMMA_RETURN_IF_ERROR(file.finish());
  return file;
}

/// Whose own operators may be written.
std::string runtime_of(const OnnxModel& model, const ExportOptions& options) {
  const auto& given = model.envelope.data().runtimes;
  if (options.runtime_operators) return *options.runtime_operators;
  return given.empty() ? std::string() : *given.begin();
}

Result<void> export_to(const OnnxModel& original, const std::filesystem::path& path,
                       const ExportOptions& options) {
  const std::string runtime = runtime_of(original, options);
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, spelled(original, runtime));
  bool external =
      options.external_data == ExternalData::always ||
      (options.external_data == ExternalData::as_imported && model.envelope.used_external_data());
  bool all_external = options.external_data == ExternalData::always;
  if (!external) {
    LEMMA_ASSIGN_OR_RETURN(const Rope content, lay_out(model, {.runtime = runtime}));
    if (content.size() <= options.inline_limit) {
      LEMMA_ASSIGN_OR_RETURN(AtomicFile file, write_model(content, path));
      return file.publish();
    }
    if (options.external_data == ExternalData::never)
      return unsupported(
          fmt::format("{} bytes are too many for a file without external data", content.size()));
    all_external = true;
  }
  std::filesystem::path data_path = path;
  data_path.replace_extension(".data");
  if (data_path == path) data_path += ".data";
  DataFile data(data_path.filename().string());
  LEMMA_ASSIGN_OR_RETURN(const Rope content, lay_out(model, {&data, options.external_threshold,
                                                             all_external, runtime}));
  if (content.size() > options.inline_limit)
    return unsupported(
        fmt::format("the model has {} bytes besides its external data", content.size()));
  LEMMA_ASSIGN_OR_RETURN(AtomicFile model_file, write_model(content, path));
  if (!data.entries().empty()) {
    LEMMA_ASSIGN_OR_RETURN(AtomicFile data_file, write_data(data, data_path));
    LEMMA_RETURN_IF_ERROR(data_file.publish());
  }
  return model_file.publish();
}

}  // namespace
}  // namespace frontend

Result<void> export_model(const OnnxModel& model, const std::filesystem::path& path,
                          const ExportOptions& options) {
  auto exported = frontend::export_to(model, path, options);
  if (!exported) return with_context(path.string(), std::move(exported.error()));
  return {};
}

Result<std::string> serialize_model(const OnnxModel& model) {
  const std::string runtime = frontend::runtime_of(model, {});
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel written, frontend::spelled(model, runtime));
  LEMMA_ASSIGN_OR_RETURN(const frontend::Rope content,
                         frontend::lay_out(written, {.runtime = runtime}));
  return content.flatten();
}

}  // namespace lemma
