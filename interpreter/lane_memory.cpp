#include "interpreter/lane_memory.h"

#include <cstring>

#include "ir/constant.h"

namespace lemma::interpreter {

namespace {

// How an element of a tensor becomes a lane and back.

template <typename T>
struct AsIs {
  using Element = T;
  using Lane = T;
  static Lane widen(Element e) { return e; }
  static Element narrow(Lane v) { return v; }
};
template <typename T>
struct Integer {
  using Element = T;
  using Lane = std::int64_t;
  static Lane widen(Element e) { return static_cast<Lane>(e); }
  static Element narrow(Lane v) { return static_cast<Element>(v); }
};
struct Boolean {
  using Element = std::uint8_t;
  using Lane = std::uint8_t;
  static Lane widen(Element e) { return e != 0 ? 1 : 0; }
  static Element narrow(Lane v) { return v; }
};
struct Half {
  using Element = std::uint16_t;
  using Lane = float;
  static Lane widen(Element e) { return f16_to_f32(e); }
  static Element narrow(Lane v) { return f32_to_f16(v); }
};
struct Brain {
  using Element = std::uint16_t;
  using Lane = float;
  static Lane widen(Element e) { return bf16_to_f32(e); }
  static Element narrow(Lane v) { return f32_to_bf16(v); }
};

/// Tensors may lie anywhere in a mapped file: their elements need not be aligned.
template <typename Element>
Element element_at(const std::byte* elements, std::int64_t position) {
  Element element;
  std::memcpy(&element, elements + position * static_cast<std::int64_t>(sizeof(Element)),
              sizeof(Element));
  return element;
}

template <typename Format>
void load_strided(const std::byte* elements, std::int64_t offset, std::int64_t stride, void* out,
                  std::size_t count) {
  using Element = typename Format::Element;
  auto* lanes = static_cast<typename Format::Lane*>(out);
  elements += offset * static_cast<std::int64_t>(sizeof(Element));
  const auto n = static_cast<std::int64_t>(count);
  if (stride == 1) {
    for (std::int64_t i = 0; i < n; ++i) lanes[i] = Format::widen(element_at<Element>(elements, i));
  } else if (stride == 0) {
    const auto lane =
        n == 0 ? typename Format::Lane{} : Format::widen(element_at<Element>(elements, 0));
    for (std::int64_t i = 0; i < n; ++i) lanes[i] = lane;
  } else if (stride == 2) {
    for (std::int64_t i = 0; i < n; ++i)
      lanes[i] = Format::widen(element_at<Element>(elements, 2 * i));
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      lanes[i] = Format::widen(element_at<Element>(elements, i * stride));
  }
}

template <typename Format>
void load_gathered(const std::byte* elements, const std::int64_t* addresses, const std::uint8_t* ok,
                   void* out, std::size_t count) {
  using Element = typename Format::Element;
  using Lane = typename Format::Lane;
  auto* lanes = static_cast<Lane*>(out);
  for (std::size_t i = 0; i < count; ++i)
    lanes[i] = ok == nullptr || ok[i] != 0
                   ? Format::widen(element_at<Element>(elements, addresses[i]))
                   : Lane{};
}

template <typename Format>
void store_lanes(const void* lanes, std::byte* elements, std::int64_t offset, std::size_t count) {
  using Element = typename Format::Element;
  const auto* from = static_cast<const typename Format::Lane*>(lanes);
  elements += offset * static_cast<std::int64_t>(sizeof(Element));
  for (std::size_t i = 0; i < count; ++i) {
    const Element element = Format::narrow(from[i]);
    std::memcpy(elements + i * sizeof(Element), &element, sizeof(Element));
  }
}

template <typename Format>
ElementAccess access_with(bool is_lane_format) {
  return {load_strided<Format>, load_gathered<Format>, store_lanes<Format>,
          sizeof(typename Format::Element), is_lane_format};
}

}  // namespace

ElementAccess lane_access(LaneKind kind) {
  switch (lane_size(kind)) {
    case 1: return access_with<AsIs<std::uint8_t>>(true);
    case 4: return access_with<AsIs<std::uint32_t>>(true);
    default: return access_with<AsIs<std::uint64_t>>(true);
  }
}

ElementAccess element_access(DataType type, Domain domain) {
  if (is_real(type) && domain != Domain::native) return lane_access(lane_kind(type, domain));
  if (is_narrow(type)) return access_with<Integer<std::uint8_t>>(false);
  switch (type) {
    case DataType::f32:
    case DataType::f64: return lane_access(lane_kind(type, domain));
    case DataType::f16: return access_with<Half>(false);
    case DataType::bf16: return access_with<Brain>(false);
    case DataType::boolean: return access_with<Boolean>(false);
    case DataType::i8: return access_with<Integer<std::int8_t>>(false);
    case DataType::u8: return access_with<Integer<std::uint8_t>>(false);
    case DataType::i16: return access_with<Integer<std::int16_t>>(false);
    case DataType::u16: return access_with<Integer<std::uint16_t>>(false);
    case DataType::i32: return access_with<Integer<std::int32_t>>(false);
    case DataType::u32: return access_with<Integer<std::uint32_t>>(false);
    default: return lane_access(LaneKind::integer);
  }
}

}  // namespace lemma::interpreter
