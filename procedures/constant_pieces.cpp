#include "procedures/constant_pieces.h"

#include <cstring>
#include <numeric>

#include <fmt/format.h>

#include "ir/run_time_value.h"

namespace lemma {

namespace {

using Sizes = std::vector<std::int64_t>;

/// Around an axis: how many blocks there are before it, and the bytes of one slice in a block.
struct Blocks {
  std::size_t count = 1, slice_bytes = 1;
};

Blocks blocks_around(const Sizes& sizes, std::size_t axis, DataType type) {
  Blocks blocks = {1, byte_size(type)};
  for (std::size_t i = 0; i < axis; ++i) blocks.count *= static_cast<std::size_t>(sizes[i]);
  for (std::size_t i = axis + 1; i < sizes.size(); ++i)
    blocks.slice_bytes *= static_cast<std::size_t>(sizes[i]);
  return blocks;
}

Result<Constant> of_bytes(DataType type, const Sizes& sizes, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> view(*owner);
  return Constant::create({type, Shape(sizes.begin(), sizes.end())}, std::move(owner), view);
}

Result<void> require_whole_bytes(DataType type) {
  if (bits(type) < 8 || bits(type) % 8 != 0)
    return unsupported(fmt::format("parts of a tensor of the type {}", name(type)));
  return {};
}

/// memcpy does not take null, which is where empty data may be.
void copy(std::byte* to, const std::byte* from, std::size_t size) {
  if (size != 0) std::memcpy(to, from, size);
}

}  // namespace

Result<Constant> gathered(const Constant& source, std::size_t axis,
                          std::span<const std::int64_t> positions) {
  const DataType type = source.type().data_type;
  LEMMA_RETURN_IF_ERROR(require_whole_bytes(type));
  Sizes sizes = sizes_of(source);
  const Blocks blocks = blocks_around(sizes, axis, type);
  const std::size_t block = blocks.slice_bytes * static_cast<std::size_t>(sizes[axis]);
  std::vector<std::byte> bytes(blocks.count * positions.size() * blocks.slice_bytes);
  std::byte* out = bytes.data();
  for (std::size_t i = 0; i < blocks.count; ++i)
    for (const std::int64_t position : positions) {
      copy(out,
           source.bytes().data() + i * block +
               static_cast<std::size_t>(position) * blocks.slice_bytes,
           blocks.slice_bytes);
      out += blocks.slice_bytes;
    }
  sizes[axis] = static_cast<std::int64_t>(positions.size());
  return of_bytes(type, sizes, std::move(bytes));
}

Result<Constant> piece(const Constant& source, std::size_t axis, std::int64_t begin,
                       std::int64_t count) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  std::iota(positions.begin(), positions.end(), begin);
  return gathered(source, axis, positions);
}

Result<Constant> joined(std::span<const Constant> parts, std::size_t axis) {
  if (parts.empty()) return bad_input("no tensors to join");
  const DataType type = parts.front().type().data_type;
  LEMMA_RETURN_IF_ERROR(require_whole_bytes(type));
  Sizes sizes = sizes_of(parts.front());
  if (axis >= sizes.size()) return bad_input("the axis to join tensors along does not exist");
  sizes[axis] = 0;
  for (const Constant& part : parts) {
    Sizes own = sizes_of(part);
    if (part.type().data_type != type || own.size() != sizes.size())
      return bad_input(
          fmt::format("{} and {} cannot be joined", text(parts.front().type()), text(part.type())));
    sizes[axis] += own[axis];
    own[axis] = sizes[axis];
    if (own != sizes)
      return bad_input(fmt::format("{} and {} cannot be joined along axis {}",
                                   text(parts.front().type()), text(part.type()), axis));
  }
  const Blocks blocks = blocks_around(sizes, axis, type);
  std::vector<std::byte> bytes(blocks.count * blocks.slice_bytes *
                               static_cast<std::size_t>(sizes[axis]));
  std::byte* out = bytes.data();
  for (std::size_t i = 0; i < blocks.count; ++i)
    for (const Constant& part : parts) {
      const std::size_t own = part.bytes().size() / blocks.count;
      copy(out, part.bytes().data() + i * own, own);
      out += own;
    }
  return of_bytes(type, sizes, std::move(bytes));
}

Result<Constant> with_sizes(const Constant& source, const Sizes& sizes) {
  return Constant::create({source.type().data_type, Shape(sizes.begin(), sizes.end())},
                          source.owner(), source.bytes());
}

}  // namespace lemma
