#include "frontend_onnx/sharding_specifications.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/device_configurations.h"
#include "frontend_onnx/envelope.h"
#include "frontend_onnx/rope.h"
#include "frontend_onnx/spelling.h"
#include "frontend_onnx/value_names.h"
#include "frontend_onnx/wire.h"

namespace lemma {

namespace {

using frontend::Rope;
using frontend::WireField;
using frontend::WireReader;

// Numbers of fields that are newer than the messages of the library.
constexpr std::uint32_t model_configuration = 26;
namespace configuration_field {
constexpr std::uint32_t name = 1, device_count = 2, device_name = 3;
}
namespace node_field {
constexpr std::uint32_t configuration = 1, specification = 2, stage = 3;
}
namespace specification_field {
constexpr std::uint32_t tensor = 1, device = 2, group = 3, axis = 4;
}
namespace group_field {
constexpr std::uint32_t key = 1, value = 2;
}
namespace axis_field {
constexpr std::uint32_t axis = 1, factor = 2;
}
namespace factor_field {
constexpr std::uint32_t size = 1, shards = 3;
}

constexpr std::int64_t least_ir_version = 11;

std::int64_t signed_value(const WireField& field) { return static_cast<std::int64_t>(field.value); }

/// Calls `read` for each field of a message.
template <typename Read>
Result<void> for_each_field(std::string_view message, Read read) {
  for (WireReader reader(message); !reader.done();) {
    LEMMA_ASSIGN_OR_RETURN(const WireField field, reader.next());
    LEMMA_RETURN_IF_ERROR(read(field));
  }
  return {};
}

Result<void> append_integers(const WireField& field, std::vector<std::int64_t>& values) {
  LEMMA_ASSIGN_OR_RETURN(const std::vector<std::int64_t> more, WireReader::integers(field));
  values.insert(values.end(), more.begin(), more.end());
  return {};
}

Result<DeviceConfiguration> read_configuration(std::string_view message) {
  DeviceConfiguration result;
  const Result<void> read = for_each_field(message, [&](const WireField& field) -> Result<void> {
    switch (field.number) {
      case configuration_field::name: result.name = field.content; break;
      case configuration_field::device_count: result.device_count = signed_value(field); break;
      case configuration_field::device_name: result.device_names.emplace_back(field.content); break;
      default: break;
    }
    return {};
  });
  LEMMA_RETURN_IF_ERROR(read);
  return result;
}

Result<ShardedAxis> read_axis(std::string_view message) {
  ShardedAxis result;
  const Result<void> read = for_each_field(message, [&](const WireField& field) -> Result<void> {
    if (field.number == axis_field::axis) result.axis = signed_value(field);
    if (field.number != axis_field::factor) return {};
    ShardedAxis::Factor& factor = result.factors.emplace_back();
    return for_each_field(field.content, [&](const WireField& part) -> Result<void> {
      if (part.number == factor_field::size) factor.size = signed_value(part);
      if (part.number == factor_field::shards) factor.shards = signed_value(part);
      return {};
    });
  });
  LEMMA_RETURN_IF_ERROR(read);
  return result;
}

Result<void> read_group(std::string_view message, ShardingSpecification& specification) {
  std::int64_t key = 0;
  std::vector<std::int64_t> devices;
  const Result<void> read = for_each_field(message, [&](const WireField& field) -> Result<void> {
    if (field.number == group_field::key) key = signed_value(field);
    if (field.number == group_field::value) return append_integers(field, devices);
    return {};
  });
  LEMMA_RETURN_IF_ERROR(read);
  if (!specification.groups.emplace(key, std::move(devices)).second)
    return bad_input(fmt::format("the specification of '{}' has two groups of devices for {}",
                                 specification.tensor, key));
  return {};
}

Result<ShardingSpecification> read_specification(std::string_view message) {
  ShardingSpecification result;
  const Result<void> read = for_each_field(message, [&](const WireField& field) -> Result<void> {
    switch (field.number) {
      case specification_field::tensor: result.tensor = field.content; break;
      case specification_field::device: return append_integers(field, result.devices);
      case specification_field::group: return read_group(field.content, result);
      case specification_field::axis: {
        LEMMA_ASSIGN_OR_RETURN(ShardedAxis axis, read_axis(field.content));
        result.axes.push_back(std::move(axis));
        break;
      }
      default: break;
    }
    return {};
  });
  LEMMA_RETURN_IF_ERROR(read);
  return result;
}

Result<NodeDevices> read_node(std::string_view message) {
  NodeDevices result;
  const Result<void> read = for_each_field(message, [&](const WireField& field) -> Result<void> {
    switch (field.number) {
      case node_field::configuration: result.configuration = field.content; break;
      case node_field::specification: {
        LEMMA_ASSIGN_OR_RETURN(ShardingSpecification specification,
                               read_specification(field.content));
        result.specifications.push_back(std::move(specification));
        break;
      }
      case node_field::stage: result.pipeline_stage = signed_value(field); break;
      default: break;
    }
    return {};
  });
  LEMMA_RETURN_IF_ERROR(read);
  return result;
}

void append_integer(Rope& message, std::uint32_t number, std::int64_t value) {
  message.append_varint_field(number, static_cast<std::uint64_t>(value));
}

Rope written(const DeviceConfiguration& configuration) {
  Rope message;
  message.append_bytes_field(configuration_field::name, configuration.name);
  append_integer(message, configuration_field::device_count, configuration.device_count);
  for (const std::string& name : configuration.device_names)
    message.append_bytes_field(configuration_field::device_name, name);
  return message;
}

Rope written(const ShardedAxis& axis) {
  Rope message;
  append_integer(message, axis_field::axis, axis.axis);
  for (const ShardedAxis::Factor& factor : axis.factors) {
    Rope part;
    if (factor.size) append_integer(part, factor_field::size, *factor.size);
    append_integer(part, factor_field::shards, factor.shards);
    message.append_message_field(axis_field::factor, std::move(part));
  }
  return message;
}

Rope written(const ShardingSpecification& specification) {
  Rope message;
  message.append_bytes_field(specification_field::tensor, specification.tensor);
  for (const std::int64_t device : specification.devices)
    append_integer(message, specification_field::device, device);
  for (const auto& [key, devices] : specification.groups) {
    Rope group;
    append_integer(group, group_field::key, key);
    for (const std::int64_t device : devices) append_integer(group, group_field::value, device);
    message.append_message_field(specification_field::group, std::move(group));
  }
  for (const ShardedAxis& axis : specification.axes)
    message.append_message_field(specification_field::axis, written(axis));
  return message;
}

Rope written(const NodeDevices& node) {
  Rope message;
  message.append_bytes_field(node_field::configuration, node.configuration);
  for (const ShardingSpecification& specification : node.specifications)
    message.append_message_field(node_field::specification, written(specification));
  if (node.pipeline_stage) append_integer(message, node_field::stage, *node.pipeline_stage);
  return message;
}

/// A serialized message without those of its fields of this number whose first field is this name.
Result<std::string> without_named(std::string_view message, std::uint32_t number,
                                  const std::string& name) {
  static_assert(configuration_field::name == node_field::configuration);
  std::string result;
  const Result<void> read = for_each_field(message, [&](const WireField& field) -> Result<void> {
    bool is_named = false;
    if (field.number == number)
      LEMMA_RETURN_IF_ERROR(
          for_each_field(field.content, [&](const WireField& part) -> Result<void> {
            is_named |= part.number == configuration_field::name && part.content == name;
            return {};
          }));
    if (!is_named) result += field.whole;
    return {};
  });
  LEMMA_RETURN_IF_ERROR(read);
  return result;
}

/// The header of a model with this configuration, in a version of ONNX that has configurations.
Result<std::string> header_with(const std::string& header, const DeviceConfiguration& configuration,
                                std::int64_t ir_version) {
  ::onnx::ModelProto message;
  if (!message.ParseFromString(header)) return internal_error("a header cannot be read back");
  message.set_ir_version(ir_version);
  LEMMA_ASSIGN_OR_RETURN(
      const std::string others,
      without_named(message.SerializeAsString(), model_configuration, configuration.name));
  Rope result;
  result.append(others);
  result.append_message_field(model_configuration, written(configuration));
  return result.flatten();
}

}  // namespace

Result<std::vector<DeviceConfiguration>> device_configurations(const ModelEnvelope& envelope) {
  std::vector<DeviceConfiguration> result;
  const Result<void> read =
      for_each_field(envelope.data().header, [&](const WireField& field) -> Result<void> {
        if (field.number != model_configuration) return {};
        LEMMA_ASSIGN_OR_RETURN(DeviceConfiguration configuration,
                               read_configuration(field.content));
        result.push_back(std::move(configuration));
        return {};
      });
  LEMMA_RETURN_IF_ERROR(read);
  return result;
}

Result<std::map<std::string, std::vector<NodeDevices>>> node_devices(
    const ModelEnvelope& envelope) {
  std::map<std::string, std::vector<NodeDevices>> result;
  for (const auto& [output, remarks] : envelope.data().node_remarks) {
    const Result<void> read =
        for_each_field(remarks, [&, &output = output](const WireField& field) -> Result<void> {
          if (field.number != frontend::device_configurations_field) return {};
          auto devices = read_node(field.content);
          if (!devices)
            return with_context(fmt::format("the node of '{}'", output),
                                std::move(devices.error()));
          result[output].push_back(std::move(*devices));
          return {};
        });
    LEMMA_RETURN_IF_ERROR(read);
  }
  return result;
}

std::vector<std::string> written_names(const Graph& graph) {
  frontend::OpaqueNodes opaque;
  const frontend::ValueNames names(graph, graph.live_nodes(), opaque);
  std::vector<std::string> result;
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) result.push_back(names.of(ValueId{i}));
  return result;
}

Result<OnnxModel> with_devices(const OnnxModel& model, const DeviceConfiguration& configuration,
                               const std::map<NodeId, NodeDevices>& nodes) {
  const ModelEnvelope::Data& given = model.envelope.data();
  const std::string runtime = given.runtimes.empty() ? std::string() : *given.runtimes.begin();
  if (frontend::needs_spelling(model, runtime))
    return unsupported(
        "the model has operators that its operator set does not have: nodes of the file are others "
        "than those of the plan");
  auto data = std::make_shared<ModelEnvelope::Data>(given);
  data->ir_version = std::max(given.ir_version, least_ir_version);
  LEMMA_ASSIGN_OR_RETURN(data->header, header_with(given.header, configuration, data->ir_version));
  for (auto& [output, remarks] : data->node_remarks) {
    LEMMA_ASSIGN_OR_RETURN(
        remarks, without_named(remarks, frontend::device_configurations_field, configuration.name));
  }
  OnnxModel result{model.graph, model.envelope};
  const std::vector<std::string> names = written_names(model.graph);
  std::set<std::string> used;
  for (const auto& [id, devices] : nodes) {
    const ValueId first = model.graph.node(id).output();
    result.graph.suggest_name(first, names[first.v]);
    if (!used.insert(result.graph.suggested_name(first)).second)
      return unsupported(
          fmt::format("two values are named '{}'", result.graph.suggested_name(first)));
    Rope field;
    field.append_message_field(frontend::device_configurations_field, written(devices));
    data->node_remarks[result.graph.suggested_name(first)] += field.flatten();
  }
  result.envelope = ModelEnvelope(std::move(data));
  return result;
}

}  // namespace lemma
