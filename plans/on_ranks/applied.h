#pragma once
// One operator on one tensor.

#include <string_view>

#include "base/result.h"
#include "interpreter/tensor.h"
#include "ir/operator.h"

namespace lemma::plans {

/// The first result, by the interpreter on one thread.
Result<interpreter::Tensor> applied(std::string_view op, const interpreter::Tensor& operand,
                                    Attributes attributes);

}  // namespace lemma::plans
