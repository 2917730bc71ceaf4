#include "profiler/single_operator.h"

#include <fmt/format.h>

namespace lemma {

RuntimeTensor tensor_of(const TensorType& type, bool constant) {
  RuntimeTensor tensor;
  tensor.type = type.data_type;
  tensor.constant = constant;
  if (type.shape)
    for (const Dimension& size : *type.shape) tensor.sizes.push_back(size.offset());
  return tensor;
}

Result<SingleOperator> single_operator(const CostKey& key) {
  SingleOperator result;
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < key.inputs.size(); ++i) {
    if (key.inputs[i].data_type == DataType::undefined) {
      operands.push_back(ValueId::none());
      continue;
    }
    const bool constant = i < key.constant.size() && key.constant[i];
    interpreter::Tensor contents = contents_for(tensor_of(key.inputs[i], constant));
    if (constant) {
      operands.push_back(result.graph.add_constant(contents.constant()));
      continue;
    }
    const std::string name = fmt::format("in_{}", i);
    LEMMA_ASSIGN_OR_RETURN(const ValueId input, result.graph.add_input(name, key.inputs[i]));
    operands.push_back(input);
    result.inputs.push_back({name, std::move(contents)});
  }
  LEMMA_ASSIGN_OR_RETURN(const NodeId node,
                         result.graph.add_operation(operator_named(key.op->name), operands,
                                                    key.attributes, key.outputs.size()));
  for (std::uint32_t i = 0; i < key.outputs.size(); ++i)
    LEMMA_RETURN_IF_ERROR(
        result.graph.add_output(fmt::format("out_{}", i), result.graph.node(node).output(i)));
  return result;
}

}  // namespace lemma
