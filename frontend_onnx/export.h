#pragma once
// ONNX files out: same inputs, outputs, operator set and names as the model that came in. The same
// model always gives the same bytes.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend_onnx/model.h"

namespace lemma {

/// Whether tensors stand in a data file beside the model.
enum class ExternalData : std::uint8_t {
  as_imported,  // if the original used it, or the file would exceed `inline_limit`
  never,
  always,
};

/// How a model is written.
struct ExportOptions {
  /// For tensors of `external_threshold` bytes and more.
  ExternalData external_data = ExternalData::as_imported;
  /// Tensors of at least this many bytes go to the external data file, if there is one.
  std::size_t external_threshold = 1024;
  /// Protobuf readers refuse messages from 2 GiB on; some room is left below.
  std::uint64_t inline_limit = 0x7fff0000;
  /// The runtime whose own operators may be written ("onnxruntime"), or an empty name: they are spelled in standard
  /// operators then, as the runtime recognises them. Nothing: that of the file that came in, if it has such operators.
  std::optional<std::string> runtime_operators = std::nullopt;
  /// The permissions of the files. Nothing: those of a file that is replaced, else what the umask
  /// leaves.
  std::optional<std::filesystem::perms> permissions = std::nullopt;
  /// The order in which operations are written, of the graph as the file has it. A node may come several times: it is
  /// written again then, and what is written after it reads the new values. None: that of the graph.
  std::function<Result<std::vector<NodeId>>(const Graph&)> order = {};
};

/// What was written beside the model.
struct ExportedModel {
  std::filesystem::path data;  // the external data file; empty: none
  std::string digest;          // of its contents, which it is named by
  /// Of nodes that were opaque in the graph: names of their first outputs in the file. When the file is read, more may be
  /// known of their types (ImportOptions::opaque_outputs).
  std::set<std::string, std::less<>> opaque_outputs = {};
};

/// Writes `path`, and beside it a data file where external data is used, which is named by its contents
/// (external_data.h) and is there first. Each file appears complete or not at all; weights go from their mapping to the
/// file without being held in memory.
Result<ExportedModel> export_model(const OnnxModel& model, const std::filesystem::path& path,
                                   const ExportOptions& options = {});

/// Moves the data file of an exported model to another folder of the file system, without replacing anything there. Where
/// something else has its name, it gets another one, and the model's file names that.
Result<void> publish_exported(const ExportedModel& exported, const std::filesystem::path& model,
                              const std::filesystem::path& folder);

/// The bytes of the file, without external data.
Result<std::string> serialize_model(const OnnxModel& model);

}  // namespace lemma
