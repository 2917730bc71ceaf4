#include "ir/constant.h"

#include <bit>
#include <cassert>
#include <cstring>
#include <stdexcept>

#include <absl/hash/hash.h>
#include <fmt/format.h>

#include "base/half_precision.h"
#include "ir/definition.h"

namespace lemma {

std::string text(const TensorType& type) {
  return std::string(name(type.data_type)) + (type.shape ? text(*type.shape) : "[?]");
}

Result<Constant> Constant::create(TensorType type, std::shared_ptr<const void> owner,
                                  std::span<const std::byte> bytes) {
  if (!type.shape || !is_constant(*type.shape))
    return bad_input("a constant needs a fixed shape, not " + text(type));
  if (!has_sizes(*type.shape)) return bad_input("negative size in the shape " + text(type));
  const Dimension count = lemma::element_count(*type.shape);
  const Dimension bit_count = count * Dimension(bits(type.data_type));
  if (bits(type.data_type) == 0) return unsupported("constant of type " + text(type));
  if (!bit_count.is_valid()) return bad_input("the shape " + text(type) + " overflows");
  const auto expected = (static_cast<std::uint64_t>(bit_count.offset()) + 7) / 8;
  if (expected != bytes.size())
    return bad_input(fmt::format("{} needs {} bytes of data, but {} are there", text(type),
                                 expected, bytes.size()));
  Constant result;
  result.type_ = std::move(type);
  result.owner_ = std::move(owner);
  result.bytes_ = bytes;
  result.element_count_ = static_cast<std::size_t>(count.offset());
  return result;
}

Constant detail::constant_from_copy(DataType type, const std::vector<std::int64_t>& sizes,
                                    const void* data, std::size_t byte_count) {
  auto copy = std::make_shared<std::vector<std::byte>>(byte_count);
  if (byte_count != 0) std::memcpy(copy->data(), data, byte_count);
  const std::span<const std::byte> bytes(*copy);
  auto result = Constant::create({type, Shape(sizes.begin(), sizes.end())}, std::move(copy), bytes);
  assert(result.has_value());
  return std::move(*result);
}

Constant Constant::of_integers(const std::vector<std::int64_t>& values) {
  return of(DataType::i64, {static_cast<std::int64_t>(values.size())}, values);
}

Constant Constant::scalar_f32(float value) {
  return of(DataType::f32, {}, std::vector<float>{value});
}

Constant Constant::symbolic(DataType type, std::shared_ptr<const Definition> exact) {
  Constant result;
  result.type_ = {type, Shape{}};
  result.element_count_ = 1;
  result.exact_ = std::move(exact);
  return result;
}

Constant Constant::standing_for(std::shared_ptr<const Definition> exact) && {
  exact_ = std::move(exact);
  return std::move(*this);
}

std::span<const std::byte> Constant::bytes() const {
  if (is_symbolic()) throw std::logic_error("the bytes of a number that stands for others");
  return bytes_;
}

namespace {

template <typename Stored, typename Computed, typename Convert>
void widen(std::span<const std::byte> bytes, std::vector<Computed>& out, Convert convert) {
  const std::size_t count = bytes.size() / sizeof(Stored);
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    Stored element;
    std::memcpy(&element, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out.push_back(convert(element));
  }
}

template <typename Computed>
void widen_integers(DataType type, std::span<const std::byte> bytes, std::vector<Computed>& out) {
  auto convert = [](auto element) { return static_cast<Computed>(element); };
  switch (type) {
    case DataType::u8:
    case DataType::boolean: return widen<std::uint8_t>(bytes, out, convert);
    case DataType::i8: return widen<std::int8_t>(bytes, out, convert);
    case DataType::u16: return widen<std::uint16_t>(bytes, out, convert);
    case DataType::i16: return widen<std::int16_t>(bytes, out, convert);
    case DataType::u32: return widen<std::uint32_t>(bytes, out, convert);
    case DataType::i32: return widen<std::int32_t>(bytes, out, convert);
    case DataType::u64: return widen<std::uint64_t>(bytes, out, convert);
    case DataType::i64: return widen<std::int64_t>(bytes, out, convert);
    default: return;
  }
}

}  // namespace

template <typename Computed>
void Constant::codes(std::vector<Computed>& out) const {
  const int width = bits(type_.data_type);
  for (const std::byte code : unpacked(bytes_, width, element_count_))
    out.push_back(static_cast<Computed>(code));
}

std::vector<std::int64_t> Constant::integers() const {
  std::vector<std::int64_t> out;
  if (is_narrow(type_.data_type)) {
    codes(out);
    return out;
  }
  widen_integers(type_.data_type, bytes_, out);
  return out;
}

std::vector<double> Constant::reals() const {
  std::vector<double> out;
  auto to_double = [](auto element) { return static_cast<double>(element); };
  switch (type_.data_type) {
    case DataType::f32: widen<float>(bytes_, out, to_double); break;
    case DataType::f64: widen<double>(bytes_, out, to_double); break;
    case DataType::f16:
      widen<std::uint16_t>(bytes_, out, [](auto e) { return static_cast<double>(f16_to_f32(e)); });
      break;
    case DataType::bf16:
      widen<std::uint16_t>(bytes_, out, [](auto e) { return static_cast<double>(bf16_to_f32(e)); });
      break;
    default:
      if (is_narrow(type_.data_type))
        codes(out);
      else
        widen_integers(type_.data_type, bytes_, out);
  }
  return out;
}

namespace {

bool same_expression(const Definition* a, const Definition* b) {
  if (a == b) return true;
  return a != nullptr && b != nullptr && a->nodes() == b->nodes() &&
         a->outputs()[0].value == b->outputs()[0].value;
}

}  // namespace

bool operator==(const Constant& a, const Constant& b) {
  if (!(a.type_ == b.type_) || a.bytes_.size() != b.bytes_.size()) return false;
  if (!same_expression(a.exact(), b.exact())) return false;
  if (a.bytes_.data() == b.bytes_.data() || a.bytes_.empty()) return true;
  return std::memcmp(a.bytes_.data(), b.bytes_.data(), a.bytes_.size()) == 0;
}

std::size_t Constant::hash() const {
  constexpr std::size_t sample = 1024;
  const auto* data = reinterpret_cast<const char*>(bytes_.data());
  const std::string_view whole(data, bytes_.size());
  const std::string_view head = whole.substr(0, sample);
  const std::string_view tail =
      whole.size() > sample ? whole.substr(whole.size() - std::min(sample, whole.size())) : "";
  return absl::HashOf(static_cast<int>(type_.data_type), text(*type_.shape), whole.size(), head,
                      tail);
}

std::uint64_t Constant::digest() const {
  // FNV-1a over words with a final mix: a fixed function, so that digests may be written to files.
  std::uint64_t state = 0xcbf29ce484222325ULL;
  auto absorb = [&state](std::uint64_t word) {
    state = (state ^ word) * 0x100000001b3ULL;
    state ^= state >> 29;
  };
  for (char c : text(type_)) absorb(static_cast<unsigned char>(c));
  std::size_t i = 0;
  for (; i + 8 <= bytes_.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + i, 8);
    absorb(word);
  }
  for (; i < bytes_.size(); ++i) absorb(static_cast<std::uint64_t>(bytes_[i]));
  state ^= state >> 32;
  return state * 0x9e3779b97f4a7c15ULL;
}

std::vector<std::byte> unpacked(std::span<const std::byte> packed, int bits, std::size_t count) {
  const auto width = static_cast<std::size_t>(bits), in_a_byte = 8 / width;
  const auto mask = static_cast<std::byte>((1U << width) - 1);
  std::vector<std::byte> result(count);
  for (std::size_t i = 0; i < count; ++i)
    result[i] = packed[i / in_a_byte] >> (i % in_a_byte * width) & mask;
  return result;
}

std::vector<std::byte> packed(std::span<const std::byte> elements, int bits) {
  const auto width = static_cast<std::size_t>(bits), in_a_byte = 8 / width;
  const auto mask = static_cast<std::byte>((1U << width) - 1);
  std::vector<std::byte> result((elements.size() + in_a_byte - 1) / in_a_byte);
  for (std::size_t i = 0; i < elements.size(); ++i)
    result[i / in_a_byte] |= (elements[i] & mask) << (i % in_a_byte * width);
  return result;
}

float f16_to_f32(std::uint16_t bits) { return half_precision::f16_to_f32(bits); }
std::uint16_t f32_to_f16(float value) { return half_precision::f32_to_f16(value); }
float bf16_to_f32(std::uint16_t bits) { return half_precision::bf16_to_f32(bits); }
std::uint16_t f32_to_bf16(float value) { return half_precision::f32_to_bf16(value); }

}  // namespace lemma
