#include "profiler/runtime_graph.h"

#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "frontend_onnx/copy.h"
#include "outputs/files.h"

namespace lemma {

namespace {

using Json = nlohmann::json;
using interpreter::NamedTensor;
using interpreter::Tensor;
namespace fs = std::filesystem;

/// Weights below this are in a cache whatever else the model does.
constexpr double small_weight_elements = 4096;

Result<onnx::ModelProto> read_model(const fs::path& file) {
  onnx::ModelProto model;
  std::ifstream stream(file, std::ios::binary);
  if (!model.ParseFromIstream(&stream)) return bad_input(file.string() + ": cannot be read");
  return model;
}

Result<void> write_model(const onnx::ModelProto& model, const fs::path& file) {
  std::string bytes;
  if (!model.SerializeToString(&bytes)) return bad_input(file.string() + ": is too large");
  return write_file_atomically(file, bytes);
}

/// Every value that a node gives becomes an output, so that a run tells its sizes. Old models declare their
/// initializers as inputs too; what ONNX Runtime has folded of them would be asked for.
void make_all_outputs(onnx::ModelProto& model, const std::vector<NamedTensor>& inputs) {
  onnx::GraphProto& graph = *model.mutable_graph();
  std::set<std::string> given;
  for (const NamedTensor& input : inputs) given.insert(input.name);
  for (const onnx::TensorProto& tensor : graph.initializer()) given.insert(tensor.name());
  for (int i = graph.input_size() - 1; i >= 0; --i)
    if (!given.contains(graph.input(i).name())) graph.mutable_input()->DeleteSubrange(i, 1);
  graph.clear_output();
  for (const onnx::NodeProto& node : graph.node())
    for (const std::string& output : node.output())
      if (!output.empty()) graph.add_output()->set_name(output);
}

/// What is known of the values of a graph.
class Values {
 public:
  Values(const onnx::GraphProto& graph, const std::vector<NamedTensor>& inputs, const Json& told) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      RuntimeTensor value{static_cast<DataType>(tensor.data_type()),
                          {tensor.dims().begin(), tensor.dims().end()},
                          true,
                          tensor.SerializeAsString(),
                          {}};
      parameter_bytes_ += value.elements() * bits(value.type) / 8;
      values_.emplace(tensor.name(), std::move(value));
    }
    for (const auto& [name, tensor] : inputs) {
      RuntimeTensor value{tensor.data_type(), tensor.sizes(), false, "", {}};
      if (!is_real(value.type) && value.elements() <= 4096) value.integers = tensor.integers();
      values_.emplace(name, std::move(value));
    }
    for (const auto& [name, entry] : told.items()) {
      const auto type = type_of_numpy(entry.at("type").get<std::string>());
      if (!type) continue;
      RuntimeTensor value{*type, entry.at("shape").get<std::vector<std::int64_t>>(), false, "", {}};
      if (entry.at("integers").is_array())
        value.integers = entry.at("integers").get<std::vector<std::int64_t>>();
      values_.emplace(name, std::move(value));
    }
  }

  const RuntimeTensor* find(const std::string& name) const {
    static const RuntimeTensor left_out;
    if (name.empty()) return &left_out;
    const auto entry = values_.find(name);
    return entry == values_.end() ? nullptr : &entry->second;
  }
  double parameter_bytes() const { return parameter_bytes_; }

 private:
  static bool is_real(DataType type) {
    return type == DataType::f32 || type == DataType::f64 || type == DataType::f16;
  }
  std::map<std::string, RuntimeTensor> values_;
  double parameter_bytes_ = 0;
};

std::string text_of(const RuntimeTensor& tensor) {
  if (tensor.type == DataType::undefined) return "_";
  std::string text = fmt::format("{}{}[{}]", tensor.constant ? "constant " : "", name(tensor.type),
                                 fmt::join(tensor.sizes, ", "));
  // Sizes and positions that are known when the model is loaded say what is computed.
  if (tensor.constant && tensor.type == DataType::i64 && tensor.elements() <= 16) {
    onnx::TensorProto proto;
    if (!proto.ParseFromString(tensor.initializer)) return text;
    std::vector<std::int64_t> elements(proto.int64_data().begin(), proto.int64_data().end());
    if (elements.empty()) {
      elements.resize(proto.raw_data().size() / sizeof(std::int64_t));
      std::copy_n(proto.raw_data().data(), elements.size() * sizeof(std::int64_t),
                  reinterpret_cast<char*>(elements.data()));  // NOLINT: bytes as they are
    }
    text += fmt::format("={}", fmt::join(elements, ":"));
  }
  return text;
}

std::string text_of(const onnx::AttributeProto& attribute) {
  std::string value;
  switch (attribute.type()) {
    case onnx::AttributeProto::INT: value = fmt::format("{}", attribute.i()); break;
    case onnx::AttributeProto::FLOAT: value = fmt::format("{}", attribute.f()); break;
    case onnx::AttributeProto::STRING: value = attribute.s(); break;
    case onnx::AttributeProto::INTS:
      value = fmt::format("{}", fmt::join(attribute.ints(), ":"));
      break;
    case onnx::AttributeProto::FLOATS:
      value = fmt::format("{}", fmt::join(attribute.floats(), ":"));
      break;
    default: value = "..."; break;
  }
  return attribute.name() + "=" + value;
}

std::string text_of(const RuntimeNode& node, const onnx::NodeProto& proto) {
  std::vector<std::string> attributes, inputs, outputs;
  for (const onnx::AttributeProto& attribute : proto.attribute())
    attributes.push_back(text_of(attribute));
  std::sort(attributes.begin(), attributes.end());
  for (const RuntimeTensor& tensor : node.inputs) inputs.push_back(text_of(tensor));
  for (const RuntimeTensor& tensor : node.outputs) outputs.push_back(text_of(tensor));
  return fmt::format("{}{{{}}} {} -> {}{}", node.kind, fmt::join(attributes, ", "),
                     fmt::join(inputs, ", "), fmt::join(outputs, ", "), place_text(node.weights));
}

/// Nothing if a tensor is not known, or the node holds graphs.
std::optional<RuntimeNode> node_of(const onnx::NodeProto& proto, const Values& values,
                                   WeightPlace weights) {
  RuntimeNode node;
  node.kind = (proto.domain().empty() ? "" : proto.domain() + ":") + proto.op_type();
  node.proto = proto.SerializeAsString();
  for (const onnx::AttributeProto& attribute : proto.attribute())
    if (attribute.has_g() || attribute.graphs_size() > 0) return std::nullopt;
  for (const std::string& name : proto.input()) {
    const RuntimeTensor* tensor = values.find(name);
    if (tensor == nullptr) return std::nullopt;
    node.inputs.push_back(*tensor);
    if (!is_weight(*tensor)) continue;
    node.weights = weights;
    node.weight_bytes += tensor->elements() * bits(tensor->type) / 8;
  }
  for (const std::string& name : proto.output()) {
    const RuntimeTensor* tensor = values.find(name);
    if (tensor == nullptr) return std::nullopt;
    node.outputs.push_back(*tensor);
  }
  measure_size(node);
  node.key = text_of(node, proto);
  return node;
}

/// ONNX Runtime keeps weights of the same contents once.
void make_distinct(onnx::TensorProto& tensor, int copy) {
  if (!tensor.raw_data().empty())
    tensor.mutable_raw_data()->front() ^= static_cast<char>(copy);  // the low bits of an element
  else if (tensor.float_data_size() > 0)
    tensor.set_float_data(0, tensor.float_data(0) * (1 + 1e-6F * static_cast<float>(copy)));
  else if (tensor.int32_data_size() > 0)  // of 16 bits or less
    tensor.set_int32_data(0, tensor.int32_data(0) ^ copy);
}

void declare(onnx::ValueInfoProto& value, const std::string& name, const RuntimeTensor& tensor) {
  value.set_name(name);
  auto* type = value.mutable_type()->mutable_tensor_type();
  type->set_elem_type(static_cast<int>(tensor.type));
  for (const std::int64_t size : tensor.sizes)
    type->mutable_shape()->add_dim()->set_dim_value(size);
}

/// The operator sets that ONNX Runtime writes to what it saves.
void import_operator_sets(const onnx::ModelProto& from, onnx::ModelProto& to) {
  *to.mutable_opset_import() = from.opset_import();
  to.set_ir_version(from.ir_version());
}

}  // namespace

std::string place_text(WeightPlace place) {
  return place.is_near() ? "" : fmt::format(", weights among {} MB", place.among_bytes >> 20U);
}

NodeFamily family_of(std::string_view kind) {
  if (kind.find("Conv") != std::string_view::npos) return NodeFamily::convolution;
  if (kind.find("MatMul") != std::string_view::npos || kind.find("Gemm") != std::string_view::npos)
    return NodeFamily::product;
  return NodeFamily::other;
}

namespace {

/// Multiplications for an element of the result (of the operand, where that is what is spread out).
double of_one_element(const RuntimeTensor& weights) {
  return weights.elements() / std::max(1.0, static_cast<double>(weights.sizes.front()));
}

double multiplications(const RuntimeNode& node) {
  const bool quantized = node.kind.find("QLinear") != std::string::npos;
  const std::size_t second = quantized ? 3 : 1;
  if (node.inputs.size() <= second || node.outputs.empty()) return 0;
  const RuntimeTensor &left = node.inputs[0], &right = node.inputs[second];
  if (family_of(node.kind) == NodeFamily::product)  // m k * k n * m n
    return std::sqrt(left.elements() * right.elements() * node.outputs[0].elements());
  if (right.sizes.empty()) return 0;
  const bool spreads = node.kind.find("ConvTranspose") != std::string::npos;
  return (spreads ? left : node.outputs[0]).elements() * of_one_element(right);
}

}  // namespace

void measure_size(RuntimeNode& node) {
  node.elements = 0;
  for (const auto* tensors : {&node.inputs, &node.outputs})
    for (const RuntimeTensor& tensor : *tensors) node.elements += tensor.elements();
  node.work = family_of(node.kind) == NodeFamily::other ? 0 : multiplications(node);
  if (node.work == 0) node.work = node.elements;
}

bool is_weight(const RuntimeTensor& tensor) {
  return tensor.constant && tensor.elements() >= small_weight_elements;
}

Tensor contents_for(const RuntimeTensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.elements());
  if (tensor.integers.size() == count && count > 0)
    return Tensor::from_integers(tensor.type, tensor.sizes, tensor.integers);
  if (!is_real(tensor.type))
    return Tensor::from_integers(tensor.type, tensor.sizes, std::vector<std::int64_t>(count, 0));
  std::vector<double> elements(count);
  std::uint32_t state = 1;
  for (double& element : elements) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes
    element = 0.5 + static_cast<double>(state >> 8U) / (1U << 24U);
  }
  return Tensor::from_reals(tensor.type, tensor.sizes, elements);
}

WeightPlace weight_place(double weight_bytes, double second_cache_bytes) {
  if (weight_bytes <= second_cache_bytes) return {};
  return {
      std::bit_ceil(std::max<std::uint64_t>(1U << 20U, static_cast<std::uint64_t>(weight_bytes)))};
}

double second_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? static_cast<double>(bytes) : 1e6;
}

double RuntimeTensor::elements() const {
  if (type == DataType::undefined) return 0;
  double count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<double>(size);
  return count;
}

namespace {

/// The external data of a model in a folder of scratch: what ONNX Runtime saves there names it as the model does. It follows
/// no symbolic link that leads out of the folder.
class ExternalDataLinks {
 public:
  ExternalDataLinks(const fs::path& model, const fs::path& folder) {
    const auto locations = external_locations(model);
    if (!locations) return;
    for (const std::string& location : *locations) {
      const fs::path link = folder / location;
      const fs::path inside = link.lexically_normal().lexically_relative(folder.lexically_normal());
      if (inside.empty() || *inside.begin() == "..") continue;
      std::error_code ignored;
      fs::create_directories(link.parent_path(), ignored);
      std::error_code error;
      fs::create_hard_link(fs::canonical(folder_of(model) / location, ignored), link, error);
      if (error) fs::copy_file(folder_of(model) / location, link, ignored);  // another file system
      links_.push_back(link);
    }
  }
  ExternalDataLinks(const ExternalDataLinks&) = delete;
  ExternalDataLinks& operator=(const ExternalDataLinks&) = delete;
  ~ExternalDataLinks() {
    std::error_code ignored;
    for (const fs::path& link : links_) fs::remove(link, ignored);
  }

 private:
  std::vector<fs::path> links_;
};

}  // namespace

Result<RuntimeGraph> runtime_graph(OnnxRuntimeWorker& worker, const RuntimeGraphRequest& request) {
  const fs::path saved = request.scratch_folder / "saved.onnx";
  const fs::path data = request.scratch_folder / "runtime_graph_inputs";
  LEMMA_ASSIGN_OR_RETURN(const Json answer,
                         worker.ask({{"action", "save"},
                                     {"model", fs::absolute(request.model).string()},
                                     {"to", saved.string()},
                                     {"threads", request.threads}},
                                    request.time_limit_seconds));
  if (const std::string failure = answer.value("message", ""); !failure.empty())
    return bad_input(failure);
  LEMMA_ASSIGN_OR_RETURN(const onnx::ModelProto model, read_model(saved));
  const ExternalDataLinks links(request.model, request.scratch_folder);
  onnx::ModelProto all_outputs = model;
  make_all_outputs(all_outputs, request.inputs);
  LEMMA_RETURN_IF_ERROR(write_model(all_outputs, saved));
  LEMMA_ASSIGN_OR_RETURN(const Json sets, write_inputs({request.inputs}, data));
  LEMMA_ASSIGN_OR_RETURN(const Json ran, worker.ask({{"action", "values"},
                                                     {"model", saved.string()},
                                                     {"data", data.string()},
                                                     {"sets", sets},
                                                     {"threads", request.threads}},
                                                    request.time_limit_seconds));
  std::error_code ignored;
  fs::remove(saved, ignored);
  fs::remove(data, ignored);
  RuntimeGraph result;
  try {
    if (const std::string failure = ran.at("message"); !failure.empty()) return bad_input(failure);
    const Values values(model.graph(), request.inputs, ran.at("values"));
    const WeightPlace place =
        request.weights.value_or(weight_place(values.parameter_bytes(), second_cache_bytes()));
    onnx::ModelProto frame;  // what each node needs beside itself
    import_operator_sets(model, frame);
    for (const onnx::NodeProto& proto : model.graph().node()) {
      auto node = node_of(proto, values, place);
      if (!node) {
        ++result.unpriced;
        continue;
      }
      node->frame = frame.SerializeAsString();
      result.nodes.push_back(std::move(*node));
    }
  } catch (const Json::exception& error) {
    return bad_input(std::string("the answer of ONNX Runtime is malformed: ") + error.what());
  }
  return result;
}

Result<Benchmark> benchmark_of(const RuntimeNode& node, int copies) {
  onnx::ModelProto model;
  onnx::NodeProto proto;
  if (!model.ParseFromString(node.frame) || !proto.ParseFromString(node.proto))
    return internal_error("a node of ONNX Runtime cannot be read back");
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("benchmark");
  Benchmark result;
  for (int copy = 0; copy < copies; ++copy) {
    onnx::NodeProto& added = *graph.add_node();
    added = proto;
    added.set_name(fmt::format("copy_{}", copy));
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const RuntimeTensor& tensor = node.inputs[i];
      if (tensor.type == DataType::undefined) continue;
      const bool own = !node.weights.is_near() && is_weight(tensor);
      const std::string name = own ? fmt::format("in_{}_{}", i, copy) : fmt::format("in_{}", i);
      added.set_input(static_cast<int>(i), name);
      if (copy > 0 && !own) continue;
      if (!tensor.constant) {
        declare(*graph.add_input(), name, tensor);
        result.inputs.push_back({name, contents_for(tensor)});
        continue;
      }
      onnx::TensorProto& initializer = *graph.add_initializer();
      if (!initializer.ParseFromString(tensor.initializer))
        return internal_error("a constant of ONNX Runtime cannot be read back");
      initializer.set_name(name);
      if (own) make_distinct(initializer, copy);
    }
    for (int i = 0; i < added.output_size(); ++i) {
      if (added.output(i).empty()) continue;
      const std::string name = fmt::format("out_{}_{}", i, copy);
      added.set_output(i, name);
      if (copy == 0) graph.add_output()->set_name(name);
    }
  }
  if (!model.SerializeToString(&result.model)) return bad_input("the benchmark is too large");
  return result;
}

}  // namespace lemma
