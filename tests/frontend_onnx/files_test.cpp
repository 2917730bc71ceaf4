// Files: external data, sizes beyond what protobuf reads, atomic writing, very deep models.

#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/copy.h"
#include "frontend_onnx/rope.h"
#include "tests/frontend_onnx/models.h"

namespace lemma::frontend {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t weight_size = 4096;

void set_entry(::onnx::TensorProto& tensor, const std::string& key, const std::string& value) {
  for (auto& entry : *tensor.mutable_external_data())
    if (entry.key() == key) return entry.set_value(value);
  auto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

/// x[N, 32] · w[32, 32], with w at byte 64 of the file.
::onnx::ModelProto external_model(const std::string& location) {
  auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[N, 32] x) => (float[N, 32] y) { y = MatMul(x, w) })");
  auto& tensor = *message.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(1);
  tensor.add_dims(32);
  tensor.add_dims(32);
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  set_entry(tensor, "location", location);
  set_entry(tensor, "offset", "64");
  set_entry(tensor, "length", std::to_string(weight_size));
  return message;
}

std::string weights() {
  std::string bytes(64 + weight_size, '\0');
  for (std::size_t i = 64; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31 % 61);
  return bytes;
}

class ExternalFiles : public ::testing::Test {
 protected:
  ExternalFiles() {
    std::filesystem::create_directories(folder_ / "models");
    write_file(folder_ / "models/weights.bin", weights());
  }
  Result<OnnxModel> import(const ::onnx::ModelProto& message, const ImportOptions& options = {}) {
    write_file(folder_ / "models/model.onnx", message.SerializeAsString());
    return import_model(folder_ / "models/model.onnx", options);
  }
  TemporaryFolder folder_;
};

TEST_F(ExternalFiles, AreMappedAndWrittenAgain) {
  const auto model = import(external_model("weights.bin"));
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_TRUE(model->envelope.used_external_data());
  std::filesystem::create_directories(folder_ / "out");
  const auto exported = export_model(*model, folder_ / "out/copy.onnx");
  ASSERT_TRUE(exported) << error_of(exported);
  EXPECT_EQ(exported->data.filename(), "weights-" + exported->digest + ".data");
  EXPECT_EQ(read_file(exported->data), weights().substr(64));
  const auto again = import_model(folder_ / "out/copy.onnx");
  ASSERT_TRUE(again) << error_of(again);
  for (const Node& node : again->graph.nodes())
    if (node.kind == NodeKind::constant) {
      EXPECT_EQ(std::memcmp(again->graph.constant(node).bytes().data(), weights().data() + 64,
                            weight_size),
                0);
    }
}

TEST_F(ExternalFiles, MayBePutIntoTheModel) {
  const auto model = import(external_model("weights.bin"));
  ASSERT_TRUE(model) << error_of(model);
  ExportOptions options;
  options.external_data = ExternalData::never;
  ASSERT_TRUE(export_model(*model, folder_ / "one.onnx", options));
  EXPECT_EQ(data_files(folder_.path()).size(), 0U);
  const auto again = import_model(folder_ / "one.onnx");
  ASSERT_TRUE(again) << error_of(again);
  EXPECT_FALSE(again->envelope.used_external_data());
}

TEST_F(ExternalFiles, OfAnotherModelAreNeverReplaced) {
  // Written over itself, a model gets another data file: whoever has read the old model finds the old data.
  const auto model = import(external_model("weights.bin"));
  ASSERT_TRUE(model) << error_of(model);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(export_model(*model, folder_ / "models/model.onnx"));
  EXPECT_EQ(read_file(folder_ / "models/weights.bin"), weights());
  ASSERT_EQ(data_files(folder_ / "models").size(), 1U);  // the second one is the same
  // What has the name already and is something else stays.
  const auto named = data_files(folder_ / "models").front();
  std::filesystem::create_directories(folder_ / "out");
  write_file(folder_ / "out" / named.filename(), "of another program");
  const auto exported = export_model(*model, folder_ / "out/model.onnx");
  ASSERT_TRUE(exported) << error_of(exported);
  EXPECT_EQ(read_file(folder_ / "out" / named.filename()), "of another program");
  EXPECT_EQ(exported->data.filename(), "weights-" + exported->digest + "-1.data");
  const auto again = import_model(folder_ / "out/model.onnx");
  EXPECT_TRUE(again) << error_of(again);
}

TEST_F(ExternalFiles, AreCopiedUnderNamesOfTheirContents) {
  const auto model = import(external_model("weights.bin"));
  ASSERT_TRUE(model) << error_of(model);
  std::filesystem::create_directories(folder_ / "out");
  write_file(folder_ / "out/weights.bin", "of another model");
  for (const char* name : {"out/a.onnx", "out/b.onnx"})
    ASSERT_TRUE(copy_model(folder_ / "models/model.onnx", folder_ / name));
  EXPECT_EQ(read_file(folder_ / "out/weights.bin"), "of another model");
  ASSERT_EQ(data_files(folder_ / "out").size(), 1U);  // both models have the same weights
  EXPECT_EQ(read_file(data_files(folder_ / "out").front()), weights());
  EXPECT_EQ(read_file(folder_ / "out/a.onnx"), read_file(folder_ / "out/b.onnx"));
  const auto again = import_model(folder_ / "out/a.onnx");
  ASSERT_TRUE(again) << error_of(again);
  // In the same folder the copy is the same file.
  ASSERT_TRUE(copy_model(folder_ / "models/model.onnx", folder_ / "models/other.onnx"));
  EXPECT_EQ(read_file(folder_ / "models/model.onnx"), read_file(folder_ / "models/other.onnx"));
}

// Who records what was written must not read what another process has put there since.
TEST_F(ExternalFiles, AreCompleteBeforeTheModelHasItsName) {
  ASSERT_TRUE(import(external_model("weights.bin")));
  std::filesystem::create_directories(folder_ / "out");
  for (const std::string target : {"out/a.onnx", "models/b.onnx"}) {
    write_file(folder_ / target, "of another process");
    std::string complete;
    const auto copied = copy_model(
        folder_ / "models/model.onnx", folder_ / target,
        [&](const std::filesystem::path& model, const std::filesystem::path& data_folder) {
          EXPECT_EQ(read_file(folder_ / target), "of another process");
          complete = read_file(model);
          const auto locations = external_locations(model);
          ASSERT_TRUE(locations) << error_of(locations);
          for (const std::string& location : *locations)
            EXPECT_EQ(read_file(data_folder / location), weights());
        });
    ASSERT_TRUE(copied) << error_of(copied);
    EXPECT_EQ(read_file(folder_ / target), complete);
  }
}

TEST_F(ExternalFiles, KeepWhatTheModelsFilesKeepFromOthers) {
  using std::filesystem::perms;
  ASSERT_TRUE(import(external_model("weights.bin")));
  const auto all = perms::owner_read | perms::owner_write | perms::group_read | perms::others_read;
  std::filesystem::permissions(folder_ / "models/model.onnx", all);
  std::filesystem::permissions(folder_ / "models/weights.bin", perms::owner_read);
  std::filesystem::create_directories(folder_ / "out");
  ASSERT_TRUE(copy_model(folder_ / "models/model.onnx", folder_ / "out/a.onnx"));
  const auto of = [](const std::filesystem::path& file) {
    return std::filesystem::status(file).permissions();
  };
  EXPECT_EQ(of(folder_ / "out/a.onnx"), perms::owner_read | perms::owner_write);
  EXPECT_EQ(of(data_files(folder_ / "out").front()), perms::owner_read | perms::owner_write);
}

TEST_F(ExternalFiles, InSubgraphsMoveAlong) {
  auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[32, 32] x, bool c) => (float[32, 32] y) {
      y = If (c) <then_branch = a () => (float[32, 32] p) { p = Add(x, w) },
                  else_branch = b () => (float[32, 32] q) { q = Neg(x) }>
    })");
  *message.mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->add_initializer() =
      external_model("weights.bin").graph().initializer(0);
  const auto model = import(message);
  ASSERT_TRUE(model) << error_of(model);
  std::filesystem::create_directories(folder_ / "out");
  const auto written = export_model(*model, folder_ / "out/copy.onnx");
  ASSERT_TRUE(written) << error_of(written);
  EXPECT_EQ(read_file(written->data), weights().substr(64));
  std::filesystem::remove_all(folder_ / "models");
  EXPECT_TRUE(import_model(folder_ / "out/copy.onnx"));
  EXPECT_EQ(exported(*model).graph().node(0).attribute(0).g().initializer(0).raw_data(),
            weights().substr(64));
}

TEST_F(ExternalFiles, BadReferencesAreRefused) {
  auto with = [this](const std::string& key, const std::string& value) {
    auto message = external_model("weights.bin");
    set_entry(*message.mutable_graph()->mutable_initializer(0), key, value);
    const auto model = import(message);
    EXPECT_TRUE(model || model.error().kind == ErrorKind::bad_input);
    return error_of(model);
  };
  write_file(folder_ / "outside.bin", weights());
  std::filesystem::create_symlink("../outside.bin", folder_ / "models/link.bin");
  std::filesystem::create_symlink("..", folder_ / "models/up");
  std::filesystem::create_symlink("weights.bin", folder_ / "models/inside.bin");
  EXPECT_EQ(with("offset", "0"), "");
  EXPECT_EQ(with("location", "./weights.bin"), "");
  EXPECT_EQ(with("location", "inside.bin"), "");
  EXPECT_THAT(with("location", "missing.bin"), HasSubstr("'missing.bin'"));
  EXPECT_THAT(with("location", "../outside.bin"), HasSubstr("leaves the folder"));
  EXPECT_THAT(with("location", "a/../../outside.bin"), HasSubstr("leaves the folder"));
  EXPECT_THAT(with("location", (folder_ / "models/weights.bin").string()), HasSubstr("relative"));
  EXPECT_THAT(with("location", ""), HasSubstr("relative"));
  EXPECT_THAT(with("location", "link.bin"), HasSubstr("symbolic link"));
  EXPECT_THAT(with("location", "up/outside.bin"), HasSubstr("symbolic link"));
  EXPECT_THAT(with("location", "."), HasSubstr("not a regular file"));
  EXPECT_THAT(with("offset", "65"), HasSubstr("4096 bytes at 65 are wanted"));
  EXPECT_THAT(with("offset", "18446744073709551615"), HasSubstr("are wanted"));
  EXPECT_THAT(with("offset", "-1"), HasSubstr("not a number"));
  EXPECT_THAT(with("length", "4095"), HasSubstr("needs 4096 bytes of data, but 4095 are there"));
  EXPECT_THAT(with("length", "many"), HasSubstr("not a number"));
}

TEST_F(ExternalFiles, AreNotOpenedWithoutPermission) {
  ImportOptions options;
  options.allow_external_data = false;
  EXPECT_THAT(error_of(import(external_model("weights.bin"), options)), HasSubstr("not allowed"));
  EXPECT_THAT(error_of(import_message(external_model("weights.bin"))), HasSubstr("not allowed"));
}

TEST_F(ExternalFiles, LengthMayBeLeftOut) {
  auto message = external_model("weights.bin");
  message.mutable_graph()->mutable_initializer(0)->mutable_external_data()->RemoveLast();
  const auto model = import(message);
  EXPECT_TRUE(model) << error_of(model);
}

TEST(Files, AreExternalBeyondTheLimit) {
  const TemporaryFolder folder;
  auto message = external_model("");
  auto& tensor = *message.mutable_graph()->mutable_initializer(0);
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(weights().substr(64));
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  ExportOptions options;
  options.inline_limit = 4000;
  const auto written = export_model(*model, folder / "model.onnx", options);
  ASSERT_TRUE(written) << error_of(written);
  EXPECT_EQ(read_file(written->data), weights().substr(64));
  options.external_data = ExternalData::never;
  EXPECT_FALSE(export_model(*model, folder / "model.onnx", options));
}

TEST(Files, NothingIsLeftOfAFailedExport) {
  const TemporaryFolder folder;
  const auto model =
      import_message(parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[2] x) => (float[2] y) { y = Relu(x) })"));
  ASSERT_TRUE(model);
  std::filesystem::create_directories(folder / "target.onnx");  // cannot be replaced by a file
  const auto written = export_model(*model, folder / "target.onnx");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr("target.onnx"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_FALSE(export_model(*model, folder / "nowhere/model.onnx"));
}

TEST(Files, BeyondTwoGibibytesAreImported) {
  // A hole in the file stands for the weights: 3 GiB of zeros that take no room.
  constexpr std::uint64_t rows = 3U << 18;
  constexpr std::uint64_t size = rows * 4096;
  const TemporaryFolder folder;
  auto message = parse_text(R"(<ir_version: 8, opset_import: ["" : 13, "custom" : 1]>
    g (float[N, 786432] x) => (float[N, 1024] y) { y = MatMul(x, w) })");
  Rope before_data;  // the tensor up to the content of raw_data
  before_data.append_varint_field(1, rows);
  before_data.append_varint_field(1, 1024);
  before_data.append_varint_field(2, 1);
  before_data.append_bytes_field(8, "w");
  before_data.append_varint(9 << 3 | 2);
  before_data.append_varint(size);
  const std::string graph = message.graph().SerializeAsString();
  message.clear_graph();
  Rope file;
  file.append(message.SerializeAsString());
  Rope initializer_start;
  initializer_start.append_varint(5 << 3 | 2);
  initializer_start.append_varint(before_data.size() + size);
  file.append_varint(7 << 3 | 2);
  file.append_varint(graph.size() + initializer_start.size() + before_data.size() + size);
  file.append(graph);
  file.append(std::move(initializer_start));
  file.append(std::move(before_data));
  const std::string head = file.flatten();
  write_file(folder / "large.onnx", head);
  std::error_code error;
  std::filesystem::resize_file(folder / "large.onnx", head.size() + size, error);
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();

  const auto model = import_model(folder / "large.onnx");
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_THAT(kinds_of(model->graph), ::testing::ElementsAre("input", "constant", "MatMul"));
  for (const Node& node : model->graph.nodes())
    if (node.kind == NodeKind::constant) {
      EXPECT_EQ(model->graph.constant(node).bytes().size(), size);
    }
}

TEST(Files, ChainOfAHundredThousandNodes) {
  constexpr int length = 100'000;
  ::onnx::ModelProto message;
  message.set_ir_version(8);
  message.add_opset_import()->set_version(13);
  auto& graph = *message.mutable_graph();
  graph.set_name("chain");
  auto declare = [](::onnx::ValueInfoProto& value, const std::string& name) {
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(1);
    tensor.mutable_shape()->add_dim()->set_dim_value(2);
  };
  declare(*graph.add_input(), "v0");
  declare(*graph.add_output(), "v" + std::to_string(length));
  for (int i = length; i-- > 0;) {  // last first: the order has to be found
    auto& node = *graph.add_node();
    node.set_op_type(i % 3 == 0 ? "Tanh" : i % 3 == 1 ? "Neg" : "Unheard");
    node.add_input("v" + std::to_string(i));
    node.add_output("v" + std::to_string(i + 1));
  }
  const auto model = import_message(message);
  ASSERT_TRUE(model) << error_of(model);
  const auto out = exported(*model);
  ASSERT_EQ(out.graph().node_size(), length);
  for (int i = 0; i < length; i += 997)
    ASSERT_EQ(out.graph().node(i).input(0), "v" + std::to_string(i));
  // The same with the ends joined.
  graph.mutable_node(length - 1)->set_input(0, "v" + std::to_string(length));
  EXPECT_THAT(error_of(import_message(message)), HasSubstr("cycle"));
}

}  // namespace
}  // namespace lemma::frontend
