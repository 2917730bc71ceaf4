#include "costmodel/cost_key.h"

#include <fmt/format.h>

namespace lemma {

namespace {

std::string list(const std::vector<TensorType>& types, const std::vector<bool>& constant) {
  std::string result;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i != 0) result += ", ";
    if (i < constant.size() && constant[i]) result += "constant ";
    result += types[i].data_type == DataType::undefined ? "_" : text(types[i]);
  }
  return result;
}

double bytes_of(const TensorType& type) {
  if (!type.shape) return 0;
  return static_cast<double>(element_count(*type.shape).offset()) * bits(type.data_type) / 8;
}

}  // namespace

std::string text(const CostKey& key) {
  return fmt::format("{}{} {} -> {} on {}, {} threads{}", key.op->name, text(key.attributes),
                     list(key.inputs, key.constant), list(key.outputs, {}), key.target, key.threads,
                     key.sizes_fit ? "" : ", sizes do not fit");
}

OperationCount count_operations(const CostKey& key) {
  if (key.sizes_fit)
    if (const auto counted = count_operations(*key.op, key.instance(), key.outputs))
      return *counted;
  OperationCount rough;
  for (const TensorType& type : key.outputs) rough.bytes_written += bytes_of(type);
  rough.bytes_read = rough.bytes_written;
  return rough;
}

}  // namespace lemma
