#pragma once
// Which devices a node is meant for: NodeProto.device_configurations of IR version 11, a field that is newer than the
// messages of the library.

#include <string>
#include <string_view>

#include "base/result.h"

namespace lemma::frontend {

inline constexpr std::uint32_t device_configurations_field = 10;  // of a NodeProto

/// A serialized NodeProto without those of its device configurations that shard tensors which are neither inputs nor
/// outputs of the node: a reader refuses their names.
Result<std::string> without_stale_device_configurations(std::string_view node);

}  // namespace lemma::frontend
