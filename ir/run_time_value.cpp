#include "ir/run_time_value.h"

#include <fmt/format.h>

namespace lemma {

TensorType type_of(const RunTimeValue& value) {
  if (const Constant* tensor = value.tensor()) return tensor->type();
  if (const Strings* strings = value.strings())
    return {DataType::string, Shape(strings->sizes.begin(), strings->sizes.end())};
  return {};
}

std::string text(const RunTimeValue& value) {
  if (value.is_nothing()) return "nothing";
  if (const auto* sequence = value.sequence())
    return fmt::format("a sequence of {}", sequence->size());
  return text(type_of(value));
}

std::vector<std::int64_t> sizes_of(const Constant& constant) {
  std::vector<std::int64_t> sizes;
  for (const Dimension& size : *constant.type().shape) sizes.push_back(size.offset());
  return sizes;
}

}  // namespace lemma
