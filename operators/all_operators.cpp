// The table of all operator records (declared in ir/operator.h): the families and what was registered from outside, joined
// and sorted by name.

#include <algorithm>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>

#include "ir/operator_registration.h"
#include "operators/families.h"

namespace lemma {
namespace {

void sort_by_name(std::vector<OperatorRecord>& table) {
  std::sort(table.begin(), table.end(),
            [](const OperatorRecord& a, const OperatorRecord& b) { return a.name < b.name; });
}

std::vector<OperatorRecord> join_families() {
  std::vector<OperatorRecord> table;
  for (const auto family : {operators::arithmetic(),
                            operators::unary(),
                            operators::activation(),
                            operators::logic(),
                            operators::contraction(),
                            operators::einsum(),
                            operators::quantization(),
                            operators::quantized_convolution(),
                            operators::convolution(),
                            operators::pooling(),
                            operators::channel_blocks(),
                            operators::reduction(),
                            operators::softmax(),
                            operators::normalization(),
                            operators::loss(),
                            operators::shape(),
                            operators::generation(),
                            operators::movement(),
                            operators::slicing(),
                            operators::padding(),
                            operators::rearrangement(),
                            operators::indexing(),
                            operators::resampling(),
                            operators::scattering(),
                            operators::recurrence(),
                            operators::recurrent_layers(),
                            operators::quantized_recurrence(),
                            operators::fusion(),
                            operators::skip_normalization(),
                            operators::attention(),
                            operators::multi_head_attention(),
                            operators::causal_convolution(),
                            operators::linear_attention(),
                            operators::deformable(),
                            operators::training(),
                            operators::cropping(),
                            operators::sampling(),
                            operators::signal(),
                            operators::devices()})
    table.insert(table.end(), family.begin(), family.end());
  sort_by_name(table);
  for (std::size_t i = 1; i < table.size(); ++i)
    if (table[i - 1].name == table[i].name)
      throw std::logic_error(fmt::format("two operator records are named '{}'", table[i].name));
  return table;
}

/// Registration has seen to it that no name is there twice.
std::vector<OperatorRecord> with_registered() {
  std::vector<OperatorRecord> table = take_registered_operators();
  table.insert(table.end(), own_operators().begin(), own_operators().end());
  sort_by_name(table);
  return table;
}

}  // namespace

std::span<const OperatorRecord> own_operators() {
  static const std::vector<OperatorRecord> table = join_families();
  return table;
}

std::span<const OperatorRecord> all_operators() {
  static const std::vector<OperatorRecord> table = with_registered();
  return table;
}

}  // namespace lemma
