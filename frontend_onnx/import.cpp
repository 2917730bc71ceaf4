#include "frontend_onnx/import.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/declared_types.h"
#include "frontend_onnx/device_configurations.h"
#include "frontend_onnx/envelope.h"
#include "frontend_onnx/graph_builder.h"
#include "frontend_onnx/node_order.h"
#include "frontend_onnx/subgraphs.h"
#include "frontend_onnx/wire.h"

namespace lemma {

namespace frontend {
namespace {

using ValueInfo = ::onnx::ValueInfoProto;

/// Larger initializers are no parameters of operators (shapes, axes, bounds).
constexpr std::size_t largest_parameter = 1024;

Result<void> parse(const SharedBytes& file, ::onnx::ModelProto& model) {
  LEMMA_ASSIGN_OR_RETURN(const std::string stripped,
                         strip(file.text(), file.text(), MessageKind::model));
  if (stripped.size() > INT32_MAX)
    return unsupported("the model has more than 2 GiB besides the data of its tensors");
  const google::protobuf::LogSilencer no_messages;  // what it would print is returned instead
  if (!model.ParseFromArray(stripped.data(), static_cast<int>(stripped.size())))
    return bad_input("not an ONNX model: the file is damaged or cut");
  if (!model.has_graph()) return bad_input("not an ONNX model: it has no graph");
  return {};
}

class Importer {
 public:
  Importer(SharedBytes file, std::filesystem::path folder, const ImportOptions& options)
      : options_(options),
        file_(file),
        data_(std::make_shared<ModelEnvelope::Data>()),
        source_(std::make_shared<TensorSource>(std::move(file), std::move(folder),
                                               options.allow_external_data)),
        builder_(
            data_->operator_sets, *source_,
            {options.takes_branches, options.unrolled_node_limit, options.writes_out_recurrences},
            options.evaluate) {
    data_->source = source_;
    builder_.keep_opaque(options.opaque_outputs);
    if (options.trusts_declarations)
      builder_.take_unknown_sizes(
          [this](const std::string& value, std::size_t axis) {
            return symbols_.unnamed(value, axis);
          },
          [this](const Dimension& size) { return symbols_.is_unnamed(size); });
  }

  Result<OnnxModel> run() {
    LEMMA_RETURN_IF_ERROR(parse(file_, model_));
    LEMMA_RETURN_IF_ERROR(read_versions());
    LEMMA_ASSIGN_OR_RETURN(const FlatNodes nodes, inline_functions(model_, data_->operator_sets,
                                                                   options_.inlined_node_limit));
    mark_used_names(nodes);
    LEMMA_RETURN_IF_ERROR(index_initializers());
    LEMMA_RETURN_IF_ERROR(add_inputs());
    LEMMA_RETURN_IF_ERROR(add_initializers());
    LEMMA_RETURN_IF_ERROR(declare_types());
    LEMMA_ASSIGN_OR_RETURN(const auto order, order_nodes(nodes, given_));
    for (const std::size_t i : order) LEMMA_RETURN_IF_ERROR(builder_.add_node(nodes.nodes[i]));
    LEMMA_RETURN_IF_ERROR(add_outputs());
    LEMMA_RETURN_IF_ERROR(keep_remarks(nodes));
    for (const auto& node : graph().node())
      for_each_node(node, [this](const auto&) { ++data_->file_nodes; });
    data_->taken_branches = builder_.taken_branches();
    fill_envelope();
    return OnnxModel{std::move(builder_.graph()), ModelEnvelope(data_)};
  }

 private:
  Result<void> read_versions() {
    data_->ir_version = model_.ir_version();
    if (model_.ir_version() > newest_ir_version)
      return unsupported(
          fmt::format("IR version {} is newer than {}, the newest that is understood",
                      model_.ir_version(), newest_ir_version));
    for (const auto& import : model_.opset_import()) {
      if (import.version() < 1 || import.version() > 1'000'000)
        return bad_input(fmt::format("operator set {} does not exist", import.version()));
      data_->operator_sets[canonical_domain(import.domain())] = static_cast<int>(import.version());
    }
    // Files of the first IR versions do not say; they are of the first operator set.
    if (model_.opset_import().empty() && model_.ir_version() >= 3)
      return bad_input("the model imports no operator set");
    if (model_.opset_import().empty()) data_->operator_sets[""] = 1;
    return {};
  }

  void mark_used_names(const FlatNodes& nodes) {
    for (const FlatNode& flat : nodes.nodes) {
      for (const std::string& input : flat.node->input()) builder_.mark_used(input);
      for (const std::string& name : captured_names(*flat.node)) builder_.mark_used(name);
    }
    for (const ValueInfo& output : model_.graph().output()) builder_.mark_used(output.name());
  }

  // ---- Inputs and initializers ------------------------------------------------------------------

  Result<void> index_initializers() {
    auto define = [this](const std::string& name) -> Result<void> {
      if (name.empty()) return bad_input("an initializer has no name");
      if (!data_->initializers.insert(name).second)
        return bad_input(fmt::format("two initializers are named '{}'", name));
      given_.insert(name);
      return {};
    };
    for (const auto& tensor : graph().initializer()) LEMMA_RETURN_IF_ERROR(define(tensor.name()));
    for (const auto& tensor : graph().sparse_initializer())
      LEMMA_RETURN_IF_ERROR(define(tensor.values().name()));
    return {};
  }

  /// Before IR version 4 every initializer had to be declared as an input as well; from then on the
  /// declaration says that callers may override it.
  bool is_overridable(const std::string& name) const {
    return data_->initializers.contains(name) && model_.ir_version() >= 4 &&
           !options_.fix_overridable_initializers;
  }
  bool is_input(const std::string& name) const {
    return !data_->initializers.contains(name) || is_overridable(name);
  }

  Result<void> add_inputs() {
    for (const auto& [name, shape] : options_.shapes)
      shapes_.emplace(name, symbols_.adopted(shape));
    std::set<std::string> names;
    for (const ValueInfo& input : graph().input()) {
      if (input.name().empty()) return bad_input("a graph input has no name");
      if (!names.insert(input.name()).second)
        return bad_input(fmt::format("two graph inputs are named '{}'", input.name()));
      if (!is_input(input.name())) continue;
      auto type = declared_type(input, symbols_);
      if (!type)
        return with_context(fmt::format("input '{}'", input.name()), std::move(type.error()));
      if (input.type().has_tensor_type() && type->data_type == DataType::undefined)
        return bad_input(fmt::format("input '{}': the element type is missing", input.name()));
      input_types_.emplace_back(input.name(), std::move(*type));
    }
    LEMMA_RETURN_IF_ERROR(override_shapes());
    for (auto& [name, type] : input_types_) {
      LEMMA_ASSIGN_OR_RETURN(const ValueId value, builder_.graph().add_input(name, type));
      builder_.name_value(name, value);
      given_.insert(name);
      LEMMA_RETURN_IF_ERROR(bind_contents(name, value));
    }
    for (const auto& [name, contents] : options_.bound_inputs)
      if (!names.contains(name) || !is_input(name))
        return bad_input(fmt::format("no graph input is named '{}'", name));
    return {};
  }

  /// An overridden size replaces its symbol everywhere.
  Result<void> override_shapes() {
    for (const auto& [name, shape] : shapes_) {
      auto entry = std::find_if(input_types_.begin(), input_types_.end(),
                                [&name = name](const auto& input) { return input.first == name; });
      if (entry == input_types_.end())
        return bad_input(fmt::format("no graph input is named '{}'", name));
      TensorType& type = entry->second;
      if (type.data_type == DataType::undefined)
        return bad_input(fmt::format("input '{}' is no tensor: it has no shape to set", name));
      if (type.shape && type.rank() != shape.size())
        return bad_input(
            fmt::format("input '{}' has {} axes, not {}", name, type.rank(), shape.size()));
      for (std::size_t axis = 0; type.shape && axis < shape.size(); ++axis) {
        const Dimension& declared = (*type.shape)[axis];
        const auto symbol = declared.as_symbol();
        if (!symbol) {
          fixed_size_overridden_ = fixed_size_overridden_ || declared != shape[axis];
          continue;
        }
        const auto [where, is_new] = overridden_.try_emplace(*symbol, shape[axis]);
        if (!is_new && where->second != shape[axis])
          return bad_input(fmt::format("input '{}': '{}' is set to both {} and {}", name, *symbol,
                                       where->second.text(), shape[axis].text()));
      }
    }
    for (auto& [name, type] : input_types_) {
      if (type.shape) type.shape = substituted(*type.shape);
      if (const auto entry = shapes_.find(name); entry != shapes_.end()) type.shape = entry->second;
    }
    return {};
  }

  Shape substituted(Shape shape) const {
    for (Dimension& size : shape) size = substitute(size, overridden_);
    return shape;
  }

  Result<void> bind_contents(const std::string& name, ValueId value) {
    const auto entry = options_.bound_inputs.find(name);
    if (entry == options_.bound_inputs.end()) return {};
    const TensorType& declared = builder_.graph().type(value);
    const TensorType& given = entry->second.type();
    bool agrees = declared.data_type == given.data_type &&
                  (!declared.shape || declared.rank() == given.rank());
    for (std::size_t axis = 0; agrees && declared.shape && axis < declared.rank(); ++axis)
      agrees =
          !(*declared.shape)[axis].is_constant() || (*declared.shape)[axis] == (*given.shape)[axis];
    if (!agrees)
      return bad_input(fmt::format("input '{}' is {}, but the contents given are {}", name,
                                   text(declared), text(given)));
    builder_.bind(value, entry->second);
    return {};
  }

  Result<void> add_initializers() {
    std::set<std::string> declared;
    for (const ValueInfo& input : graph().input()) declared.insert(input.name());
    for (const auto& tensor : graph().initializer()) {
      if (declared.contains(tensor.name()) && is_overridable(tensor.name())) {
        LEMMA_RETURN_IF_ERROR(add_default(tensor));
        continue;
      }
      LEMMA_RETURN_IF_ERROR(builder_.add_tensor(tensor.name(), tensor));
      const Constant* contents = builder_.graph().constant_of(*builder_.find(tensor.name()));
      if (contents != nullptr && contents->bytes().size() <= largest_parameter)
        data_->small_initializers.emplace(tensor.name(), *contents);
    }
    for (const auto& tensor : graph().sparse_initializer())
      LEMMA_RETURN_IF_ERROR(add_sparse_initializer(tensor));
    return {};
  }

  Result<void> add_default(const ::onnx::TensorProto& tensor) {
    auto constant = constant_from(tensor, *source_);
    if (!constant && constant.error().kind != ErrorKind::unsupported)
      return with_context(fmt::format("tensor '{}'", tensor.name()), std::move(constant.error()));
    data_->overridable[tensor.name()] = tensor.SerializeAsString();
    return {};
  }

  /// Adds a sparse initializer as the equivalent Constant node, which is opaque.
  Result<void> add_sparse_initializer(const ::onnx::SparseTensorProto& tensor) {
    constexpr int constant_takes_sparse_values_since = 11;
    const auto standard = data_->operator_sets.find("");
    if (standard == data_->operator_sets.end() ||
        standard->second < constant_takes_sparse_values_since)
      return unsupported("sparse initializers before operator set 11");
    ::onnx::NodeProto node;
    node.set_op_type("Constant");
    node.add_output(tensor.values().name());
    auto& attribute = *node.add_attribute();
    attribute.set_name("sparse_value");
    attribute.set_type(::onnx::AttributeProto::SPARSE_TENSOR);
    *attribute.mutable_sparse_tensor() = tensor;
    return builder_.add_node({&node, 0, "sparse initializer"});
  }

  // ---- Declared types and outputs ---------------------------------------------------------------

  /// Declares what the file says about values that come from nodes; of use for outputs of opaque
  /// nodes.
  Result<void> declare_types() {
    if (!options_.trusts_declarations) return {};
    auto declare = [this](const ValueInfo& value) -> Result<void> {
      if (given_.contains(value.name())) return {};
      auto type = declared_type(value, symbols_);
      if (!type)
        return with_context(fmt::format("declaration of '{}'", value.name()),
                            std::move(type.error()));
      if (fixed_size_overridden_)
        type->shape.reset();
      else if (type->shape)
        type->shape = substituted(*type->shape);
      builder_.declare(value.name(), std::move(*type));
      return {};
    };
    for (const ValueInfo& value : graph().value_info()) LEMMA_RETURN_IF_ERROR(declare(value));
    for (const ValueInfo& value : graph().output()) LEMMA_RETURN_IF_ERROR(declare(value));
    return {};
  }

  Result<void> add_outputs() {
    for (const std::string& wanted : options_.outputs)
      if (std::none_of(graph().output().begin(), graph().output().end(),
                       [&wanted](const ValueInfo& output) { return output.name() == wanted; }))
        return bad_input(fmt::format("no graph output is named '{}'", wanted));
    std::set<std::string> names;
    for (const ValueInfo& output : graph().output()) {
      if (!options_.outputs.empty() && std::find(options_.outputs.begin(), options_.outputs.end(),
                                                 output.name()) == options_.outputs.end())
        continue;
      const ValueId* value = builder_.find(output.name());
      if (value == nullptr)
        return bad_input(fmt::format("graph output '{}' is not defined", output.name()));
      if (!names.insert(output.name()).second) continue;  // the file names it twice
      LEMMA_RETURN_IF_ERROR(builder_.graph().add_output(output.name(), *value));
    }
    if (options_.outputs.empty() && static_cast<int>(names.size()) < graph().output_size())
      for (const ValueInfo& output : graph().output()) data_->output_order.push_back(output.name());
    return {};
  }

  // ---- Envelope ---------------------------------------------------------------------------------

  void keep_declaration(ValueInfo value, bool is_graph_input) {
    // After an override, declared sizes of other values may be wrong.
    const bool is_outdated = is_graph_input ? shapes_.contains(value.name()) : !shapes_.empty();
    if (is_outdated && value.type().has_tensor_type())
      value.mutable_type()->mutable_tensor_type()->clear_shape();
    data_->declarations.emplace(value.name(), value.SerializeAsString());
  }

  /// Names, documentation, metadata and devices of nodes and initializers.
  Result<void> keep_remarks(const FlatNodes& nodes) {
    using Node = ::onnx::NodeProto;
    using TensorMessage = ::onnx::TensorProto;
    constexpr std::uint32_t node_metadata = 9, tensor_metadata = 16;  // newer than these messages
    constexpr std::array<std::uint32_t, 4> of_node = {Node::kNameFieldNumber,
                                                      Node::kDocStringFieldNumber, node_metadata,
                                                      frontend::device_configurations_field};
    constexpr std::array<std::uint32_t, 2> of_tensor = {TensorMessage::kDocStringFieldNumber,
                                                        tensor_metadata};
    for (const FlatNode& flat : nodes.nodes) {
      if (flat.node->output_size() == 0) continue;
      LEMMA_ASSIGN_OR_RETURN(std::string remarks,
                             only_fields(flat.node->SerializeAsString(), of_node));
      if (!remarks.empty()) data_->node_remarks.emplace(flat.node->output(0), std::move(remarks));
    }
    for (const TensorMessage& tensor : graph().initializer()) {
      LEMMA_ASSIGN_OR_RETURN(std::string remarks,
                             only_fields(tensor.SerializeAsString(), of_tensor));
      if (!remarks.empty()) data_->tensor_remarks.emplace(tensor.name(), std::move(remarks));
    }
    return {};
  }

  void fill_envelope() {
    auto& graph = *model_.mutable_graph();
    builder_.graph().set_name(graph.name());
    for (const ValueInfo& value : graph.input()) keep_declaration(value, true);
    for (const ValueInfo& value : graph.output()) keep_declaration(value, false);
    for (const ValueInfo& value : graph.value_info()) keep_declaration(value, false);
    for (const auto& function : model_.functions())
      data_->functions.emplace(function_key(function), function.SerializeAsString());
    for (const auto& annotation : graph.quantization_annotation())
      data_->quantization_annotations.push_back(annotation.SerializeAsString());
    data_->size_parameters = symbols_.parameters();
    data_->runtimes = builder_.runtimes();
    data_->positive_sizes = builder_.positive_sizes();
    data_->external_data = source_->opened_external_files();
    for (const auto& training : model_.training_info())
      data_->training.push_back(training.SerializeAsString());
    if (model_.training_info_size() != 0)
      data_->notes.push_back("training information is left out where a weight is changed");
    model_.clear_training_info();
    model_.clear_functions();
    graph.clear_node();
    graph.clear_initializer();
    graph.clear_sparse_initializer();
    graph.clear_input();
    graph.clear_output();
    graph.clear_value_info();
    graph.clear_quantization_annotation();
    data_->header = model_.SerializeAsString();
  }

  const ::onnx::GraphProto& graph() const { return model_.graph(); }

  const ImportOptions& options_;
  SharedBytes file_;
  std::shared_ptr<ModelEnvelope::Data> data_;
  std::shared_ptr<TensorSource> source_;
  GraphBuilder builder_;
  ::onnx::ModelProto model_;
  SizeSymbols symbols_;
  std::set<std::string> given_;  // names of inputs and initializers
  std::vector<std::pair<std::string, TensorType>> input_types_;
  std::map<std::string, Shape, std::less<>> shapes_;  // that the options set
  DimensionBindings overridden_;
  bool fixed_size_overridden_ = false;
};

}  // namespace
}  // namespace frontend

Result<OnnxModel> import_model(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                               const std::filesystem::path& folder, const ImportOptions& options) {
  return frontend::Importer({std::move(owner), bytes}, folder, options).run();
}

Result<OnnxModel> import_model(const std::filesystem::path& path, const ImportOptions& options) {
  auto file = frontend::FileMapping::open(path);
  if (!file) return with_context(path.string(), std::move(file.error()));
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  auto model = import_model(*file, (*file)->bytes(), folder, options);
  if (!model) return with_context(path.string(), std::move(model.error()));
  return model;
}

}  // namespace lemma
