#include "tests/frontend_onnx/models.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include "ir/check.h"

namespace lemma::frontend {

::onnx::ModelProto parse_text(const std::string& text) {
  ::onnx::ModelProto model;
  const auto status = ::onnx::OnnxParser::Parse(model, text.c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model;
}

Result<OnnxModel> import_bytes(const std::string& bytes, const ImportOptions& options,
                               const std::filesystem::path& folder) {
  auto copy = std::make_shared<std::string>(bytes);
  const auto view = std::as_bytes(std::span(*copy));
  auto model = import_model(std::move(copy), view, folder, options);
  if (model) {
    const auto well_formed = check(model->graph, Stage::imported);
    EXPECT_TRUE(well_formed) << well_formed.error().message;
  }
  return model;
}

Result<OnnxModel> import_message(const ::onnx::ModelProto& model, const ImportOptions& options) {
  return import_bytes(model.SerializeAsString(), options);
}

Result<OnnxModel> import_text(const std::string& text, const ImportOptions& options) {
  return import_message(parse_text(text), options);
}

::onnx::ModelProto exported(const OnnxModel& model) {
  const auto bytes = serialize_model(model);
  EXPECT_TRUE(bytes) << (bytes ? "" : bytes.error().message);
  ::onnx::ModelProto message;
  EXPECT_TRUE(bytes && message.ParseFromString(*bytes));
  return message;
}

::onnx::ModelProto round_trip(const std::string& text, const ImportOptions& options) {
  const auto model = import_text(text, options);
  EXPECT_TRUE(model) << error_of(model);
  return model ? exported(*model) : ::onnx::ModelProto();
}

namespace {

template <typename Names>
std::string join(const Names& names) {
  std::string out;
  for (const auto& name : names) out += (&name == &*names.begin() ? "" : ", ") + name;
  return out;
}

}  // namespace

std::vector<std::string> lines_of(const ::onnx::ModelProto& model) {
  std::vector<std::string> lines;
  for (const auto& node : model.graph().node())
    lines.push_back(join(node.output()) + " = " + node.op_type() + "(" + join(node.input()) + ")");
  return lines;
}

std::vector<std::string> kinds_of(const Graph& graph) {
  std::vector<std::string> kinds;
  for (const NodeId id : graph.live_nodes()) {
    const Node& node = graph.node(id);
    switch (node.kind) {
      case NodeKind::input: kinds.emplace_back("input"); break;
      case NodeKind::constant: kinds.emplace_back("constant"); break;
      case NodeKind::operation: kinds.emplace_back(graph.op(node).name); break;
      case NodeKind::opaque: kinds.push_back("opaque " + graph.opaque(node).name); break;
    }
  }
  return kinds;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "lemma-test-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::filesystem::path> data_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("weights-")) found.push_back(entry.path());
  return found;
}

void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string read_file(const std::filesystem::path& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

}  // namespace lemma::frontend
