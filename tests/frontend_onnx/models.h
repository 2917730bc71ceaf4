#pragma once
// What the tests of the front end share: models written in ONNX's textual form.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "frontend_onnx/export.h"
#include "frontend_onnx/import.h"
#include "frontend_onnx/messages.h"

namespace lemma::frontend {

/// Parses the text; a mistake in it fails the test.
::onnx::ModelProto parse_text(const std::string& text);

Result<OnnxModel> import_bytes(const std::string& bytes, const ImportOptions& options = {},
                               const std::filesystem::path& folder = {});
Result<OnnxModel> import_message(const ::onnx::ModelProto& model,
                                 const ImportOptions& options = {});
Result<OnnxModel> import_text(const std::string& text, const ImportOptions& options = {});

/// The file that export makes, parsed; fails the test if there is none.
::onnx::ModelProto exported(const OnnxModel& model);
::onnx::ModelProto round_trip(const std::string& text, const ImportOptions& options = {});

/// One line a node, in order: "y, z = Split(x)".
std::vector<std::string> lines_of(const ::onnx::ModelProto& model);
/// The live nodes of a graph: "MatMul", "opaque If", "constant", "input".
std::vector<std::string> kinds_of(const Graph& graph);
/// Message of the error; "" if there is none.
template <typename T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

/// A folder that is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The external data files of a folder that Lemma has named.
std::vector<std::filesystem::path> data_files(const std::filesystem::path& folder);

void write_file(const std::filesystem::path& path, const std::string& bytes);
std::string read_file(const std::filesystem::path& path);

}  // namespace lemma::frontend
