#include "generator/class_values.h"

#include <algorithm>

namespace lemma::generator {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 13U;  // numbers

}  // namespace

double* ClassValues::add(std::size_t count) {
  if (is_closed_) return nullptr;
  if (blocks_.empty() || blocks_.back().size - blocks_.back().used < count) {
    const std::size_t size = std::max(block_size, count);
    blocks_.push_back({std::make_unique_for_overwrite<double[]>(size), starts_.size(), size, 0});
  }
  Block& block = blocks_.back();
  double* numbers = block.numbers.get() + block.used;
  block.used += count;
  starts_.push_back(numbers);
  return numbers;
}

void ClassValues::shrink_to(std::size_t bytes) {
  is_closed_ = true;
  while (blocks_.size() > 1 && this->bytes() > bytes) {
    starts_.resize(blocks_.back().first);
    blocks_.pop_back();
  }
  starts_.shrink_to_fit();
}

std::size_t ClassValues::bytes() const {
  std::size_t result = starts_.capacity() * sizeof(double*);
  for (const Block& block : blocks_) result += block.size * sizeof(double);
  return result;
}

}  // namespace lemma::generator
