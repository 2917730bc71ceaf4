#pragma once
// One copy of an operator on each device, as a record that is made on demand (docs/plans.md).
//
// `ConvPerDevice` is Conv on each of many devices. Its operands are distributed tensors: those of Conv with axes of devices
// in front, as many as the attribute `device_axes` says (one for each axis of a mesh). So are its outputs. The result at a
// device is that of Conv for what the device has: the definition is Conv's, with the device's indices in front of every read
// and every output. An operator that is composed of others is composed of their copies. All operators have such a record.

#include <cstdint>
#include <optional>
#include <string>

#include "ir/operator.h"

namespace lemma::made_operators {

std::string per_device_name(std::string_view op);
/// Attributes for a copy of an application with these attributes.
Attributes per_device_attributes(Attributes attributes, std::size_t device_axes);

/// The attributes of the application on one device.
Attributes local_attributes_of(Attributes attributes);

bool is_per_device(const OperatorRecord& record);
/// The operator that a record is the copy of.
OperatorId local_operator(const OperatorRecord& record);

/// Nothing if the name means no such record.
std::optional<OperatorRecord> per_device_record(std::string_view name);

/// Of the way in which the definition is made: another one wherever it changes. Proofs record it.
inline constexpr int per_device_version = 1;

}  // namespace lemma::made_operators
