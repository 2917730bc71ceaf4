#include "interpreter/constant_operation.h"

#include "interpreter/run.h"
#include "ir/rebuild.h"

namespace lemma::interpreter {

Result<std::vector<Constant>> evaluate_on_constants(const Node& node,
                                                    std::span<const Constant* const> operands) {
  if (node.kind != NodeKind::operation) return unsupported("it is no operation");
  Graph single;
  std::vector<ValueId> inputs;
  for (const Constant* operand : operands)
    inputs.push_back(operand == nullptr ? ValueId::none() : single.add_constant(*operand));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<ValueId> outputs,
                         add_copy(single, node, node.attributes, std::move(inputs)));
  for (std::size_t k = 0; k < outputs.size(); ++k)
    LEMMA_RETURN_IF_ERROR(single.add_output(std::to_string(k), outputs[k]));
  RunOptions options;
  options.in_order = true;  // bits of constants are the same in tensors of other shapes
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> values, run(single, {}, options));
  std::vector<Constant> constants;
  for (const Tensor& value : values) constants.push_back(value.constant());
  return constants;
}

}  // namespace lemma::interpreter
