#pragma once
// Models for several devices as ONNX has them (IR version 11): device configurations of a model, and sharding specifications of
// its nodes, which say where the parts of their inputs and outputs are. What they mean is not known here.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "frontend_onnx/model.h"

namespace lemma {

/// A DeviceConfigurationProto.
struct DeviceConfiguration {
  std::string name;
  std::int64_t device_count = 0;
  std::vector<std::string> device_names;  // none, or of all devices

  friend bool operator==(const DeviceConfiguration&, const DeviceConfiguration&) = default;
};

/// An axis of a tensor in shards: a ShardedDimProto.
struct ShardedAxis {
  /// A part of the axis where several are fused; otherwise all of it.
  struct Factor {
    std::optional<std::int64_t> size;  // nothing: not said, or a symbol
    std::int64_t shards = 0;

    friend bool operator==(const Factor&, const Factor&) = default;
  };
  std::int64_t axis = 0;  // negative: from the end
  std::vector<Factor> factors;

  friend bool operator==(const ShardedAxis&, const ShardedAxis&) = default;
};

/// Where the shards of a tensor are: a ShardingSpecProto.
struct ShardingSpecification {
  std::string tensor;
  std::vector<std::int64_t> devices;  // by shard: a device, or a key of `groups`
  std::map<std::int64_t, std::vector<std::int64_t>> groups;
  std::vector<ShardedAxis> axes;

  friend bool operator==(const ShardingSpecification&, const ShardingSpecification&) = default;
};

/// A NodeDeviceConfigurationProto.
struct NodeDevices {
  std::string configuration;
  std::vector<ShardingSpecification> specifications;
  std::optional<std::int64_t> pipeline_stage;

  friend bool operator==(const NodeDevices&, const NodeDevices&) = default;
};

/// Of the model, in order. An error: messages that cannot be read.
Result<std::vector<DeviceConfiguration>> device_configurations(const ModelEnvelope& envelope);
/// Of the file's nodes that have some, by the name of the node's first output.
Result<std::map<std::string, std::vector<NodeDevices>>> node_devices(const ModelEnvelope& envelope);

/// The names that values have in a file that is written of a graph without opaque nodes, by value.
std::vector<std::string> written_names(const Graph& graph);
/// The model with a configuration, and what its operations say of it. A configuration of this name that it had is left out.
/// Tensors are named as written_names() says. An error: the file is written with other operators than the graph has.
Result<OnnxModel> with_devices(const OnnxModel& model, const DeviceConfiguration& configuration,
                               const std::map<NodeId, NodeDevices>& nodes);

}  // namespace lemma
