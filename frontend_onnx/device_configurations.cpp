#include "frontend_onnx/device_configurations.h"

#include <set>

#include "frontend_onnx/wire.h"

namespace lemma::frontend {

namespace {

constexpr std::uint32_t input_field = 1, output_field = 2;  // of a NodeProto
constexpr std::uint32_t sharding_field = 2;                 // of a NodeDeviceConfigurationProto
constexpr std::uint32_t tensor_name_field = 1;              // of a ShardingSpecProto

using Names = std::set<std::string_view>;

Result<Names> tensors_of(std::string_view node) {
  Names names;
  for (WireReader reader(node); !reader.done();) {
    LEMMA_ASSIGN_OR_RETURN(const WireField field, reader.next());
    if (field.number == input_field || field.number == output_field) names.insert(field.content);
  }
  return names;
}

Result<bool> shards_only(std::string_view configuration, const Names& tensors) {
  for (WireReader reader(configuration); !reader.done();) {
    LEMMA_ASSIGN_OR_RETURN(const WireField sharding, reader.next());
    if (sharding.number != sharding_field) continue;
    for (WireReader fields(sharding.content); !fields.done();) {
      LEMMA_ASSIGN_OR_RETURN(const WireField name, fields.next());
      if (name.number == tensor_name_field && !tensors.contains(name.content)) return false;
    }
  }
  return true;
}

}  // namespace

Result<std::string> without_stale_device_configurations(std::string_view node) {
  LEMMA_ASSIGN_OR_RETURN(const Names tensors, tensors_of(node));
  std::string result;
  for (WireReader reader(node); !reader.done();) {
    LEMMA_ASSIGN_OR_RETURN(const WireField field, reader.next());
    if (field.number == device_configurations_field) {
      LEMMA_ASSIGN_OR_RETURN(const bool fits, shards_only(field.content, tensors));
      if (!fits) continue;
    }
    result += field.whole;
  }
  return result;
}

}  // namespace lemma::frontend
