#include "interpreter/tensor.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "lowering/field.h"

namespace lemma::interpreter {

std::int64_t element_count(const Sizes& sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

std::size_t Tensor::element_size() const {
  return is_real(type_) && domain_ != Domain::native ? 8 : byte_size(type_);
}

Tensor Tensor::of(const Constant& constant) {
  const auto sizes = constant_sizes(*constant.type().shape);
  if (const int width = bits(constant.type().data_type); width < 8) {
    auto elements = std::make_shared<const std::vector<std::byte>>(
        unpacked(constant.bytes(), width, constant.element_count()));
    const std::span<const std::byte> view(*elements);
    return over(constant.type().data_type, *sizes, std::move(elements), view);
  }
  return over(constant.type().data_type, *sizes, constant.owner(), constant.bytes());
}

Tensor Tensor::over(DataType type, Sizes sizes, std::shared_ptr<const void> owner,
                    std::span<const std::byte> bytes, Domain domain) {
  Tensor result;
  result.type_ = type;
  result.domain_ = is_real(type) ? domain : Domain::native;
  result.sizes_ = std::move(sizes);
  result.owner_ = std::move(owner);
  result.bytes_ = bytes;
  return result;
}

Tensor Tensor::uninitialized(DataType type, Sizes sizes, Domain domain) {
  Tensor result = over(type, std::move(sizes), nullptr, {}, domain);
  const std::size_t size = static_cast<std::size_t>(result.element_count()) * result.element_size();
  // Storage for a vector register at the least, so that wide loads at the end stay inside.
  std::shared_ptr<std::byte[]> memory(new std::byte[size + 64]);
  result.writable_ = memory.get();
  result.bytes_ = {memory.get(), size};
  result.owner_ = std::move(memory);
  return result;
}

std::span<std::byte> Tensor::writable_bytes() {
  assert(writable_ != nullptr && owner_.use_count() == 1);
  return {writable_, bytes_.size()};
}

Tensor Tensor::with_sizes(Sizes sizes) const {
  assert(interpreter::element_count(sizes) == element_count());
  Tensor result = *this;
  result.sizes_ = std::move(sizes);
  return result;
}

namespace {

template <typename T, typename Source, typename Convert>
void narrow(std::span<const Source> from, std::span<std::byte> to, Convert convert) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const T element = convert(from[i]);
    std::memcpy(to.data() + i * sizeof(T), &element, sizeof(T));
  }
}

/// The integer nearest to zero; saturates, so that any value is defined.
std::int64_t truncate(double value) {
  if (!(value > -0x1p63)) return std::isnan(value) ? 0 : INT64_MIN;
  if (value >= 0x1p63) return INT64_MAX;
  return static_cast<std::int64_t>(value);
}

template <typename Source>
void store_elements(DataType type, std::span<const Source> from, std::span<std::byte> to) {
  auto real = [](Source value) { return static_cast<double>(value); };
  auto integer = [](Source value) {
    if constexpr (std::is_same_v<Source, double>)
      return truncate(value);
    else
      return value;
  };
  auto as = [&]<typename T>(T) {
    narrow<T>(from, to, [&](Source v) { return static_cast<T>(integer(v)); });
  };
  if (is_narrow(type))
    return narrow<std::uint8_t>(from, to, [&](Source v) {
      return static_cast<std::uint8_t>(static_cast<std::uint64_t>(integer(v)) &
                                       ((1U << bits(type)) - 1));
    });
  switch (type) {
    case DataType::f32:
      return narrow<float>(from, to, [&](Source v) { return static_cast<float>(real(v)); });
    case DataType::f64: return narrow<double>(from, to, real);
    case DataType::f16:
      return narrow<std::uint16_t>(
          from, to, [&](Source v) { return f32_to_f16(static_cast<float>(real(v))); });
    case DataType::bf16:
      return narrow<std::uint16_t>(
          from, to, [&](Source v) { return f32_to_bf16(static_cast<float>(real(v))); });
    case DataType::boolean:
      return narrow<std::uint8_t>(
          from, to, [](Source v) { return static_cast<std::uint8_t>(v != Source{} ? 1 : 0); });
    case DataType::i8: return as(std::int8_t{});
    case DataType::u8: return as(std::uint8_t{});
    case DataType::i16: return as(std::int16_t{});
    case DataType::u16: return as(std::uint16_t{});
    case DataType::i32: return as(std::int32_t{});
    case DataType::u32: return as(std::uint32_t{});
    default: return as(std::int64_t{});
  }
}

template <typename T>
std::vector<T> words(std::span<const std::byte> bytes) {
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
  return result;
}

}  // namespace

Tensor Tensor::from_reals(DataType type, Sizes sizes, std::span<const double> elements) {
  Tensor result = uninitialized(type, std::move(sizes));
  assert(static_cast<std::size_t>(result.element_count()) == elements.size());
  store_elements(type, elements, result.writable_bytes());
  return result;
}

Tensor Tensor::from_integers(DataType type, Sizes sizes, std::span<const std::int64_t> elements) {
  Tensor result = uninitialized(type, std::move(sizes));
  assert(static_cast<std::size_t>(result.element_count()) == elements.size());
  store_elements(type, elements, result.writable_bytes());
  return result;
}

Constant Tensor::constant() const {
  assert(domain_ == Domain::native);
  if (const int width = bits(type_); width < 8) {
    auto elements = std::make_shared<const std::vector<std::byte>>(packed(bytes_, width));
    const std::span<const std::byte> view(*elements);
    return *Constant::create(type(), std::move(elements), view);
  }
  auto result = Constant::create(type(), owner_, bytes_);
  assert(result.has_value());
  return std::move(*result);
}

std::vector<double> Tensor::reals() const {
  switch (domain_) {
    case Domain::native: return constant().reals();
    case Domain::f64: return words<double>(bytes_);
    case Domain::exact_integer: {
      std::vector<double> result;
      for (const std::int64_t value : words<std::int64_t>(bytes_))
        result.push_back(
            value == INT64_MAX || value == INT64_MIN
                ? std::copysign(std::numeric_limits<double>::infinity(), static_cast<double>(value))
                : static_cast<double>(value));
      return result;
    }
    case Domain::prime_field: {
      std::vector<double> result;
      for (const std::uint64_t value : words<std::uint64_t>(bytes_))
        result.push_back(static_cast<double>(value));
      return result;
    }
  }
  return {};
}

std::vector<std::int64_t> Tensor::integers() const {
  if (!is_real(type_)) return constant().integers();
  if (domain_ == Domain::exact_integer || domain_ == Domain::prime_field)
    return words<std::int64_t>(bytes_);
  std::vector<std::int64_t> result;
  for (const double value : reals()) result.push_back(truncate(value));
  return result;
}

bool operator==(const Tensor& a, const Tensor& b) {
  if (a.type_ != b.type_ || a.domain_ != b.domain_ || a.sizes_ != b.sizes_) return false;
  if (a.bytes_.size() != b.bytes_.size()) return false;
  return a.bytes_.empty() || a.bytes_.data() == b.bytes_.data() ||
         std::memcmp(a.bytes_.data(), b.bytes_.data(), a.bytes_.size()) == 0;
}

Result<Tensor> to_domain(const Tensor& tensor, Domain domain) {
  if (!is_real(tensor.data_type()) || tensor.domain() == domain) return tensor;
  if (tensor.domain() == Domain::prime_field)
    return unsupported("residues of a prime field cannot be turned into numbers");
  const std::vector<double> values = tensor.reals();
  if (domain == Domain::native)
    return Tensor::from_reals(tensor.data_type(), tensor.sizes(), values);
  Tensor result = Tensor::uninitialized(tensor.data_type(), tensor.sizes(), domain);
  std::byte* out = result.writable_bytes().data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    std::uint64_t word = 0;
    if (domain == Domain::f64) {
      std::memcpy(&word, &value, 8);
    } else if (domain == Domain::exact_integer) {
      if (value != std::floor(value) || std::abs(value) >= 0x1p63)
        return bad_input(fmt::format("element {} is {}, not an integer", i, value));
      word = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    } else {
      if (!std::isfinite(value))
        return bad_input(fmt::format("element {} is {}, not a finite number", i, value));
      word = field_constant(value, tensor.data_type());
    }
    std::memcpy(out + i * 8, &word, 8);
  }
  return result;
}

}  // namespace lemma::interpreter
