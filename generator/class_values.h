#pragma once
// The elements of classes. Those of the first classes are kept, as many as there is memory for; the others
// are evaluated again.

#include <cstddef>
#include <memory>
#include <vector>

namespace lemma::generator {

class ClassValues {
 public:
  /// Elements of the next class, to be filled: `count` numbers. Null if they are not kept.
  double* add(std::size_t count);
  /// Null if they are not kept.
  const double* find(std::size_t id) const { return id < starts_.size() ? starts_[id] : nullptr; }
  /// Forgets those of the last classes until at most so many bytes are held, and keeps no more. The first block, which has
  /// inputs, stays.
  void shrink_to(std::size_t bytes);
  bool can_shrink() const { return blocks_.size() > 1; }
  std::size_t bytes() const;

 private:
  struct Block {
    std::unique_ptr<double[]> numbers;
    std::size_t first = 0;  // class
    std::size_t size = 0, used = 0;
  };
  std::vector<Block> blocks_;
  std::vector<const double*> starts_;  // by class
  bool is_closed_ = false;
};

}  // namespace lemma::generator
