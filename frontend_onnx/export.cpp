#include "frontend_onnx/export.h"

#include <vector>

#include <fmt/format.h>

#include "frontend_onnx/envelope.h"
#include "frontend_onnx/external_data.h"
#include "frontend_onnx/model_writer.h"
#include "frontend_onnx/spelling.h"
#include "outputs/files.h"

namespace lemma {

namespace frontend {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

Result<OutputFile> write_model(const Rope& content, const std::filesystem::path& path,
                               const ExportOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(path, {options.permissions}));
  for (const Rope::Piece& piece : content.pieces()) {
    LEMMA_RETURN_IF_ERROR(file.write(bytes_of(piece.text)));
    LEMMA_RETURN_IF_ERROR(file.write(piece.view.bytes));
  }
  LEMMA_RETURN_IF_ERROR(file.finish());
  return file;
}

/// A data file without a name yet.
struct WrittenData {
  OutputFile file;
  std::string digest;
};

Result<WrittenData> write_data(const DataFile& content, const std::filesystem::path& folder,
                               const ExportOptions& options) {
  const auto place = folder / data_file_name("", 0);
  LEMMA_ASSIGN_OR_RETURN(OutputFile file, OutputFile::create(place, {options.permissions}));
  ContentDigest digest;
  for (const DataFile::Entry& entry : content.entries()) {
    const std::vector<std::byte> padding(entry.offset - file.written());
    digest.add(padding);
    LEMMA_RETURN_IF_ERROR(file.write(padding));
    digest.add(entry.bytes.bytes);
    LEMMA_RETURN_IF_ERROR(file.write(entry.bytes.bytes));
  }
  LEMMA_RETURN_IF_ERROR(file.finish());
  return WrittenData{std::move(file), digest.text()};
}

/// Whose own operators may be written.
std::string runtime_of(const OnnxModel& model, const ExportOptions& options) {
  const auto& given = model.envelope.data().runtimes;
  if (options.runtime_operators) return *options.runtime_operators;
  return given.empty() ? std::string() : *given.begin();
}

struct Layout {
  bool has_data = false;      // data goes to a file of its own
  bool all_external = false;  // see TensorWriter
  std::set<std::string, std::less<>>* opaque_outputs = nullptr;
  const std::vector<NodeId>* order = nullptr;  // of operations; null: that of the graph
};

/// The model with its data file under this name.
Result<Rope> laid_out(const OnnxModel& model, DataFile& data, const Layout& layout,
                      const std::string& runtime, const ExportOptions& options) {
  LEMMA_ASSIGN_OR_RETURN(
      Rope content, lay_out(model, {&data, options.external_threshold, layout.all_external, runtime,
                                    layout.opaque_outputs, layout.order}));
  if (content.size() > options.inline_limit)
    return unsupported(
        fmt::format("the model has {} bytes besides its external data", content.size()));
  return content;
}

/// The data has its name before the model that names it, and the model is written before the data has its name: a full
/// disk leaves nothing.
Result<ExportedModel> export_with_data(const OnnxModel& model, const std::filesystem::path& path,
                                       const Layout& layout, const std::string& runtime,
                                       const ExportOptions& options) {
  DataFile unnamed(data_file_name("", 0));
  LEMMA_ASSIGN_OR_RETURN(const Rope first, laid_out(model, unnamed, layout, runtime, options));
  if (unnamed.entries().empty()) {
    LEMMA_ASSIGN_OR_RETURN(OutputFile file, write_model(first, path, options));
    LEMMA_RETURN_IF_ERROR(file.publish());
    return ExportedModel{};
  }
  // The link's own folder would be another one.
  LEMMA_ASSIGN_OR_RETURN(const OutputTarget target, output_target(path));
  if (target.is_stream())
    return unsupported("a model with external data needs a file, not a device or a pipe");
  const auto folder = folder_of(target.path);
  LEMMA_ASSIGN_OR_RETURN(WrittenData data, write_data(unnamed, folder, options));
  std::string name = data_file_name(data.digest, 0);
  for (bool is_published = false;;) {
    DataFile named(name);
    LEMMA_ASSIGN_OR_RETURN(const Rope content, laid_out(model, named, layout, runtime, options));
    LEMMA_ASSIGN_OR_RETURN(OutputFile file, write_model(content, path, options));
    std::string given = name;
    if (!is_published) {
      LEMMA_ASSIGN_OR_RETURN(
          given, publish_data(data.file.path(), folder, data.digest,
                              [&data](const auto& place) { return data.file.publish_new(place); }));
      is_published = true;
    }
    if (given == name) {
      LEMMA_RETURN_IF_ERROR(file.publish());
      return ExportedModel{folder / name, data.digest};
    }
    name = given;  // something else has the first name
  }
}

Result<ExportedModel> export_to(const OnnxModel& original, const std::filesystem::path& path,
                                const ExportOptions& options,
                                std::set<std::string, std::less<>>& opaque_outputs) {
  const std::string runtime = runtime_of(original, options);
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel model, spelled(original, runtime));
  Layout layout;
  layout.opaque_outputs = &opaque_outputs;
  std::vector<NodeId> order;
  if (options.order) {
    LEMMA_ASSIGN_OR_RETURN(order, options.order(model.graph));
    layout.order = &order;
  }
  layout.all_external = options.external_data == ExternalData::always;
  layout.has_data = layout.all_external || (options.external_data == ExternalData::as_imported &&
                                            model.envelope.used_external_data());
  if (!layout.has_data) {
    LEMMA_ASSIGN_OR_RETURN(const Rope content,
                           lay_out(model, {.runtime = runtime,
                                           .opaque_outputs = layout.opaque_outputs,
                                           .order = layout.order}));
    if (content.size() <= options.inline_limit) {
      LEMMA_ASSIGN_OR_RETURN(OutputFile file, write_model(content, path, options));
      LEMMA_RETURN_IF_ERROR(file.publish());
      return ExportedModel{};
    }
    if (options.external_data == ExternalData::never)
      return unsupported(
          fmt::format("{} bytes are too many for a file without external data", content.size()));
    layout.all_external = true;
  }
  return export_with_data(model, path, layout, runtime, options);
}

}  // namespace
}  // namespace frontend

Result<ExportedModel> export_model(const OnnxModel& model, const std::filesystem::path& path,
                                   const ExportOptions& options) {
  std::set<std::string, std::less<>> opaque_outputs;
  auto exported = frontend::export_to(model, path, options, opaque_outputs);
  if (!exported) return with_context(path.string(), std::move(exported.error()));
  exported->opaque_outputs = std::move(opaque_outputs);
  return exported;
}

Result<void> publish_exported(const ExportedModel& exported, const std::filesystem::path& model,
                              const std::filesystem::path& folder) {
  if (exported.data.empty()) return {};
  LEMMA_ASSIGN_OR_RETURN(
      const std::string name,
      frontend::publish_data(exported.data, folder, exported.digest, [&](const auto& place) {
        return rename_new(exported.data, folder / place);
      }));
  flush_folder(folder);
  const std::string old = exported.data.filename().string();
  if (name == old) return {};
  LEMMA_ASSIGN_OR_RETURN(const auto mapped, frontend::FileMapping::open(model));
  LEMMA_ASSIGN_OR_RETURN(const frontend::Rope content,
                         frontend::with_locations(mapped, {{old, name}}));
  LEMMA_ASSIGN_OR_RETURN(OutputFile file, frontend::write_model(content, model, {}));
  return file.publish();
}

Result<std::string> serialize_model(const OnnxModel& model) {
  const std::string runtime = frontend::runtime_of(model, {});
  LEMMA_ASSIGN_OR_RETURN(const OnnxModel written, frontend::spelled(model, runtime));
  LEMMA_ASSIGN_OR_RETURN(const frontend::Rope content,
                         frontend::lay_out(written, {.runtime = runtime}));
  return content.flatten();
}

}  // namespace lemma
