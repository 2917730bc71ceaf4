#pragma once
// The gradients of operators as records, made on demand.
//
// `ConvGradient1` is the gradient of Conv in its operand 1. Its operands are those of Conv, then the gradient of each
// output; its attributes are those of Conv. It is defined by the derivative of Conv's definition, or composed of the
// gradients of what Conv is composed of. It is a record like others: `ConvGradient1Gradient0` is a second derivative. Names
// of more than three derivatives, or of operands from the 64th on, mean nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/derived_operator.h"
#include "ir/operator.h"

namespace lemma::differentiate {

/// Attributes for the gradient of an application with these attributes: how many outputs it has, and how many gradients of
/// them stand behind its operands. Behind the last one that is there, none needs to stand.
Attributes gradient_attributes(const OperatorRecord& op, Attributes attributes, std::size_t outputs,
                               std::size_t gradients);

std::string gradient_name(std::string_view op, std::uint32_t operand);
/// Whether the record is one of these.
bool is_gradient(const OperatorRecord& record);
/// What such a record is made of; nothing for another one.
std::optional<DerivedOperator> derived_gradient(const OperatorRecord& record);
/// Nothing if the name means no gradient.
std::optional<OperatorRecord> gradient_record(std::string_view name);

}  // namespace lemma::differentiate
