#pragma once
// Vectors that grow by blocks: what is in them is never moved, and no memory is held beside the last block.

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

namespace lemma::generator {

template <typename T>
class Blocks {
 public:
  static_assert(std::is_trivially_copyable_v<T>);

  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return blocks_[i >> bits][i & mask]; }
  const T& operator[](std::size_t i) const { return blocks_[i >> bits][i & mask]; }
  void push_back(const T& value) {
    if (size_ >> bits == blocks_.size())
      blocks_.push_back(std::make_unique_for_overwrite<T[]>(mask + 1));
    blocks_[size_ >> bits][size_ & mask] = value;
    ++size_;
  }
  std::size_t bytes() const { return blocks_.size() * (mask + 1) * sizeof(T); }

  class Iterator {
   public:
    Iterator(const Blocks& blocks, std::size_t i) : blocks_(&blocks), i_(i) {}
    const T& operator*() const { return (*blocks_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return i_ != other.i_; }

   private:
    const Blocks* blocks_;
    std::size_t i_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  static constexpr std::size_t bits = 14, mask = (std::size_t{1} << bits) - 1;
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::size_t size_ = 0;
};

/// Rows of one length, side by side.
template <typename T>
class Rows {
 public:
  explicit Rows(std::size_t length) : length_(length) {}

  std::span<const T> operator[](std::size_t row) const {
    return {blocks_[row >> bits].get() + (row & mask) * length_, length_};
  }
  /// The new last row, to be filled.
  std::span<T> add() {
    if (size_ >> bits == blocks_.size())
      blocks_.push_back(std::make_unique_for_overwrite<T[]>((mask + 1) * length_));
    T* row = blocks_[size_ >> bits].get() + (size_ & mask) * length_;
    ++size_;
    return {row, length_};
  }
  std::size_t bytes() const { return blocks_.size() * (mask + 1) * length_ * sizeof(T); }

 private:
  static constexpr std::size_t bits = 14, mask = (std::size_t{1} << bits) - 1;
  std::size_t length_, size_ = 0;
  std::vector<std::unique_ptr<T[]>> blocks_;
};

}  // namespace lemma::generator
